import { encodeQr } from './encode-qr.ts'

/** How many empty squares a scanner needs around it. */
const BORDER = 2

/** A QR code, always black on white: scanners want it so, in a dark console too. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const squares = encodeQr(text)
  const path = squares.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  const size = squares.length + 2 * BORDER
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`${-BORDER} ${-BORDER} ${size} ${size}`}>
      <path d={path} />
    </svg>
  )
}
