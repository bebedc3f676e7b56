import type { z } from 'zod'
import type { Database } from '../../storage/database.ts'
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

/** Adds to gradual deployments how they proceed. */
export async function withRollouts<Row extends StoredDeployment>(db: Database, rows: readonly Row[], now: number) {
  const found = await rollouts.listOfDeployments(
    db,
    rows.map(({ id }) => id),
  )
  const byId = new Map(found.map((rollout) => [rollout.deployment_id, rollout]))
  return rows.map((row) => ({ ...row, ...presentRollout(byId.get(row.id), now) }))
}

export async function withRollout<Row extends StoredDeployment>(db: Database, row: Row, now: number) {
  return { ...row, ...presentRollout(await rollouts.find(db, row.id), now) }
}
