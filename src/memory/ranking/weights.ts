/**
 * Every number of the ranking. They were found on one half of two public sets of long conversations (2,230 questions)
 * and tested on the other half. `test/memory-questions.test.ts` has a set of our own and prints the effect of a change.
 */

/** BM25: how soon a repeated word stops to matter, and how much a long memory is marked down. Turns are short. */
export const SATURATION = 0.9
export const LENGTH_WEIGHT = 0.4

/** A few memories say little about how rare a word is. */
export const LEAST_COUNT = 100

/** What a word inside a compound weighs, compared with the same word alone. */
export const COMPOUND_WEIGHT = 0.7

/** How many turns on either side of a word get a share of it. */
export const REACH = 4
/**
 * Answers follow questions. The turns after a word get a larger share than those before it, and each further turn gets
 * less.
 */
export const LEAK_AFTER = 0.5
export const LEAK_BEFORE = 0.25
export const LEAK_DECAY = 0.7
/** A word of this rarity (idf) gives its full share to its neighbours, and a more common word less. */
export const LEAKING_RARITY = 4
/** A smaller share is left out. It would not change the order, but a word in every turn would cost nine visits each. */
export const LEAST_LEAK = 0.02

/** A longer turn gets a little more, because it says more: "ok, thanks!" answers nothing. */
export const LENGTH_PRIOR = 0.1

/** The part of its score that a turn keeps if the query names another speaker. */
export const OTHER_SPEAKER = 1 / 1.8
/** The same for turns that have a role but no name: `my` asks for what the user said. */
export const OTHER_ROLE = 0.8
/**
 * A name must begin SPEAKER_TURNS turns, and SPEAKER_SHARE of all, to be a speaker. Otherwise it may be a label such
 * as `Error: `.
 */
export const SPEAKER_TURNS = 3
export const SPEAKER_SHARE = 0.02

/** What a memory gets for its meaning; it is multiplied with the cosine. */
export const MEANING_WEIGHT = 4
/** From this cosine on, a memory needs no shared word. In our set, 5 more of 71 memories are found with it. */
export const ALIKE = 0.5
/**
 * The memories of a scope with up to COMPARED of them are compared one by one, which takes a tenth of a millisecond. A
 * larger scope is searched by words only.
 */
export const COMPARED = 2000

/** The weight of the time in question, compared with a term of the same rarity. */
export const TIME_WEIGHT = 2
/** A week: people who say `yesterday` or `next Monday` speak of a time nearby. */
export const MENTION_MARGIN = 7 * 86_400_000
/** The factor for a turn that mentions a time, if the answer is a time. */
export const TIME_WORD = 1.2

/** The sum at which words alone give a score of one half. */
export const HALF = 10
/** The share of words in the score if an embedder is used. The rest is meaning. */
export const WORDS_WEIGHT = 0.7
