import { type FailureTest, type Moments, NO_EVIDENCE, type Trials } from '../../lib/statistics/sequential-test.ts'

/** What one of the two versions has answered: the first answer that each sender got in a step. Durations, tokens and costs are of answers that didn't fail. */
export type SideSums = Trials & Record<Measure, Moments>

export const MEASURES = ['ms', 'tokens', 'cost', 'score'] as const
export type Measure = (typeof MEASURES)[number]

export type BothSides<Of> = { candidate: Of; serving: Of }

/** What the guard has counted. */
export type ComparedSums = {
  /** Of the current step. The transaction that adds an answer removes it from `rollout_answers`. */
  settled: BothSides<SideSums>
  /** Of the current step: what was added to the test. */
  tested: BothSides<Trials>
  /** Of the current step. */
  test: FailureTest
  /** Of the steps before. */
  before: BothSides<SideSums>
  /** Of all steps, when the guard last looked. */
  shown: BothSides<SideSums>
}

export const NO_SUMS: SideSums = {
  answers: 0,
  failures: 0,
  ...(Object.fromEntries(MEASURES.map((name) => [name, { count: 0, sum: 0, squares: 0 }])) as Record<Measure, Moments>),
}

const NONE: BothSides<SideSums> = { candidate: NO_SUMS, serving: NO_SUMS }

/**
 * The sums when a step begins: nothing of it is counted yet. The test begins again, because senders that had the
 * candidate in the step before have it in this one too, and nothing new would be learned from them.
 */
export function beginSums(earlier?: ComparedSums | null): ComparedSums {
  const before = earlier?.shown ?? NONE
  return { settled: NONE, tested: NONE, test: NO_EVIDENCE, before, shown: before }
}

export function addSums(a: SideSums, b: SideSums): SideSums {
  const added = (name: Measure): Moments => ({
    count: a[name].count + b[name].count,
    sum: a[name].sum + b[name].sum,
    squares: a[name].squares + b[name].squares,
  })
  return {
    answers: a.answers + b.answers,
    failures: a.failures + b.failures,
    ms: added('ms'),
    tokens: added('tokens'),
    cost: added('cost'),
    score: added('score'),
  }
}

export function addBoth(a: BothSides<SideSums>, b: BothSides<SideSums>): BothSides<SideSums> {
  return { candidate: addSums(a.candidate, b.candidate), serving: addSums(a.serving, b.serving) }
}
