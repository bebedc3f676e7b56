import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import type { Parts } from '../../operation/parts.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import type { RunOutcome } from '../../runtime/run-outcome.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'
import { readSummary, SUMMARIZE, summaryMessage, turnsWithin } from './summary-prompt.ts'
import { type DueSession, listDueSessions, listTurnsAfter, lockSession, putSummary } from './summary-store.ts'

const EVERY_MS = 30_000
/** Sessions without a new turn for longer than this are left alone. */
const LOOK_BACK_MS = 7 * 24 * 3_600_000
const DEFAULT_TURNS = 10
const TURNS_AT_ONCE = 60
const SESSIONS_AT_ONCE = 100
/** After a failure, how long the model is not asked again about the session. */
const PAUSE_MS = 3_600_000
/** How many characters of turns the model is shown at once. If that is too long for it, it is shown fewer. */
const SIZES = [24_000, 6_000, 1_500]

type Needed = Pick<Parts, 'storage' | 'runtime' | 'telemetry' | 'log' | 'now' | 'newId'>

/**
 * Recurring. When a session has new turns, its agent's own model brings the summary up to date. It does so for agents
 * with `memory.summarize` in their definition. The summary is stored together with what it covers, so that a crash
 * repeats at most one question to the model.
 */
export function keepSummaries(parts: Needed): JobHandler {
  const { storage, log, now } = parts
  const paused = new Map<string, number>()
  return {
    concurrency: 1,
    lease_ms: 60_000,
    every_ms: EVERY_MS,
    async run(_payload, { signal }) {
      for (const [key, until] of paused) if (until <= now()) paused.delete(key)
      for (const agent of await agents.listWithMemory(storage.db, ({ summarize }) => summarize !== false)) {
        // The built-in models do not read: there is nothing that they could summarize.
        if (agent.status !== 'running' || agent.model.startsWith('builtin/')) continue
        const due = { turns: turnsBetween(agent), since: now() - LOOK_BACK_MS, limit: SESSIONS_AT_ONCE }
        for (const session of await listDueSessions(storage.db, agent.seq, due)) {
          if (signal.aborted) return
          if (paused.has(keyOf(session))) continue
          const problem = await bringUpToDate(parts, agent, session, signal)
          if (problem === undefined) continue
          paused.set(keyOf(session), now() + PAUSE_MS)
          log.warn({ agent: agent.id, problem }, 'a session was not summarized, and will be tried again in an hour')
        }
      }
    },
  }
}

function turnsBetween({ memory: { summarize } }: Agent): number {
  return typeof summarize === 'number' ? summarize : DEFAULT_TURNS
}

function keyOf({ agent_seq, user_id, session_id }: DueSession): string {
  return JSON.stringify([agent_seq, user_id, session_id])
}

/** Lets the model read on until few turns are left. Returns why it failed, or undefined. */
async function bringUpToDate(
  parts: Needed,
  agent: Agent,
  due: DueSession,
  signal: AbortSignal,
): Promise<string | undefined> {
  let session: DueSession | undefined = due
  while (session && session.said - session.turns >= turnsBetween(agent) && !signal.aborted) {
    const renewed: DueSession | string | undefined = await renew(parts, agent, session, signal)
    if (typeof renewed === 'string') return renewed
    session = renewed
  }
  return undefined
}

/** Returns the session with its new summary, or why it failed. Undefined if it was cancelled, or changed meanwhile. */
async function renew(parts: Needed, agent: Agent, session: DueSession, signal: AbortSignal) {
  const fresh = await listTurnsAfter(parts.storage.db, session, TURNS_AT_ONCE)
  if (fresh.length === 0) return undefined
  let { tokens_used } = session
  for (const characters of SIZES) {
    const turns = turnsWithin(fresh, characters)
    const outcome = await ask(parts, agent, summaryMessage(session.content, turns, characters), signal)
    if (outcome.status !== 'completed' && outcome.status !== 'failed') return undefined
    tokens_used += outcome.usage.total_tokens
    if (outcome.status === 'failed') {
      if (outcome.reason === 'too long' && characters !== SIZES.at(-1)) continue
      return outcome.message
    }
    const content = readSummary(outcome.response)
    if (content === undefined) return 'the model said nothing'
    const through_seq = turns.at(-1)?.seq ?? session.through_seq
    const renewed = { ...session, content, turns: session.turns + turns.length, through_seq, tokens_used }
    if (!(await write(parts, agent, renewed))) return undefined
    const tokens = tokens_used - session.tokens_used
    parts.log.info({ agent: agent.id, turns: turns.length, tokens }, 'a session was summarized')
    return renewed
  }
  return undefined
}

async function ask(
  { runtime, telemetry, newId, now }: Needed,
  agent: Agent,
  message: string,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const cancellation = new Cancellation()
  const cancel = () => cancellation.cancel()
  signal.addEventListener('abort', cancel)
  const outcome = await runtime.run({
    request_id: newId('req', now()),
    attempt: 1,
    agent_id: agent.id,
    agent: { ...agent, instructions: SUMMARIZE, tools: [], temperature: null },
    message,
    context: {},
    history: [],
    recalled: [],
    cancellation,
  })
  signal.removeEventListener('abort', cancel)
  telemetry.tokens.add(outcome.usage.input_tokens, 'in')
  telemetry.tokens.add(outcome.usage.output_tokens, 'out')
  return outcome
}

/** What was removed or changed while the model read must not come back in a summary: then nothing is written. */
function write({ storage, now }: Needed, { model }: Agent, session: DueSession): Promise<boolean> {
  const { generation, content, turns, through_seq, tokens_used } = session
  return storage.transaction(async (db) => {
    const held = await lockSession(db, session)
    if (held?.generation !== generation) return false
    const written = { content: content ?? '', turns, through_seq, model, tokens_used, updated_at: now() }
    await putSummary(db, session, written)
    return true
  })
}
