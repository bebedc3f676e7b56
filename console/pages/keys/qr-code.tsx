import { encodeQr } from './encode-qr.ts'

/** How many empty squares a scanner needs around the code. */
const BORDER = 2

/** A QR code. It is always black on white because scanners need that, even in a dark console. */
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
