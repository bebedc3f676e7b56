import { addSums, type BothSides, beginSums, NO_SUMS, type SideSums } from '../deployments/rollouts/compared-sums.ts'
import type { Rollout } from '../deployments/rollouts/rollout.ts'
import * as rollouts from '../deployments/rollouts/rollout-store.ts'
import { sumScores } from '../invocations/feedback/feedback-store.ts'
import { type AnswerSums, sumAnswers } from '../invocations/rows/compared-answers.ts'
import type { Moments } from '../lib/statistics/sequential-test.ts'
import type { Database } from '../storage/database.ts'
import { type GuardFinding, judgeAnswers } from './guard.ts'

/** How many answers one transaction counts. */
export const SLICE = 500

type CountedSlice = { seen: Rollout; finding: GuardFinding; isBehind: boolean }

/** The average scores that senders gave to each deployment in the current step, by its ID. */
type Scores = ReadonlyMap<string, Moments>

export async function scoresOf(db: Database, agent_seq: number, rollout: Rollout): Promise<Scores> {
  const { deployment_id, serving_id, step_at, guard } = rollout
  if (guard.min_feedback === undefined) return new Map()
  return sumScores(db, { agent_seq, deployment_ids: [deployment_id, serving_id ?? ''], from: step_at ?? 0 })
}

/**
 * Counts answers that have come since the last look, at most one slice of them, and stores the sums. An answer is removed
 * from the uncounted ones in the transaction that counts it, so each is counted once, whichever node judges and whenever
 * it dies. Only requests since the step began count, because the answers that come first are the fast ones. Returns
 * undefined if the rollout has changed.
 */
export async function countSlice(
  db: Database,
  agent_seq: number,
  { rollout, scores }: { rollout: Rollout; scores: Scores },
  now: number,
): Promise<CountedSlice | undefined> {
  const locked = await rollouts.lockUnchanged(db, rollout)
  if (!locked) return undefined
  const { deployment_id: rollout_id, serving_id, step_at, statistics } = locked
  const sides = { candidate: rollout_id, serving: serving_id ?? '' }
  const request_ids = await rollouts.listUncounted(db, locked, SLICE)
  const step = { agent_seq, deployment_ids: Object.values(sides), step_at: step_at ?? now }
  const counted = await sumAnswers(db, { ...step, rollout_id, request_ids })
  await rollouts.removeCounted(db, locked, request_ids)
  const sums = statistics ?? beginSums()
  const settled = bothOf((side) => addSums(sums.settled[side], sideOf(counted, sides[side])))
  const all = bothOf((side) => ({ ...settled[side], score: scores.get(sides[side]) ?? NO_SUMS.score }))
  const judged = judgeAnswers(locked, { ...sums, settled }, all, now)
  const seen = { ...locked, statistics: judged.sums, looked_at: now }
  await rollouts.keepStatistics(db, seen)
  return { seen, finding: judged.finding, isBehind: request_ids.length === SLICE }
}

function bothOf<Of>(of: (side: keyof BothSides<Of>) => Of): BothSides<Of> {
  return { candidate: of('candidate'), serving: of('serving') }
}

function sideOf(found: readonly AnswerSums[], id: string): SideSums {
  const of = found.find(({ deployment_id }) => deployment_id === id)
  if (!of) return NO_SUMS
  const { answers, failures, completed, priced } = of
  return {
    answers,
    failures,
    ms: { count: completed, sum: of.ms_sum, squares: of.ms_squares },
    tokens: { count: completed, sum: of.tokens_sum, squares: of.tokens_squares },
    cost: { count: priced, sum: of.cost_sum, squares: of.cost_squares },
    score: NO_SUMS.score,
  }
}
