import {
  addBoth,
  type BothSides,
  type ComparedSums,
  type Measure,
  type SideSums,
} from '../deployments/rollouts/compared-sums.ts'
import { type Rollout, type RolloutVerdict, timeLeft } from '../deployments/rollouts/rollout.ts'
import {
  addBlock,
  evidenceOf,
  exceedsRatio,
  isWholeBlock,
  mean,
  scoresBelow,
  type Trials,
} from '../lib/statistics/sequential-test.ts'

/** An average score of fewer senders says little. */
const MIN_SCORES = 10

/** What the guard finds. `wait`: there's not enough time or not enough answers yet. */
export type GuardFinding =
  | { kind: 'bad'; verdict: RolloutVerdict; reason: string }
  | { kind: 'step over' }
  | { kind: 'wait' }

type Compared = Pick<Rollout, 'guard' | 'steps' | 'step' | 'clock_at' | 'clock_ms'>

/**
 * Compares the versions with what the current step has counted so far. It may be called at any time: however often it
 * is, an equally good candidate is found bad with a probability of at most one minus the confidence, for each measure.
 */
export function judgeAnswers(
  rollout: Compared,
  sums: ComparedSums,
  step: BothSides<SideSums>,
  now: number,
): { sums: ComparedSums; finding: GuardFinding } {
  const counted = addToTest(sums, step, rollout.guard.max_failure_ratio)
  const confidence = confidenceOfStep(rollout)
  const after = { ...counted, shown: addBoth(sums.before, step) }
  return {
    sums: after,
    finding: failuresFound(confidence, after) ?? averagesFound(rollout, step, confidence) ?? passed(rollout, step, now),
  }
}

/** Each step that compares has its part of the mistakes that are allowed. */
function confidenceOfStep({ guard, steps }: Compared): number {
  const compared = steps.filter(({ percent }) => percent < 100).length
  return 1 - (1 - guard.confidence) / Math.max(1, compared)
}

/** Adds the answers since the last block, once there are enough of both sides. */
function addToTest(sums: ComparedSums, step: BothSides<SideSums>, tolerated: number): ComparedSums {
  const candidate = since(step.candidate, sums.tested.candidate)
  const serving = since(step.serving, sums.tested.serving)
  if (!isWholeBlock(candidate, serving)) return sums
  const { answers: of_candidate, failures: failed } = step.candidate
  const { answers: of_serving, failures: failed_serving } = step.serving
  const tested = {
    candidate: { answers: of_candidate, failures: failed },
    serving: { answers: of_serving, failures: failed_serving },
  }
  return { ...sums, test: addBlock(sums.test, candidate, serving, tolerated), tested }
}

/** At least zero: receipts that were counted may have been deleted. */
function since(now: Trials, before: Trials): Trials {
  const answers = Math.max(0, now.answers - before.answers)
  return { answers, failures: Math.min(answers, Math.max(0, now.failures - before.failures)) }
}

function failuresFound(confidence: number, { test, shown }: ComparedSums): GuardFinding | undefined {
  if (evidenceOf(test) < 1 / (1 - confidence)) return undefined
  const share = ({ failures, answers }: Trials) => `${failures} of ${answers}`
  const reason = `The candidate failed ${share(shown.candidate)} times, and the other version ${share(shown.serving)}.`
  return { kind: 'bad', verdict: 'failures', reason }
}

const RATIOS = [
  { measure: 'ms', verdict: 'latency', limit: 'max_latency_ratio', what: 'An answer takes' },
  { measure: 'tokens', verdict: 'tokens', limit: 'max_tokens_ratio', what: 'The number of tokens is' },
  { measure: 'cost', verdict: 'cost', limit: 'max_cost_ratio', what: 'The cost is' },
] as const satisfies { measure: Measure; verdict: RolloutVerdict; limit: keyof Rollout['guard']; what: string }[]

function averagesFound(
  { guard }: Compared,
  { candidate, serving }: BothSides<SideSums>,
  confidence: number,
): GuardFinding | undefined {
  const { min_answers, min_feedback } = guard
  for (const { measure, verdict, limit, what } of RATIOS) {
    const ratio = guard[limit]
    const isEnough = candidate[measure].count >= min_answers && serving[measure].count >= min_answers
    if (ratio === undefined || !isEnough) continue
    if (!exceedsRatio(candidate[measure], serving[measure], { ratio, confidence, typical: min_answers })) continue
    const times = (mean(candidate[measure]) / mean(serving[measure])).toFixed(2)
    return { kind: 'bad', verdict, reason: `${what} ${times} times as high on average; the limit is ${ratio}.` }
  }
  const isRated = candidate.score.count >= MIN_SCORES && serving.score.count >= MIN_SCORES
  if (min_feedback === undefined || !isRated) return undefined
  if (!scoresBelow(candidate.score, serving.score, min_feedback, confidence)) return undefined
  const [score, other] = [mean(candidate.score), mean(serving.score)]
  const reason = `The average score is ${score.toFixed(2)}; the other version's is ${other.toFixed(2)}.`
  return { kind: 'bad', verdict: 'feedback', reason }
}

/** A step ends after its minutes, with enough answers of both. With 100 percent, only the candidate gets messages. */
function passed(rollout: Compared, { candidate, serving }: BothSides<SideSums>, now: number): GuardFinding {
  const { guard, steps, step, clock_at } = rollout
  const isAlone = steps[step - 1]?.percent === 100
  const isCompared = candidate.answers >= guard.min_answers && (isAlone || serving.answers >= guard.min_answers)
  return clock_at !== null && isCompared && timeLeft(rollout, now) === 0 ? { kind: 'step over' } : { kind: 'wait' }
}
