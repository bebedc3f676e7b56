import { param, setParams } from './location.ts'

/** The dialog that the URL opens: `?open=deploy`. Buttons, the palette and links open the same ones. */
export function openedDialog(): string | undefined {
  return param('open')
}

export function openDialog(name: string): void {
  setParams({ open: name }, { push: true })
}

export function closeDialog(): void {
  setParams({ open: undefined })
}
