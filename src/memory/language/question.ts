import { timeAsked, type Window } from './dates.ts'
import { ASKING_WORDS, ENGLISH_WORDS, STOP_WORDS, TELLING_WORDS } from './english.ts'
import { stemOf, wordsOf } from './stems.ts'
import { MAX_CHARACTERS, SPEAKER_MARK } from './terms.ts'
import { timeWord } from './time-words.ts'

/** What a query asks for. */
export type Question = {
  /** Each term once. */
  terms: string[]
  /** The time that is asked about. */
  window: Window | undefined
  /** The answer is a time. */
  asksWhen: boolean
  /** The role that is likely to have said it. */
  saidBy: 'user' | 'assistant' | undefined
  /** Terms that may also stand inside a compound, as in German, Dutch or Finnish. English writes such words apart. */
  parts: string[]
}

/** `What did I …` and `What is my …` ask for what the user said, `What did you …` for what the assistant said. */
const ME = new Set(
  wordsOf(`i my me mine we our us ich mein meine meinen meinem meiner mich mir wir uns unser unsere je mon ma mes nous notre
    mi mis nosotros nuestro nuestra я мой моя мою мне мы наш наша нашу`),
)
const YOU = new Set(wordsOf('you your du dir dich dein deine tu vous votre te ты тебя тебе'))

/** Further terms are left out: a message may have thousands. */
const MAX_TERMS = 48
/** A question is short. Of a longer message only the terms are used. */
const MAX_WORDS = 64
/** A short word stands in many words by chance. */
const SHORTEST_PART = 5
const MAX_PARTS = 8

const ASKS_WHEN =
  /^(?:until |since )?(?:when|what (?:date|day|month|year|time)|how long|wann|quand|cuando|когда)(?: |$)/

export function questionOf(text: string, now: number): Question {
  const words = wordsOf(text.slice(0, MAX_CHARACTERS))
  const stems = words.map(stemOf)
  const terms = new Set(stems.filter((_, at) => !STOP_WORDS.has(words[at] as string)))
  if (words.length > MAX_WORDS) {
    return { terms: [...terms].slice(0, MAX_TERMS), window: undefined, asksWhen: false, saidBy: undefined, parts: [] }
  }
  const window = timeAsked(stems, now)
  const ignored = ignoredTerms(words, stems, window !== undefined)
  const others = [...terms].filter((term) => !ignored.has(term))
  return {
    // With a time, no other term is needed.
    terms: (others.length > 0 || window ? others : [...terms]).slice(0, MAX_TERMS),
    window,
    asksWhen: ASKS_WHEN.test(words.slice(0, 4).join(' ')),
    saidBy: saidBy(words),
    parts: isSurelyEnglish(words) ? [] : others.filter((term) => term.length >= SHORTEST_PART).slice(0, MAX_PARTS),
  }
}

/** `is` and `of` are words of other languages too. */
function isSurelyEnglish(words: string[]): boolean {
  return words.some((word) => word.length > 2 && ENGLISH_WORDS.has(word))
}

/** The first such word decides: `What did I tell you?` */
function saidBy(words: string[]): Question['saidBy'] {
  const first = words.find((word) => ME.has(word) || YOU.has(word))
  if (first === undefined) return undefined
  return ME.has(first) ? 'user' : 'assistant'
}

/** The terms that must be counted in a scope: those of the question, and the same terms as names of speakers. */
export function countedTerms({ terms }: Question): string[] {
  return [...terms, ...terms.map((term) => SPEAKER_MARK + term)]
}

/**
 * Terms that say how something is asked, not what. With a time, they include words such as `last week`; a month or a
 * weekday may also stand in the memory, so it stays.
 */
function ignoredTerms(words: string[], stems: string[], hasWindow: boolean): Set<string> {
  const isEnglish = words.some((word) => ENGLISH_WORDS.has(word))
  return new Set(
    stems.filter((_, at) => {
      const word = words[at] as string
      if (isEnglish && ASKING_WORDS.has(word)) return true
      if (!hasWindow) return false
      const time = timeWord(stems, at)
      return TELLING_WORDS.has(word) || (time !== undefined && time.is !== 'month' && time.is !== 'weekday')
    }),
  )
}
