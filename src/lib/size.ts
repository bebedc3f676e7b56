const BYTES = { B: 1, kB: 1000, MB: 1000 ** 2, GB: 1000 ** 3, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const

export const SIZE_PATTERN = /^(0|[1-9]\d{0,9})(B|kB|MB|GB|KiB|MiB|GiB)?$/

/** Parses `1MiB`, `500kB` or `1024`. Without a unit, the number is bytes. */
export function parseSize(text: string): number {
  const [, count, unit = 'B'] = SIZE_PATTERN.exec(text) ?? []
  if (count === undefined) throw new RangeError('a size is a whole number and an optional unit, such as 1MiB')
  return Number(count) * BYTES[unit as keyof typeof BYTES]
}
