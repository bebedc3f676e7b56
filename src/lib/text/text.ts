/** Returns text that every store accepts: UTF-8 can't contain lone surrogates, and PostgreSQL can't store NUL. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/**
 * Matches text on one line: names, labels, IDs. With line breaks, other control characters or changes of direction, a
 * name could imitate or hide the text next to it in a list, a log or a terminal.
 */
export const ONE_LINE = /^[^\p{Cc}\u2028-\u202e\u2066-\u2069]*$/u

export const NOT_ONE_LINE =
  'must not contain line breaks, control characters or characters that change the text direction'

export const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The name of a media type, without parameters. */
export const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,100}$/i

/** Types whose bytes are text. */
export const TEXT_TYPE =
  /^text\/|^application\/(?:json|xml|javascript|x-ndjson|yaml|x-yaml|toml|sql)$|\+(?:json|xml|yaml)$/

/** Whether bytes are the beginning of a text: UTF-8 without control characters. The last character may be cut off. */
export function isText(head: Uint8Array): boolean {
  if (head.some((byte) => byte < 9 || (byte > 13 && byte < 32 && byte !== 27))) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Removes the slashes at the end of a URL or path, so that more of a path can follow. */
export function withoutEndingSlashes(address: string): string {
  return address.replace(/(?<!\/)\/+$/, '')
}

/** Cuts text to at most `bytes` of UTF-8, between two characters. */
export function cutToBytes(text: string, bytes: number): string {
  // Each UTF-16 unit of a text takes at most three bytes.
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true })
}
