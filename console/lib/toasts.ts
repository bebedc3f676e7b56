import { signal } from '@preact/signals'

export type Toast = { text: string; undo?: (() => void | Promise<void>) | undefined }

const SHOWN_MS = 8_000

/** The last event. Earlier ones aren't kept, because their undo would also take back what came afterwards. */
export const lastToast = signal<Toast | undefined>(undefined)

/** Shows what has happened. With `undo`, there is a button that takes it back. */
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
