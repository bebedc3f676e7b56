/** A memory is found by its first so many terms: an index entry must fit into PostgreSQL's megabyte. */
const MAX_TERMS = 4000
const MAX_CHARACTERS = 65_536
const MAX_TERM_LENGTH = 40

const ASCII_WORD = /[a-z0-9]+/g
/** Scripts written without spaces come as runs, which become pairs of characters. */
const WORD_OR_RUN =
  /(?<run>[[\p{L}\p{N}\p{M}]&&[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]]+)|[[\p{L}\p{N}\p{M}]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]]+/gv
const APOSTROPHE = /['’]/
/** `don't`, `I'll`, `Anna's`: what the apostrophe ties to a word is no part of it. */
const CONTRACTION = /(?:n['’]t|['’](?:s|ll|d|re|ve|m))(?![a-z])/g
const ASCII = /^[\0-\x7f]*$/

/** English words that say nothing about what a text is about. */
const STOP_WORDS = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by ca
  can cannot could did do does doing dont down during each few for from further had has have having he her here hers
  herself him himself his how i if im in into is it its itself ive just let me more most my myself no nor not now of off on
  once only or other our ours ourselves out over own please really same shall she should so some such than that the their
  theirs them themselves then there these they this those through to too under until up us very was we well were what when
  where which while who whom why will with wo would yes you your yours yourself yourselves`.split(/\s+/),
)

/**
 * What a text is indexed and searched by, in order and with repeats: lower case, no accents, no stop words, English
 * endings off. Both engines index exactly these, so they match alike.
 */
export function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const word of wordsOf(text.slice(0, MAX_CHARACTERS))) {
    if (STOP_WORDS.has(word)) continue
    terms.push(word.length > MAX_TERM_LENGTH ? word.slice(0, MAX_TERM_LENGTH).toWellFormed() : stem(word))
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

function wordsOf(text: string): string[] {
  const lower = text.toLowerCase()
  const plain = APOSTROPHE.test(lower) ? lower.replaceAll(CONTRACTION, '').replaceAll(/['’]/g, '') : lower
  if (ASCII.test(plain)) return plain.match(ASCII_WORD) ?? []
  // Composed again after the accents are gone: Hangul must not stay in pieces.
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

/** A light stemmer: enough for `hikes`, `hiked` and `hiking` to meet, cheap enough for every message. */
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
