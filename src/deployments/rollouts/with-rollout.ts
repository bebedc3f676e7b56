import type { z } from 'zod'
import type { Needs } from '../../operation/context.ts'
import type { StoredDeployment } from '../deployment.ts'
import { presentProgress, type Rollout, type RolloutEvidence, type RolloutProgress } from './rollout.ts'
import * as rollouts from './rollout-store.ts'

/** What a deployment's record shows of its rollout. */
export function presentRollout(rollout: Rollout | undefined, now: number) {
  if (!rollout) return {}
  const { steps, guard, on_bad, require_replay, evidence } = rollout
  const progress: z.input<typeof RolloutProgress> = presentProgress(rollout, now)
  const strategy = steps.length === 0 ? null : { steps, guard, on_bad }
  return { strategy, require_replay, progress, evidence: evidence as RolloutEvidence | null }
}

/** Adds to gradual deployments how they proceed. A token for one user doesn't see what all users were answered. */
export async function withRollouts<Row extends StoredDeployment>(
  rows: readonly Row[],
  { actor, db, now }: Needs<'actor' | 'db' | 'now'>,
) {
  const found = await rollouts.listOfDeployments(
    db,
    rows.map(({ id }) => id),
  )
  const byId = new Map(found.map((rollout) => [rollout.deployment_id, rollout]))
  const isBound = actor.scope.user_id !== null
  return rows.map((row) => {
    const rollout = byId.get(row.id)
    const shown = rollout && isBound ? { ...rollout, statistics: null, evidence: null } : rollout
    return { ...row, ...presentRollout(shown, now()) }
  })
}

export async function withRollout<Row extends StoredDeployment>(row: Row, context: Needs<'actor' | 'db' | 'now'>) {
  const [shown] = await withRollouts([row], context)
  return shown as NonNullable<typeof shown>
}
