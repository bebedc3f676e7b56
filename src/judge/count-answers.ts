import {
  addSums,
  type BothSides,
  beginSums,
  type ComparedSums,
  NO_SUMS,
  type SideSums,
} from '../deployments/rollouts/compared-sums.ts'
import type { Rollout } from '../deployments/rollouts/rollout.ts'
import { sumScores } from '../invocations/feedback/feedback-store.ts'
import { type AnswerSums, oldestUnfinished, sumAnswers } from '../invocations/rows/compared-answers.ts'
import { timeOf } from '../lib/id.ts'
import type { Database } from '../storage/database.ts'

/** A request's receipt is stored by then, unless its run is listed as unfinished. */
const STORED_AFTER_MS = 30_000
/** Longer runs, such as those that wait for people, aren't compared. */
const LONGEST_MS = 15 * 60_000

/**
 * Counts the first answer that each sender got in the current step. Only requests since its beginning count, because the
 * answers that come first are the fast ones. Requests are settled, and not read again, once none before them can end.
 */
export async function countAnswers(
  db: Database,
  agent_seq: number,
  { deployment_id, serving_id, step_at, statistics, guard }: Rollout,
  now: number,
): Promise<{ sums: ComparedSums; step: BothSides<SideSums> }> {
  const from = step_at ?? now
  const sums = statistics ?? beginSums(from)
  const { settled_at } = sums
  // Read before the receipts: a run that ends in between is then among them.
  const unfinished = await oldestUnfinished(db, agent_seq, settled_at)
  const stored = Math.min(now - STORED_AFTER_MS, unfinished === undefined ? now : timeOf(unfinished))
  const next = Math.max(settled_at, stored, now - LONGEST_MS)
  const sides = { candidate: deployment_id, serving: serving_id ?? '' }
  const within = { agent_seq, deployment_ids: Object.values(sides), step_at: from }
  const ended = next > settled_at ? await sumAnswers(db, { ...within, from: settled_at, to: next }) : []
  const open = await sumAnswers(db, { ...within, from: next, to: now + STORED_AFTER_MS })
  const scores = guard.min_feedback === undefined ? new Map() : await sumScores(db, { ...within, from })
  const sumsOf = (side: keyof typeof sides) => {
    const settled = addSums(sums.settled[side], sideOf(ended, sides[side]))
    const score = scores.get(sides[side]) ?? NO_SUMS.score
    return { settled, all: { ...addSums(settled, sideOf(open, sides[side])), score } }
  }
  const candidate = sumsOf('candidate')
  const serving = sumsOf('serving')
  return {
    sums: { ...sums, settled_at: next, settled: { candidate: candidate.settled, serving: serving.settled } },
    step: { candidate: candidate.all, serving: serving.all },
  }
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
