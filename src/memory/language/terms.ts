import { STOP_WORDS } from './english.ts'
import { stemOf, wordsOf } from './stems.ts'

/** A memory is found only by its first terms, because PostgreSQL limits an index entry to one megabyte. */
const MAX_TERMS = 4000
export const MAX_CHARACTERS = 65_536

/**
 * The terms by which a text is indexed and searched, in order and with repetitions: in lower case, without accents,
 * stop words and English endings. Both engines index exactly these terms, so both find the same memories.
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

/** Marks the terms of a speaker's name, so they differ from the same words in the text. */
export const SPEAKER_MARK = '_by'

/**
 * Matches a speaker at the beginning: `Anna: hello`, `Anna Berg : hello`, `王芳：你好`. In scripts with capital letters, the
 * name must start with one.
 */
const SPEAKER =
  /^\s*(?<name>(?:[\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*)(?:[ ][\p{Lu}\p{Lt}\p{Lo}][\p{L}\p{M}'’.-]*){0,2})(?:[ ]?:\s|：)/u
const SPEAKER_CHARACTERS = 60

/**
 * A memory's stored terms: the marked terms of its speaker, followed by all its terms. `length` doesn't include the
 * speaker's.
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
