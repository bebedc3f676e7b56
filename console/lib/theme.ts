import { signal } from '@preact/signals'

export type Theme = 'light' | 'dark'

/** The API reference reads the same entry: what is chosen in one of them holds in both. */
const STORED = 'theme'

const system = window.matchMedia('(prefers-color-scheme: dark)')
const systemTheme = (): Theme => (system.matches ? 'dark' : 'light')

/** The colours that the reader has chosen, else those of the system. */
export const theme = signal<Theme>(systemTheme())

system.addEventListener('change', () => {
  if (!document.documentElement.style.colorScheme) theme.value = systemTheme()
})

export function chooseTheme(chosen: Theme): void {
  show(chosen)
  localStorage.setItem(STORED, chosen)
}

/** Shows what was chosen on an earlier visit. */
export function restoreTheme(): void {
  const stored = localStorage.getItem(STORED)
  if (stored === 'light' || stored === 'dark') show(stored)
}

function show(shown: Theme): void {
  document.documentElement.style.colorScheme = shown
  theme.value = shown
}
