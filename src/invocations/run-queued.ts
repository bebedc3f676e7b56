import * as agents from '../agents/store.ts'
import { getVersion } from '../deployments/store.ts'
import type { Parts } from '../operation/parts.ts'
import type { Database } from '../storage/database.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import type { JobRun } from '../storage/jobs/run-jobs.ts'
import { admit, leave } from './admit.ts'
import { endWith, type Invocation, isFinal } from './invocation.ts'
import { INVOCATION_JOB } from './invoke-agent.ts'
import { effects, LEASE_MS, runInvocation } from './run-invocation.ts'
import * as invocations from './store.ts'

const SWEEP = 100
/** How long a queued invocation waits for its agent to have a place. */
const NO_PLACE_MS = 500

const INTERRUPTED = { code: 'server_error', message: 'The service stopped while the agent was answering' } as const

const GIVEN_UP = {
  code: 'server_error',
  message: 'The service could not finish the run, however often it tried',
} as const

/** What the job of a queued invocation carries. */
export type QueuedInvocation = { agent_id: string; request_id: string }

/**
 * The job behind `Prefer: respond-async`. Cut short by a crash or a stop of the service, the invocation waits for its
 * job to be taken up again, here or on another node, and starts over.
 */
export async function runQueued(
  payload: QueuedInvocation,
  { signal: stop, finish }: JobRun,
  parts: Parts,
): Promise<void> {
  const { agent_id, request_id } = payload
  const { journal, live, newId, node, now, storage } = parts
  // From here on a pause finds the run and stops it; what was paused before is read below.
  const run = live.start(request_id, agent_id)
  stop.addEventListener('abort', () => run.cancel(), { once: true })
  try {
    const agent = await agents.find(storage.db, agent_id)
    const queued = agent && (await invocations.find(storage.db, agent.seq, request_id))
    if (!queued || isFinal(queued)) return
    const { version } = queued
    const definition = version === null ? agent : (await getVersion(storage.db, agent.id, version)).definition
    const refusal = admit(run, agent, definition, parts)
    if (refusal === 'no_place' || refusal === 'overloaded') {
      // Not a failed attempt: the same work under a new job, a little later.
      const job = { id: newId('job', now()), kind: INVOCATION_JOB, payload, run_at: now() + NO_PLACE_MS }
      await storage.transaction(async (db) => void ((await finish(db)) && (await enqueue(db, job))))
      return
    }
    const lease = { owner: node, lease_until: now() + LEASE_MS }
    const attempt = await invocations.begin(storage.db, request_id, lease, now())
    if (attempt === undefined) throw new Error(`invocation ${request_id} is leased to a node that may have died`)
    const invocation: Invocation = { ...queued, status: 'running', attempt, started_at: now() }
    if (refusal === 'paused') run.cancel()
    const started = { invocation, agent, definition, run, owner: node, stored: true, streaming: true }
    const ended = await runInvocation(started, parts)
    if (stop.aborted && ended.invocation.status === 'cancelled') {
      await invocations.requeue(storage.db, request_id, node)
      throw new Error(`invocation ${request_id} was cut short by the stop of the service`)
    }
    await journal.commit(ended.entry)
  } finally {
    leave(run, parts)
  }
}

/** Its job was given up: the invocation has failed, and says so like any other. Both are written together. */
export async function failQueued(
  { agent_id, request_id }: QueuedInvocation,
  giveUpJob: (db: Database) => Promise<boolean>,
  parts: Parts,
): Promise<void> {
  const { journal, node, now, storage } = parts
  const agent = await agents.find(storage.db, agent_id)
  const queued = agent && (await invocations.find(storage.db, agent.seq, request_id))
  if (!queued || isFinal(queued)) return void (await giveUpJob(storage.db))
  const failed = endWith(queued, 'failed', GIVEN_UP, now())
  const writes = await effects(failed, agent, agent, [], parts)
  const guard = async (db: Database) => {
    if (!(await giveUpJob(db))) return false
    if ((await invocations.finish(db, failed, node)) || (await invocations.endUnowned(db, failed, now()))) return true
    throw new Error(`invocation ${request_id} is leased to a node that may have died`)
  }
  await journal.commit({ writes, guard })
}

/** Keeps this node's word about what it runs, and ends what nodes that died were running. */
export async function tendRuns(parts: Parts): Promise<void> {
  const { journal, live, node, now, storage } = parts
  const ids = live.all().map(({ request_id }) => request_id)
  await invocations.renew(storage.db, ids, { owner: node, lease_until: now() + LEASE_MS })
  for (const interrupted of await invocations.listInterrupted(storage.db, now(), SWEEP)) {
    const agent = await agents.findBySeq(storage.db, interrupted.agent_seq)
    const failed = endWith(interrupted, 'failed', INTERRUPTED, now())
    const writes = agent ? await effects(failed, agent, agent, [], parts) : []
    await journal.commit({ writes, guard: (db) => invocations.endUnowned(db, failed, now()) })
  }
}

/** The red button: what a paused or deleted agent runs here stops. */
export async function stopUnwanted({ live, storage }: Parts): Promise<void> {
  for (const agent_id of live.agents()) {
    const agent = await agents.find(storage.db, agent_id)
    if (agent?.status !== 'running') for (const run of live.ofAgent(agent_id)) run.cancel()
  }
}

export async function stopCancelled({ live, node, storage }: Parts): Promise<void> {
  if (live.all().length === 0) return
  for (const id of await invocations.listCancelRequested(storage.db, node)) live.find(id)?.cancel()
}
