import { STOP_WORDS } from './english.ts'
import { stemOf, wordsOf } from './stems.ts'

/** A memory is found by its first terms only, because an index entry of PostgreSQL has a limit of one megabyte. */
const MAX_TERMS = 4000
export const MAX_CHARACTERS = 65_536

/**
 * The terms by which a text is indexed and searched, in order and with repetitions: lower case, no accents, no stop
 * words, no English endings. Both engines index exactly these terms, so they find the same.
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

/** Marks the terms of a speaker's name, so that they differ from the same words in the text. */
export const SPEAKER_MARK = '_by'

/**
 * A speaker at the beginning: `Anna: hello`, `Anna Berg : hello`, `王芳：你好`. In scripts with capitals the name must begin
 * with one.
 */
const SPEAKER =
  /^\s*(?<name>(?:[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*)(?:[ ][\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:[ ]?:\s|：)/u
const SPEAKER_CHARACTERS = 60

/**
 * The stored terms of a memory: first the marked terms of its speaker, then all its terms. `length` does not count the
 * speaker.
 */
export type StoredTerms = { terms: string; length: number }

export function storedTerms(kind: string, content: string): StoredTerms {
  const terms = termsOf(content)
  const name = kind === 'turn' ? termsOf(speakerOf(content)) : []
  const marked = name.map((term) => SPEAKER_MARK + term)
  return { terms: [...marked, ...terms].join(' '), length: terms.length - name.length }
}

function speakerOf(content: string): string {
  return SPEAKER.exec(content.slice(0, SPEAKER_CHARACTERS))?.groups?.['name'] ?? ''
}
