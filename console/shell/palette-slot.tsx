import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isPaletteOpen } from './palette-state.ts'

/** Where the palette appears. */
export function PaletteSlot() {
  const [loaded, setLoaded] = useState<{ Palette: ComponentType } | undefined>(undefined)
  const isOpen = isPaletteOpen.value
  useEffect(() => {
    if (isOpen && !loaded) void import('./palette/palette.tsx').then(setLoaded)
  }, [isOpen])
  return isOpen && loaded ? <loaded.Palette /> : null
}
