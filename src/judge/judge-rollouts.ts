import type { Agent } from '../agents/agent.ts'
import { findSnapshot } from '../agents/agent-snapshot.ts'
import * as agents from '../agents/store.ts'
import { beginSums } from '../deployments/rollouts/compared-sums.ts'
import { abortCandidate, checkCandidateTools, promoteCandidate } from '../deployments/rollouts/end-rollout.ts'
import { atStep, presentSide, type Rollout, type RolloutEvidence, ranFor } from '../deployments/rollouts/rollout.ts'
import * as rollouts from '../deployments/rollouts/rollout-store.ts'
import * as deployments from '../deployments/store.ts'
import { ApiError } from '../errors.ts'
import { listExamples } from '../invocations/rows/compared-answers.ts'
import type { Parts } from '../operation/parts.ts'
import * as replays from '../replays/store.ts'
import type { Database } from '../storage/database.ts'
import type { JobHandler } from '../storage/jobs/job-handler.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { countSlice, scoresOf } from './count-answers.ts'
import type { GuardFinding } from './guard.ts'
import { startRequiredReplay, whyNotPassed } from './required-replay.ts'

const LOOK_MS = 2_000
/** Of a look. The next look counts the others, so a look has a limited cost. */
const MOST_SLICES = 10

type JudgeParts = Pick<Parts, 'audit' | 'events' | 'findProject' | 'log' | 'memo' | 'newId' | 'now' | 'storage'>

/**
 * Looks at every gradual deployment in progress, every two seconds while there is one. The job's lease makes one node
 * the judge; if it dies, another takes the job. Each decision is a conditioned change, so it's made once in any case. It
 * locks the agent first, as requests do, because PostgreSQL locks the deployments before the rollouts when an agent is
 * deleted.
 */
export function judgeRollouts(parts: JudgeParts): JobHandler {
  const { log, newId, now, storage } = parts
  return {
    atStart: true,
    async run(signal) {
      const inProgress = await rollouts.listInProgress(storage.db)
      for (const rollout of inProgress) {
        signal.throwIfAborted()
        try {
          await look(rollout, parts)
        } catch (err) {
          log.warn({ err, deployment: rollout.deployment_id }, 'could not look at a gradual deployment; it is retried')
        }
      }
      await rollouts.removeLeftAnswers(storage.db)
      if (inProgress.length === 0) return
      const time = now()
      const next = { id: newId('job', time), kind: rollouts.LOOK_JOB, run_at: time + LOOK_MS }
      await storage.transaction((db) => enqueue(db, next))
    },
  }
}

async function look(rollout: Rollout, parts: JudgeParts): Promise<void> {
  const agent = (await findSnapshot(rollout.agent_id, parts))?.agent
  if (!agent) return
  if (rollout.step === 0) return lookAtReplay(rollout, agent, parts)
  const { now, storage } = parts
  const scores = await scoresOf(storage.db, agent.seq, rollout)
  for (let slices = 0; slices < MOST_SLICES; slices++) {
    const counted = await storage.transaction((db) => countSlice(db, agent.seq, { rollout, scores }, now()))
    if (!counted) return
    const { seen, finding, isBehind } = counted
    if (finding.kind === 'bad') return endBad(seen, finding, agent, parts)
    if (isBehind) continue
    if (finding.kind === 'step over') await nextStep(seen, agent, parts)
    return
  }
}

/** The next step, or all messages after the last one. */
async function nextStep(rollout: Rollout, agent: Agent, parts: JudgeParts): Promise<void> {
  const { now, storage } = parts
  if (rollout.step >= rollout.steps.length && (await hasWrongTools(rollout, agent, parts))) return
  const time = now()
  await storage.transaction(async (db) => {
    await agents.lock(db, agent.id)
    if (rollout.step >= rollout.steps.length) {
      if (await promoteCandidate(db, rollout, time)) await record(db, 'promoteDeployment', rollout, agent, parts)
      return
    }
    const after = { ...atStep(rollout, rollout.step + 1, time), statistics: beginSums(rollout.statistics) }
    await rollouts.change(db, rollout, after)
  })
}

async function endBad(
  rollout: Rollout,
  found: Extract<GuardFinding, { kind: 'bad' }>,
  agent: Agent,
  parts: JudgeParts,
): Promise<void> {
  const { now, storage } = parts
  const { statistics, on_bad, clock_at } = rollout
  // A person already knows about it.
  if (on_bad === 'pause' && rollout.evidence) return
  const { verdict, reason } = found
  const evidence: RolloutEvidence = {
    verdict,
    reason,
    candidate: statistics && presentSide(statistics.shown.candidate),
    serving: statistics && presentSide(statistics.shown.serving),
    examples: await examplesOf(rollout, verdict, agent, storage.db),
  }
  if (on_bad === 'rollback') return rollBack(rollout, evidence, agent, parts)
  const time = now()
  await storage.transaction(async (db) => {
    await agents.lock(db, agent.id)
    const clock = clock_at === null ? {} : { clock_ms: ranFor(rollout, time), clock_at: null }
    if (!(await rollouts.change(db, rollout, { ...rollout, ...clock, evidence }))) return
    const { deployment_id: id, agent_id } = rollout
    await deployments.setStatus(db, { id, agent_id }, 'paused')
    await record(db, 'pauseDeployment', rollout, agent, parts)
  })
}

async function rollBack(rollout: Rollout, evidence: RolloutEvidence, agent: Agent, parts: JudgeParts): Promise<void> {
  const { events, log, now, storage } = parts
  const isAborted = await storage.transaction(async (db) => {
    await agents.lock(db, agent.id)
    const way = { reason: 'guard' as const, project_id: agent.project_id, now: now(), events }
    if (!(await abortCandidate(db, rollout, evidence, way))) return false
    await record(db, 'abortDeployment', rollout, agent, parts)
    return true
  })
  const { deployment_id: deployment } = rollout
  const { verdict, reason } = evidence
  if (isAborted) log.warn({ agent: agent.id, deployment, verdict, reason }, 'the guard aborted a gradual deployment')
}

const EXAMPLES_BY = { latency: 'duration_ms', tokens: 'tokens_used', cost: 'cost_nano' } as const

async function examplesOf(
  { deployment_id, statistics, step_at }: Rollout,
  verdict: RolloutEvidence['verdict'],
  { seq }: Agent,
  db: Database,
): Promise<string[]> {
  if (!statistics || verdict === 'feedback' || verdict === 'replay' || verdict === 'tools') return []
  const by = verdict === 'failures' ? verdict : EXAMPLES_BY[verdict]
  return listExamples(db, { agent_seq: seq, deployment_id, from: step_at ?? 0 }, by)
}

/** Starts the replay that the deployment requires, and reads its verdict later. */
async function lookAtReplay(rollout: Rollout, agent: Agent, parts: JudgeParts): Promise<void> {
  const { now, storage } = parts
  const { replay_id, require_replay: required, agent_id, deployment_id } = rollout
  if (!required) return
  if (replay_id === null) {
    try {
      await storage.transaction(async (db) => {
        await agents.lock(db, agent_id)
        const deployment = await deployments.get(db, agent_id, deployment_id)
        const started = await startRequiredReplay(db, { agent, deployment, required }, parts)
        if (started === undefined) return
        const isChanged = await rollouts.change(db, rollout, { ...rollout, replay_id: started })
        // Another node has started it, or the deployment was aborted: this replay must not be stored as well.
        if (!isChanged) throw new Error(`deployment ${deployment_id} has changed`)
      })
    } catch (err) {
      if (!(err instanceof ApiError)) throw err
      await rollBack(rollout, endWithout('replay', `The replay can't start. ${saidBy(err)}`), agent, parts)
    }
    return
  }
  const replay = await replays.get(storage.db, agent.seq, replay_id)
  if (replay.status === 'running') return
  const reason = whyNotPassed(replay, rollout)
  if (reason !== undefined) return rollBack(rollout, endWithout('replay', reason), agent, parts)
  if (rollout.steps.length === 0 && (await hasWrongTools(rollout, agent, parts))) return
  const time = now()
  await storage.transaction(async (db) => {
    await agents.lock(db, agent_id)
    if (rollout.steps.length > 0) return void (await rollouts.change(db, rollout, atStep(rollout, 1, time)))
    if (await promoteCandidate(db, rollout, time)) await record(db, 'promoteDeployment', rollout, agent, parts)
  })
}

/** Other agents may have changed since the deployment began. Rolls it back if it can't be served any more. */
async function hasWrongTools(rollout: Rollout, agent: Agent, parts: JudgeParts): Promise<boolean> {
  const { db } = parts.storage
  try {
    await checkCandidateTools(db, rollout, agent)
    return false
  } catch (err) {
    if (!(err instanceof ApiError)) throw err
    await rollBack(rollout, endWithout('tools', saidBy(err)), agent, parts)
    return true
  }
}

function saidBy({ message, details = [] }: ApiError): string {
  return details.length === 0 ? message : `${details.map(({ field, error }) => `${field} ${error}`).join('; ')}.`
}

/** The evidence of an end that no comparison led to. */
function endWithout(verdict: 'replay' | 'tools', reason: string): RolloutEvidence {
  return { verdict, reason, candidate: null, serving: null, examples: [] }
}

/** The service itself acts like the host. */
async function record(
  db: Database,
  action: 'promoteDeployment' | 'pauseDeployment' | 'abortDeployment',
  { deployment_id: target }: Rollout,
  { id: agent_id, project_id }: Agent,
  { audit, newId, now }: Pick<JudgeParts, 'audit' | 'newId' | 'now'>,
): Promise<void> {
  const actor = { kind: 'local', id: 'local' } as const
  const request_id = newId('req', now())
  const event = { actor, action, project_id, agent_id, target, request_id, address: null }
  await audit.record(db, { ...event, fields: [], outcome: 'success' })
}
