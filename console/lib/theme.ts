import { signal } from '@preact/signals'

export type Theme = 'light' | 'dark'

/** The API reference reads the same entry, so a choice made in one of them applies to both. */
const STORED = 'theme'

const system = window.matchMedia('(prefers-color-scheme: dark)')
const systemTheme = (): Theme => (system.matches ? 'dark' : 'light')

/** The theme that the reader has chosen, or else the system's. */
export const theme = signal<Theme>(systemTheme())

system.addEventListener('change', () => {
  if (!document.documentElement.style.colorScheme) theme.value = systemTheme()
})

export function chooseTheme(chosen: Theme): void {
  show(chosen)
  localStorage.setItem(STORED, chosen)
}

/** Applies the choice from an earlier visit. */
export function restoreTheme(): void {
  const stored = localStorage.getItem(STORED)
  if (stored === 'light' || stored === 'dark') show(stored)
}

function show(shown: Theme): void {
  document.documentElement.style.colorScheme = shown
  theme.value = shown
}
