export type Theme = 'light' | 'dark'

const system = window.matchMedia('(prefers-color-scheme: dark)')
const changes = new EventTarget()
const announce = () => changes.dispatchEvent(new Event('change'))
system.addEventListener('change', announce)

/** The colours that the reader has chosen for this window, else those of the system. */
export function themeNow(): Theme {
  return (document.documentElement.style.colorScheme as Theme) || (system.matches ? 'dark' : 'light')
}

export function chooseTheme(theme: Theme): void {
  document.documentElement.style.colorScheme = theme
  announce()
}

/** Calls back when the colours change. Returns the way to stop it. */
export function onTheme(listener: () => void): () => void {
  changes.addEventListener('change', listener)
  return () => changes.removeEventListener('change', listener)
}
