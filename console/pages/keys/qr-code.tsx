import { useEffect, useState } from 'preact/hooks'

/** How many empty squares a scanner needs around it. */
const BORDER = 2

/** A QR code, always black on white: scanners want it so, in a dark console too. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const [squares, setSquares] = useState<boolean[][]>()
  useEffect(() => {
    void import('./encode-qr.ts').then(({ encodeQr }) => setSquares(encodeQr(text, { border: BORDER }).data))
  }, [text])
  if (!squares) return <div class="qr" aria-busy="true" />
  const path = squares.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${squares.length} ${squares.length}`}>
      <path d={path} />
    </svg>
  )
}
