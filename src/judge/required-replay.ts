import type { Agent } from '../agents/agent.ts'
import type { StoredDeployment } from '../deployments/deployment.ts'
import type { RequiredReplay, Rollout } from '../deployments/rollouts/rollout.ts'
import { notFound } from '../errors.ts'
import { listCases } from '../invocations/cases/case-store.ts'
import { MOST_CASES } from '../invocations/cases/choose-runs.ts'
import * as keys from '../keys/store.ts'
import type { Parts } from '../operation/parts.ts'
import type { Replay } from '../replays/replay-record.ts'
import { MOST_RUNNING, startReplay, testedDefinitions } from '../replays/start-replay.ts'
import * as replays from '../replays/store.ts'
import * as sets from '../sets/store.ts'
import type { Database } from '../storage/database.ts'

const UNLIMITED = { cost_usd: null, tokens: null }

/**
 * Starts the replay that a deployment waits for, and returns its ID. It's compared with what the environment serves, or
 * with the recorded answers. Undefined while too many replays are running. Throws an `ApiError` if it can't ever start.
 */
export async function startRequiredReplay(
  db: Database,
  { agent, deployment, required }: { agent: Agent; deployment: StoredDeployment; required: RequiredReplay },
  { newId, now }: Pick<Parts, 'newId' | 'now'>,
): Promise<string | undefined> {
  const set = await sets.find(db, agent.seq, required.set)
  if (!set) throw notFound('Set', required.set)
  if ((await replays.countRunning(db, agent.seq)) >= MOST_RUNNING) return undefined
  const { version, environment, created_by } = deployment
  const tested = await testedDefinitions(agent, { version, environment, baseline: 'deployed' }, { db })
  const cases = await listCases(db, set.id, { limit: MOST_CASES, offset: 0 })
  const person_id = (await keys.find(db, created_by))?.person_id
  const actor = { id: created_by, ...(person_id && { person_id }) }
  const started = { tested, cases, set, body: { checks: [], limits: UNLIMITED } }
  return (await startReplay(agent, started, { actor, db, newId, now })).id
}

/** Why the replay doesn't let the deployment pass. Undefined if it does. */
export function whyNotPassed(replay: Replay, { require_replay }: Pick<Rollout, 'require_replay'>): string | undefined {
  const { status, verdict, report } = replay
  if (status !== 'completed' || !report) return `The replay ${replay.id} was cancelled.`
  if (verdict === 'regression') return `The replay ${replay.id} found a regression. ${report.reason}`
  const cases = replay.cases - report.erased_cases
  const { passed } = report.columns.candidate
  const { min_pass = 1 } = require_replay ?? {}
  if (cases > 0 && passed / cases >= min_pass) return undefined
  return `In the replay ${replay.id}, ${passed} of ${cases} cases passed; the deployment requires a share of ${min_pass}.`
}
