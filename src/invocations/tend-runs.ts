import * as agents from '../agents/store.ts'
import type { Parts } from '../operation/parts.ts'
import { type Keeping, keepLeases, LEASE_MS, renewHeld } from '../storage/leases/lease.ts'
import { endWith, type Invocation } from './invocation.ts'
import { requeueLapsed } from './queue/queue-store.ts'
import { effects } from './run-invocation.ts'
import * as invocations from './store.ts'

const AT_ONCE = 100

const INTERRUPTED = { code: 'server_error', message: 'The service stopped while the agent was answering' } as const

/** Renews the leases of what runs in this process, again and again. Returns what stops it. */
export function keepRuns(parts: Parts): () => void {
  return keepLeases(invocations.LEASED_RUNS, keeping(parts))
}

/** A run whose lease was lost is stopped: another node has ended it, or runs it. */
function keeping({ live, log, now, storage }: Parts): Keeping {
  return {
    db: storage.db,
    now,
    log,
    lease_ms: LEASE_MS,
    held: () => live.all().flatMap(({ lease }) => lease ?? []),
    lost: ({ key: [request_id = ''] }) => live.find(request_id)?.cancel(),
  }
}

/**
 * Takes care of the runs of nodes that died. Those in the background, and those with an Idempotency-Key, wait in the queue
 * again, and go on after their last step. The others have failed.
 */
export async function takeUpRuns(parts: Parts): Promise<void> {
  // This process may have slept through its own leases: what it runs is not what a dead node has left.
  await renewHeld(invocations.LEASED_RUNS, keeping(parts))
  const { storage, now } = parts
  const lapsed = await invocations.listLapsed(storage.db, now(), AT_ONCE)
  if (lapsed.some(goesOn)) await requeueLapsed(storage.db, now())
  for (const invocation of lapsed) if (!goesOn(invocation)) await fail(invocation, parts)
}

function goesOn({ background, keyed }: Invocation): boolean {
  return background || keyed
}

async function fail(interrupted: Invocation, parts: Parts): Promise<void> {
  const { journal, now, storage } = parts
  const agent = await agents.findBySeq(storage.db, interrupted.agent_seq)
  const failed = endWith(interrupted, 'failed', INTERRUPTED, now())
  const writes = agent ? await effects(failed, agent, agent, [], parts) : []
  await journal.commit({ writes, guard: (db) => invocations.endUnowned(db, failed, now()) })
}

/** The red button: what a paused or deleted agent runs here stops. Without an id every agent is looked at. */
export async function stopUnwanted({ live, storage }: Parts, changed: string | undefined): Promise<void> {
  for (const agent_id of live.agents()) {
    if (changed !== undefined && agent_id !== changed) continue
    const agent = await agents.find(storage.db, agent_id)
    if (agent?.status !== 'running') for (const run of live.ofAgent(agent_id)) run.cancel()
  }
}

/** Without an id it is looked up which runs somebody wants stopped. */
export async function stopCancelled({ live, node, storage }: Parts, wanted: string | undefined): Promise<void> {
  if (wanted !== undefined) return live.find(wanted)?.cancel()
  if (live.all().length === 0) return
  for (const id of await invocations.listCancelRequested(storage.db, node)) live.find(id)?.cancel()
}
