import type { ModelAgent } from '../../agents/agent.ts'
import type { Parts } from '../../operation/parts.ts'
import { firstName } from '../../runtime/models/model.ts'
import { isBuiltin } from '../../runtime/models/registry.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'
import { askOwnModel } from '../own-model/ask-own-model.ts'
import { sessionJob } from '../own-model/session-job.ts'
import { readSummary, SUMMARIZE, summaryMessage, turnsWithin } from './summary-prompt.ts'
import { type DueSession, listDueSessions, listTurnsAfter, lockSession, putSummary } from './summary-store.ts'

const EVERY_MS = 30_000
/** Sessions without a new turn for longer than this are ignored. */
const LOOK_BACK_MS = 7 * 24 * 3_600_000
const DEFAULT_TURNS = 10
const TURNS_AT_ONCE = 60
const SESSIONS_AT_ONCE = 100
/** How many characters of turns the model is shown at once. If that is too much for the model, it is shown fewer. */
const SIZES = [24_000, 6_000, 1_500]

type SummaryJobParts = Pick<Parts, 'storage' | 'runtime' | 'spending' | 'log' | 'now' | 'newId' | 'pauses'>

/**
 * A recurring job. When a session has new turns, its agent's own model updates the summary. This is done for agents
 * whose definition has `memory.summarize`. The summary is stored together with what it covers, so a crash repeats at
 * most one request to the model.
 */
export function keepSummaries(parts: SummaryJobParts): JobHandler {
  const { storage, now } = parts
  return sessionJob(parts, {
    every_ms: EVERY_MS,
    // Built-in models can't summarize.
    wants: ({ memory, model }) => memory.summarize !== false && !isBuiltin(firstName(model)),
    listDue: (agent) => {
      const due = { turns: turnsBetween(agent), since: now() - LOOK_BACK_MS, now: now(), limit: SESSIONS_AT_ONCE }
      return listDueSessions(storage.db, agent.seq, due)
    },
    work: (agent, session, signal) => bringUpToDate(parts, agent, session, signal),
    failed: 'a session was not summarized',
    putOff: 'summary_after',
  })
}

function turnsBetween({ memory: { summarize } }: ModelAgent): number {
  return typeof summarize === 'number' ? summarize : DEFAULT_TURNS
}

/** Has the model read turns until few are left. Returns why this failed, or undefined. */
async function bringUpToDate(
  parts: SummaryJobParts,
  agent: ModelAgent,
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

/**
 * Returns the session with its new summary, or why this failed. Undefined if it was cancelled, or changed in the
 * meantime.
 */
async function renew(parts: SummaryJobParts, agent: ModelAgent, session: DueSession, signal: AbortSignal) {
  const fresh = await listTurnsAfter(parts.storage.db, session, TURNS_AT_ONCE)
  if (fresh.length === 0) return undefined
  let { tokens_used } = session
  for (const characters of SIZES) {
    const turns = turnsWithin(fresh, characters)
    const message = summaryMessage(session.content, turns, characters)
    const asked = { purpose: 'summary' as const, user_id: session.user_id, instructions: SUMMARIZE, message }
    const outcome = await askOwnModel(parts, agent, asked, signal)
    if (outcome.status !== 'completed' && outcome.status !== 'failed') return undefined
    tokens_used += outcome.usage.total_tokens
    if (outcome.status === 'failed') {
      if (outcome.reason === 'too long' && characters !== SIZES.at(-1)) continue
      return outcome.message
    }
    const content = readSummary(outcome.response)
    if (content === undefined) return 'the model returned no text'
    const through_seq = turns.at(-1)?.seq ?? session.through_seq
    const renewed = { ...session, content, turns: session.turns + turns.length, through_seq, tokens_used }
    if (!(await write(parts, agent, renewed))) return undefined
    const tokens = tokens_used - session.tokens_used
    parts.log.info({ agent: agent.id, turns: turns.length, tokens }, 'a session was summarized')
    return renewed
  }
  return undefined
}

/**
 * Writes the summary, unless something was removed or changed while the model was reading, because that must not come
 * back in a summary.
 */
function write({ storage, now }: SummaryJobParts, { model }: ModelAgent, session: DueSession): Promise<boolean> {
  const { generation, content, turns, through_seq, tokens_used } = session
  return storage.transaction(async (db) => {
    const held = await lockSession(db, session)
    if (held?.generation !== generation) return false
    const written = {
      content: content ?? '',
      turns,
      through_seq,
      model: firstName(model),
      tokens_used,
      updated_at: now(),
    }
    await putSummary(db, session, written)
    return true
  })
}
