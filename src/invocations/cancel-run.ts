import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../agents/agent.ts'
import { conflict, unavailable } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import type { EffectParts } from './effects/effects.ts'
import { endUnownedRun } from './effects/end-unowned-run.ts'
import { CANCELLED, type Invocation, isFinal } from './invocation.ts'
import * as invocations from './store.ts'

const PATIENCE_MS = 30_000
const LOOK_AGAIN_MS = 100

export type CancelParts = EffectParts & Pick<Parts, 'live' | 'now'>

/**
 * Cancels a run on any node, with the runs that it has called. Resolves with its receipt once its own work has stopped.
 */
export async function cancelRun(agent: Agent, request_id: string, parts: CancelParts): Promise<Invocation> {
  const { live, now, storage } = parts
  const { db } = storage
  const here = live.find(request_id)
  here?.cancel()
  await here?.ended

  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const invocation = await invocations.get(db, agent.seq, request_id)
    if (invocation.status === 'cancelled') return invocation
    if (isFinal(invocation)) throw conflict(`The invocation has already ${invocation.status}.`)
    if (await endUnownedRun(invocation, { agent, status: 'cancelled', error: CANCELLED }, parts)) continue
    await storage.transaction((trx) => invocations.requestCancel(trx, invocation.id, now()))
    if (performance.now() > deadline)
      throw unavailable("The node that runs this invocation isn't responding. Try again shortly.")
    await delay(LOOK_AGAIN_MS)
  }
}
