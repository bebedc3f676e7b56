import type { Agent } from '../../agents/agent.ts'
import type { Parts } from '../../operation/parts.ts'
import { readable } from '../../storage/damaged-rows.ts'
import { endWith, type Invocation, sessionKey } from '../invocation.ts'
import { withKept } from '../steps/kept-steps.ts'
import { listKeptRows, logsOf, NOTHING_KEPT, readKept } from '../steps/step-store.ts'
import { endUnowned } from '../store.ts'
import { announceTurns } from '../turns/turn-store.ts'
import { type EffectParts, effects } from './effects.ts'

/** How the run ends, and its agent, if that still exists and can receive the event. */
type UnownedEnd = {
  agent: Agent | undefined
  status: 'failed' | 'cancelled'
  error: NonNullable<Invocation['error']>
}

/**
 * Ends a run that no node runs, keeping everything that it has done so far, and sends its events immediately. Returns
 * false and writes nothing if a node is running it after all, or has run it in the meantime.
 */
export async function endUnownedRun(
  invocation: Invocation,
  { agent, status, error }: UnownedEnd,
  parts: EffectParts & Pick<Parts, 'now'>,
): Promise<boolean> {
  const { id } = invocation
  const { events, now, storage } = parts
  const rows = (await listKeptRows(storage.db, [id])).get(id) ?? []
  // A run with damaged steps must still end, so it ends without them.
  const { steps } = readable(storage.db, [rows], readKept)[0] ?? NOTHING_KEPT
  const ended = endWith(withKept(invocation, steps), status, error, now())
  const writes = agent ? await effects(ended, agent, agent, logsOf(steps), parts) : []
  const ending = { was: invocation, kept: rows.length, invocation: ended, effects: writes }
  const hasSession = invocation.context.session_id !== undefined
  const isEnded = await storage.transaction(async (db) => {
    const done = await endUnowned(db, ending, now())
    // The run may have had the turn of its session.
    if (done && hasSession) await announceTurns(db, [{ session_key: sessionKey(invocation) }])
    return done
  })
  if (isEnded) events.wake(writes)
  return isEnded
}
