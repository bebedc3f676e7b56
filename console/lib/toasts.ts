import { signal } from '@preact/signals'

export type Toast = { id: number; text: string; undo?: (() => void | Promise<void>) | undefined }

const SHOWN_MS = 8_000

export const toasts = signal<Toast[]>([])

/** Says what has happened. With `undo` there is a button that takes it back. */
export function toast(text: string, undo?: Toast['undo']): void {
  const id = (toasts.value.at(-1)?.id ?? 0) + 1
  toasts.value = [...toasts.value, { id, text, undo }]
  setTimeout(() => dismiss(id), SHOWN_MS)
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((shown) => shown.id !== id)
}
