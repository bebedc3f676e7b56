/**
 * All numbers of the ranking. They were found on one half of two public sets of long conversations (2,230 questions)
 * and tested on the other half. `test/whole/memory-questions.test.ts` contains a set of our own and prints the effect
 * of a change.
 */

/** BM25: how soon repetitions of a word stop to matter, and how much long memories lose. Turns are short. */
export const SATURATION = 0.9
export const LENGTH_WEIGHT = 0.4

/** The least number of memories for computing a rarity, because a few memories say little about how rare a word is. */
export const LEAST_COUNT = 100

/** The weight of a word inside a compound, compared with the same word alone. */
export const COMPOUND_WEIGHT = 0.7

/** How many turns on either side of a word get a share of its weight. */
export const REACH = 4
/**
 * Answers follow questions, so the turns after a word get a larger share than those before it. Each further turn gets
 * less.
 */
export const LEAK_AFTER = 0.5
export const LEAK_BEFORE = 0.25
export const LEAK_DECAY = 0.7
/** A word of this rarity (idf) gives its full share to its neighbours, and more common words give less. */
export const LEAKING_RARITY = 4
/**
 * Smaller shares are left out. They wouldn't change the order, but a word in every turn would cost nine visits each.
 */
export const LEAST_LEAK = 0.02

/** A longer turn scores a little higher because it says more: "ok, thanks!" answers nothing. */
export const LENGTH_PRIOR = 0.1

/** The fraction of its score that a turn keeps if the query names another speaker. */
export const OTHER_SPEAKER = 1 / 1.8
/** The same for turns that have a role but no speaker: `my` asks for what the user said. */
export const OTHER_ROLE = 0.8
/**
 * A name must start at least SPEAKER_TURNS turns, and SPEAKER_SHARE of all turns, to count as a speaker. Otherwise, it
 * may be a label such as `Error: `.
 */
export const SPEAKER_TURNS = 3
export const SPEAKER_SHARE = 0.02

/** The factor by which a memory's cosine counts in its score. */
export const MEANING_WEIGHT = 4
/** From this cosine on, a memory needs no shared word. In our set, this finds 5 more of 71 memories. */
export const ALIKE = 0.5
/**
 * In scopes with up to this many memories, meanings are compared one by one, which takes a tenth of a millisecond.
 * Larger scopes are searched only by words.
 */
export const COMPARED = 2000

/** The weight of the time in question, compared with a term of the same rarity. */
export const TIME_WEIGHT = 2
/** A week, because people who say `yesterday` or `next Monday` mean a nearby time. */
export const MENTION_MARGIN = 7 * 86_400_000
/** The factor for a turn that mentions a time, if the answer is a time. */
export const TIME_WORD = 1.2

/** The sum for which words alone give a score of one half. */
export const HALF = 10
/** The share of words in the score if there is an embedder. The rest is for the meaning. */
export const WORDS_WEIGHT = 0.7
