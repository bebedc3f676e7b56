import { signal } from '@preact/signals'

export type Toast = { text: string; undo?: (() => void | Promise<void>) | undefined }

const SHOWN_MS = 8_000

/** The last thing that has happened. An earlier one is not kept: its undo would take back what came after it as well. */
export const lastToast = signal<Toast | undefined>(undefined)

/** Says what has happened. With `undo` there is a button that takes it back. */
export function toast(text: string, undo?: Toast['undo']): void {
  const shown = { text, undo }
  lastToast.value = shown
  setTimeout(() => {
    if (lastToast.value === shown) dismissToast()
  }, SHOWN_MS)
}

export function dismissToast(): void {
  lastToast.value = undefined
}
