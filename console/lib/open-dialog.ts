import { param, setParams } from './location.ts'

/** The dialog that the URL opens, such as `?open=deploy`. Buttons, the palette and links all open dialogs this way. */
export function openedDialog(): string | undefined {
  return param('open')
}

export function openDialog(name: string): void {
  setParams({ open: name }, { push: true })
}

export function closeDialog(): void {
  setParams({ open: undefined })
}
