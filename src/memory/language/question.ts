import { timeAsked, type Window } from './dates.ts'
import { ASKING_WORDS, ENGLISH_WORDS, STOP_WORDS, TELLING_WORDS } from './english.ts'
import { stemOf, wordsOf } from './stems.ts'
import { MAX_CHARACTERS, SPEAKER_MARK } from './terms.ts'
import { timeWord } from './time-words.ts'

/** What a query asks for. */
export type Question = {
  /** The terms, without repetitions. */
  terms: string[]
  /** The time that the query asks about. */
  window: Window | undefined
  /** Whether the answer is a time. */
  asksWhen: boolean
  /** Whether the user or the assistant is likely to have said it. */
  saidBy: 'user' | 'assistant' | undefined
  /**
   * Terms that may also be part of a compound, as in German, Dutch or Finnish. English writes such words separately.
   */
  parts: string[]
}

/** `What did I …` and `What is my …` ask what the user said, `What did you …` asks what the assistant said. */
const ME = new Set(
  wordsOf(`i my me mine we our us ich mein meine meinen meinem meiner mich mir wir uns unser unsere je mon ma mes nous notre
    mi mis nosotros nuestro nuestra я мой моя мою мне мы наш наша нашу`),
)
const YOU = new Set(wordsOf('you your du dir dich dein deine tu vous votre te ты тебя тебе'))

/** Further terms are left out, because a message may contain thousands. */
const MAX_TERMS = 48
/** A question is short. If a message is longer than this, only its terms are used. */
const MAX_WORDS = 64
/** Shorter words are part of many words by chance. */
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
    // If the query asks about a time, it needs no other terms.
    terms: (others.length > 0 || window ? others : [...terms]).slice(0, MAX_TERMS),
    window,
    asksWhen: ASKS_WHEN.test(words.slice(0, 4).join(' ')),
    saidBy: saidBy(words),
    parts: isSurelyEnglish(words) ? [] : others.filter((term) => term.length >= SHORTEST_PART).slice(0, MAX_PARTS),
  }
}

/** Ignores short words, because `is` and `of` are also words of other languages. */
function isSurelyEnglish(words: string[]): boolean {
  return words.some((word) => word.length > 2 && ENGLISH_WORDS.has(word))
}

/** The first pronoun decides: `What did I tell you?` */
function saidBy(words: string[]): Question['saidBy'] {
  const first = words.find((word) => ME.has(word) || YOU.has(word))
  if (first === undefined) return undefined
  return ME.has(first) ? 'user' : 'assistant'
}

/** The terms that must be counted in a scope: the question's terms, and the same terms as names of speakers. */
export function countedTerms({ terms }: Question): string[] {
  return [...terms, ...terms.map((term) => SPEAKER_MARK + term)]
}

/**
 * Terms that say how something is asked, not what. If the query asks about a time, they include words such as `last
 * week`. A month or a weekday is kept, because the memory may contain it too.
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
