import * as agents from '../agents/store.ts'
import type { Parts } from '../operation/parts.ts'
import { keepLeases, LEASE_MS, type LeaseUpkeep, renewHeld } from '../storage/leases/lease.ts'
import { listUntold } from '../webhooks/callback-store.ts'
import { tellEnd } from './callbacks/tell-end.ts'
import { cancelBelow, cancelThose, listEndedCallers, listUncancelled } from './children/child-store.ts'
import type { EffectParts } from './effects/effects.ts'
import { endUnownedRun } from './effects/end-unowned-run.ts'
import type { Invocation } from './invocation.ts'
import { LEASED_RUNS } from './rows/invocation-rows.ts'
import { takeUp } from './runs.ts'
import * as invocations from './store.ts'

const PER_SEARCH = 100

const INTERRUPTED = { code: 'server_error', message: 'The service stopped while the agent was answering.' } as const

type LeaseParts = Pick<Parts, 'live' | 'log' | 'now' | 'storage'>

/** Renews the leases of this process's runs periodically. Returns a function that stops it. */
export function keepRuns(parts: LeaseParts): () => void {
  return keepLeases(LEASED_RUNS, keeping(parts))
}

/** Stops a run whose lease was lost, because another node has ended it, runs it, or may soon do so. */
function keeping({ live, log, now, storage }: LeaseParts): LeaseUpkeep {
  return {
    db: storage.db,
    now,
    log,
    lease_ms: LEASE_MS,
    held: () => live.all().flatMap(({ abandoned, lease }) => (abandoned ? [] : (lease ?? []))),
    lost: ({ key: [request_id = ''] }) => live.find(request_id)?.abandon(),
  }
}

/**
 * Takes care of dead nodes' runs. Background runs, and runs with an Idempotency-Key, are queued again and continue
 * after their last step; the others fail. Active runs below ended ones are cancelled. Callbacks that were created while
 * their run ended are notified.
 */
export async function takeUpRuns(parts: LeaseParts & FailParts & Pick<Parts, 'telemetry'>): Promise<void> {
  const { live, storage, now, log, telemetry } = parts
  // If this process was suspended until its own leases ended, its runs must not be mistaken for a dead node's: neither
  // those that it can renew, nor those that are being stored, whose leases it doesn't know yet.
  const begun = live.all().flatMap(({ abandoned, lease, request_id }) => (abandoned || lease ? [] : request_id))
  await renewHeld(LEASED_RUNS, keeping(parts))
  const tell = (request_id: string, fate: string) => {
    telemetry.takeovers.add(1, 'run')
    log.warn({ request_id }, `a run's lease expired, so this node took it over: ${fate}`)
  }
  const lapsed = await invocations.listLapsed(storage.db, now(), { limit: PER_SEARCH, except: begun })
  const requeued = lapsed.some(goesOn) ? await takeUp(storage.db, now(), begun) : []
  for (const id of requeued) tell(id, 'queued again')
  for (const invocation of lapsed) {
    if (!goesOn(invocation) && (await fail(invocation, parts))) tell(invocation.id, 'failed')
  }
  await cancelUnwanted(parts)
  for (const { webhook_id } of await listUntold(storage.db, now())) await tellEnd(webhook_id, parts)
}

function goesOn({ background, keyed }: Invocation): boolean {
  return background || keyed
}

type FailParts = EffectParts & Pick<Parts, 'now'>

/** Returns false if another node has already ended the run. */
async function fail(interrupted: Invocation, parts: FailParts): Promise<boolean> {
  const agent = await agents.findBySeq(parts.storage.db, interrupted.agent_seq)
  return endUnownedRun(interrupted, { agent, status: 'failed', error: INTERRUPTED }, parts)
}

/**
 * Cancels the runs that ended runs have called, in case a node died between ending a run and cancelling them. Several
 * nodes can safely do this at once, even while the node that ended the run does it too.
 */
async function cancelUnwanted({ now, storage }: Pick<Parts, 'now' | 'storage'>): Promise<void> {
  for (const id of await listEndedCallers(storage.db, PER_SEARCH)) {
    await storage.transaction((db) => cancelBelow(db, id, now()))
  }
  const waiting = await listUncancelled(storage.db, PER_SEARCH)
  if (waiting.length > 0) await storage.transaction((db) => cancelThose(db, waiting, now()))
}

/** Stops a paused or deleted agent's runs on this node. Without an ID, every agent is checked. */
export async function stopUnwanted(
  { live, storage }: Pick<Parts, 'live' | 'storage'>,
  changed: string | undefined,
): Promise<void> {
  const ids = live.agents().filter((id) => changed === undefined || id === changed)
  const running = await agents.listRunning(storage.db, ids)
  for (const id of ids) if (!running.has(id)) for (const run of live.ofAgent(id)) run.cancel()
}

/** Stops runs that clients want to cancel. Without an ID, it looks up which ones. */
export async function stopCancelled(
  { live, node, storage }: Pick<Parts, 'live' | 'node' | 'storage'>,
  wanted: string | undefined,
): Promise<void> {
  if (wanted !== undefined) return live.find(wanted)?.cancel()
  if (live.all().length === 0) return
  for (const id of await invocations.listCancelRequested(storage.db, node)) live.find(id)?.cancel()
}
