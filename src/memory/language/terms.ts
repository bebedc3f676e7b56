import { STOP_WORDS } from './english.ts'
import { stemOf, wordsOf } from './stems.ts'

/** To be raised when a text gets other terms than before: all memories are then indexed anew. */
export const TERMS_VERSION = 2

/** A memory is found by its first so many terms: an index entry must fit into PostgreSQL's megabyte. */
const MAX_TERMS = 4000
export const MAX_CHARACTERS = 65_536

/**
 * What a text is indexed and searched by, in order and with repeats: lower case, no accents, no stop words, English
 * endings off. Both engines index exactly these, so they match alike.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const word of wordsOf(text.slice(0, MAX_CHARACTERS))) {
    if (STOP_WORDS.has(word)) continue
    terms.push(stemOf(word))
    if (terms.length === MAX_TERMS) break
  }
  return terms
}

/** Stands before the terms of a speaker's name, so that they are told from the same words in what was said. */
export const SPEAKER_MARK = '_by'

/** `Anna: hello`, `Anna Berg : hello`, `王芳：你好`. Of a script that has capitals, a name is written with them. */
const SPEAKER =
  /^\s*(?<name>(?:[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*)(?:[ ][\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:[ ]?:\s|：)/u
const SPEAKER_CHARACTERS = 60

/**
 * What a memory is stored by: its terms, and before them those of its speaker once more, marked. `length` leaves the
 * speaker out.
 */
export function storedTerms(kind: string, content: string): { terms: string; length: number } {
  const terms = termsOf(content)
  const name = kind === 'turn' ? termsOf(speakerOf(content)) : []
  const marked = name.map((term) => SPEAKER_MARK + term)
  return { terms: [...marked, ...terms].join(' '), length: terms.length - name.length }
}

function speakerOf(content: string): string {
  return SPEAKER.exec(content.slice(0, SPEAKER_CHARACTERS))?.groups?.['name'] ?? ''
}
