/**
 * Every number of the ranking. They were found on half of two public sets of long conversations, 2,230 questions, and
 * judged on the other half. `test/memory-questions.test.ts` has a set of our own and prints what a change does to it.
 */

/** BM25: how soon repeating a word stops to matter, and how much a long memory is held against it. Turns are short. */
export const SATURATION = 0.9
export const LENGTH_WEIGHT = 0.4

/** A handful of memories says little about how rare a word is. */
export const LEAST_COUNT = 100

/** So many turns on either side of the one that has a word get a share of it. */
export const REACH = 4
/** Answers follow questions, so the turns after a word get more of it than those before, and each further one less. */
export const LEAK_AFTER = 0.5
export const LEAK_BEFORE = 0.25
export const LEAK_DECAY = 0.7
/** A word of this rarity (idf) leaks in full, a more common one in proportion. */
export const LEAKING_RARITY = 4
/** A share below this would change no order, but a word that every turn has would visit all of them nine times. */
export const LEAST_LEAK = 0.02

/** A longer turn has more to tell: "ok, thanks!" answers nothing. */
export const LENGTH_PRIOR = 0.1

/** What a turn keeps of its score if the query names somebody else as the speaker. */
export const OTHER_SPEAKER = 1 / 1.8
/** The same where a turn has no name but a role: `my` asks for what the user said. */
export const OTHER_ROLE = 0.8
/** `Name: ` must begin so many turns, and such a share of them, to be a speaker and not a label like `Error: `. */
export const SPEAKER_TURNS = 3
export const SPEAKER_SHARE = 0.02

/** What a memory gets for meaning the same as the query, times the cosine. */
export const MEANING_WEIGHT = 4
/** The cosine from which on that is enough without a shared word: of 71 memories, 5 more are found. */
export const ALIKE = 0.5
/** So many memories of a scope are compared one by one, which takes a tenth of a millisecond; a larger one goes by its words. */
export const COMPARED = 2000

/** What the time that is asked about counts for, as a term of its rarity. */
export const TIME_WEIGHT = 2
/** A week: who says `yesterday` or `next Monday` speaks of a time nearby. */
export const MENTION_MARGIN = 7 * 86_400_000
/** What a turn with a time in it gains where the answer is a time. */
export const TIME_WORD = 1.2

/** The sum at which words alone score one half. */
export const HALF = 10
/** The share of words in a score where an embedder is in use; the rest is meaning. */
export const WORDS_WEIGHT = 0.7
