/** Text as every store can hold it: UTF-8 has no lone surrogates, PostgreSQL no NUL. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/**
 * Text for one line: names, labels, ids. Line breaks, other control characters and those that turn the direction of what
 * follows would let whoever chose it forge what stands beside it in a list, a log or a terminal.
 */
export const ONE_LINE = /^[^\p{Cc}\u2028-\u202e\u2066-\u2069]*$/u

export const NOT_ONE_LINE = 'must not contain line breaks, control characters or changes of direction'

/** At most so many bytes of UTF-8, cut between two characters. */
export function cutToBytes(text: string, bytes: number): string {
  // No character is longer than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}
