import { BASES } from './english.ts'

const MAX_TERM_LENGTH = 40

const ASCII_WORD = /[a-z0-9]+/g
/** Matches words. Scripts without spaces give whole runs, which are later cut into pairs of characters. */
const WORD_OR_RUN =
  /(?<run>[[\p{L}\p{N}\p{M}]&&[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]]+)|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]]+/gv
const APOSTROPHE = /['’]/
/** Matches endings with an apostrophe, which are removed: `don't`, `I'll`, `Anna's`. */
const CONTRACTION = /(?:n['’]t|['’](?:s|ll|d|re|ve|m))(?![a-z])/g
const ASCII = /^[\0-\x7f]*$/

/** The stems of a text's words, in lower case, without accents and without English endings. */
export function stemsOf(text: string): string[] {
  return wordsOf(text).map(stemOf)
}

export function stemOf(word: string): string {
  return word.length > MAX_TERM_LENGTH ? word.slice(0, MAX_TERM_LENGTH).toWellFormed() : stem(BASES.get(word) ?? word)
}

/** The words of a text in lower case, without accents. */
export function wordsOf(text: string): string[] {
  const lower = text.toLowerCase()
  const plain = APOSTROPHE.test(lower) ? lower.replaceAll(CONTRACTION, '').replaceAll(/['’]/g, '') : lower
  if (ASCII.test(plain)) return plain.match(ASCII_WORD) ?? []
  // Removing accents decomposes Hangul too, so the text is composed again afterwards.
  const folded = plain
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
  return [...folded.matchAll(WORD_OR_RUN)].flatMap(({ 0: word, groups }) =>
    groups?.['run'] === undefined ? word : pairs([...word]),
  )
}

function pairs(characters: string[]): string[] {
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

/**
 * A light stemmer that gives `hikes`, `hiked` and `hiking` the same stem. It is fast enough to run on every message.
 */
function stem(word: string): string {
  if (word.length < 4) return word
  const last = word.charCodeAt(word.length - 1)
  if (last < 97 || last > 122) return word
  return withoutFinalVowel(withoutTense(singular(word)))
}

function singular(word: string): string {
  if (!word.endsWith('s') || word.endsWith('ss') || word.endsWith('us') || word.endsWith('is')) return word
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`
  return word.endsWith('sses') ? word.slice(0, -2) : word.slice(0, -1)
}

function withoutTense(word: string): string {
  const cut = word.endsWith('ing') ? 3 : word.endsWith('ed') ? 2 : 0
  const root = word.slice(0, -cut)
  if (cut === 0 || root.length < 3 || !/[aeiouy]/.test(root)) return word
  const end = root.at(-1) as string
  const doubled = end === root.at(-2) && !'aeioulsz'.includes(end)
  return doubled ? root.slice(0, -1) : root
}

function withoutFinalVowel(word: string): string {
  if (word.length > 3 && word.endsWith('e')) return word.slice(0, -1)
  if (word.length > 3 && word.endsWith('y') && !'aeiou'.includes(word.at(-2) as string)) return `${word.slice(0, -1)}i`
  return word
}
