/** The squares of a QR code: dark, light, or not filled yet. The first index is the row. */
type Squares = (boolean | undefined)[][]

/**
 * The error correction of each version at level L: the number of correcting words per block, and the number of blocks.
 */
const CORRECTING = [
  7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30, 30, 30, 30,
  30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
]
const BLOCKS = [
  1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19,
  20, 21, 22, 24, 25,
]

/** Declares level L and mask 0. Scanners can read every mask, so the best one isn't determined. */
const FORMAT = 0x77c4

/** Encodes the text as bytes in a QR code of the smallest version (ISO/IEC 18004) that is large enough. */
export function encodeQr(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text)
  for (let version = 1; version <= CORRECTING.length; version++) {
    const squares = patternsOf(version)
    const room = Math.floor(squares.flat().filter((square) => square === undefined).length / 8)
    const [correcting = 0, blocks = 1] = [CORRECTING[version - 1], BLOCKS[version - 1]]
    const digits = version < 10 ? 2 : 4
    const data = room - correcting * blocks
    if (bytes.length + 1 + digits / 2 > data) continue
    const words = wordsOf(bytes, digits, data)
    return fill(squares, interleave(words, { room, correcting, blocks }))
  }
  throw new RangeError('The text is too long for a QR code')
}

/** The mode "bytes", the length, the bytes and an end marker, written in digits of 4 bits and padded. */
function wordsOf(bytes: Uint8Array, digits: number, length: number): number[] {
  const hex = (value: number, width = 2) => value.toString(16).padStart(width, '0')
  const text = `4${hex(bytes.length, digits)}${Array.from(bytes, (byte) => hex(byte)).join('')}0`
  const words = (text.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16))
  for (let i = 0; words.length < length; i++) words.push(i % 2 ? 0x11 : 0xec)
  return words
}

type Layout = { room: number; correcting: number; blocks: number }

/**
 * Adds the correcting words to each block. Then the first words of all blocks are written, then the second words, and
 * so on.
 */
function interleave(words: number[], { room, correcting, blocks }: Layout): number[] {
  const short = Math.floor(room / blocks) - correcting
  const firstLong = blocks - (room % blocks)
  const divisor = divisorOf(correcting)
  let at = 0
  const data = Array.from({ length: blocks }, (_, i) => words.slice(at, (at += short + (i < firstLong ? 0 : 1))))
  const checks = data.map((block) => remainderOf(block, divisor))
  const columns = (rows: number[][], length: number) =>
    Array.from({ length }, (_, i) => rows.flatMap((row) => row[i] ?? [])).flat()
  return [...columns(data, short + 1), ...columns(checks, correcting)]
}

/** A product in the Galois field of the Reed–Solomon code. */
function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d)
    product ^= ((b >>> bit) & 1) * a
  }
  return product
}

function divisorOf(degree: number): number[] {
  let result = [...Array(degree - 1).fill(0), 1]
  let root = 1
  for (let i = 0; i < degree; i++) {
    result = result.map((value, at) => times(value, root) ^ (result[at + 1] ?? 0))
    root = times(root, 2)
  }
  return result
}

function remainderOf(words: number[], divisor: number[]): number[] {
  const rest = divisor.map(() => 0)
  for (const word of words) {
    const factor = word ^ (rest.shift() ?? 0)
    rest.push(0)
    for (const [i, value] of divisor.entries()) rest[i] = (rest[i] ?? 0) ^ times(value, factor)
  }
  return rest
}

/** The squares that are the same in every code of a version. */
function patternsOf(version: number): Squares {
  const size = version * 4 + 17
  const squares: Squares = Array.from({ length: size }, () => Array(size).fill(undefined))
  const set = (x: number, y: number, isDark: boolean) => {
    if (squares[y] && x in squares[y]) squares[y][x] = isDark
  }
  const rings = (x: number, y: number, radius: number, isLight: (ring: number) => boolean) => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++) set(x + dx, y + dy, !isLight(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let i = 0; i < size; i++) {
    set(6, i, i % 2 === 0)
    set(i, 6, i % 2 === 0)
  }
  const spots = spotsOf(version, size)
  const isCorner = (x: number, y: number) => (x === 6 ? y === 6 || y === size - 7 : y === 6 && x === size - 7)
  for (const x of spots) for (const y of spots) if (!isCorner(x, y)) rings(x, y, 2, (ring) => ring === 1)
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    rings(x, y, 4, (ring) => ring === 2 || ring === 4)
  const bit = (bits: number, i: number) => ((bits >>> i) & 1) === 1
  for (let i = 0; i < 15; i++) {
    const isDark = bit(FORMAT, i)
    // Around the first corner, the squares of the timing patterns are skipped.
    set(i < 8 ? 8 : i === 8 ? 7 : 14 - i, i > 7 ? 8 : i < 6 ? i : i + 1, isDark)
    set(i < 8 ? size - 1 - i : 8, i < 8 ? 8 : size - 15 + i, isDark)
  }
  set(8, size - 8, true)
  if (version >= 7) {
    let rest = version
    for (let i = 0; i < 12; i++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25)
    for (let i = 0; i < 18; i++) {
      const [far, near] = [size - 11 + (i % 3), Math.floor(i / 3)]
      set(far, near, bit((version << 12) | rest, i))
      set(near, far, bit((version << 12) | rest, i))
    }
  }
  return squares
}

/** The positions of the alignment patterns, by which scanners straighten the image, in both directions. */
function spotsOf(version: number, size: number): number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, i) => size - 7 - i * step)]
}

/** Writes the words into the free squares: two columns at a time from the right, alternating up and down. */
function fill(squares: Squares, words: number[]): boolean[][] {
  const size = squares.length
  let at = 0
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right--
    for (let i = 0; i < size * 2; i++) {
      const x = right - (i % 2)
      const y = (right + 1) & 2 ? i >> 1 : size - 1 - (i >> 1)
      const row = squares[y]
      if (!row || row[x] !== undefined) continue
      const isSet = (((words[at >> 3] ?? 0) >>> (7 - (at & 7))) & 1) === 1
      row[x] = isSet !== ((x + y) % 2 === 0)
      at++
    }
  }
  return squares as boolean[][]
}
