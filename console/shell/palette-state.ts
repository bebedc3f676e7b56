import { signal } from '@preact/signals'

export const isPaletteOpen = signal(false)

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Opens the palette on ⌘K or Ctrl+K on every page. */
export function watchPaletteKey(): void {
  document.addEventListener('keydown', (event) => {
    const isAsked = event.key.toLowerCase() === 'k' && (isMac ? event.metaKey : event.ctrlKey)
    if (!isAsked || event.shiftKey || event.altKey) return
    event.preventDefault()
    isPaletteOpen.value = !isPaletteOpen.value
  })
}
