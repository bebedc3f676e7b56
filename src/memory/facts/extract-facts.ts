import type { ModelAgent } from '../../agents/agent.ts'
import type { Parts } from '../../operation/parts.ts'
import { firstName } from '../../runtime/models/model.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'
import { askOwnModel } from '../own-model/ask-own-model.ts'
import { sessionJob } from '../own-model/session-job.ts'
import { type ExtractedFact, factMessage, INSTRUCTIONS, readFacts } from './fact-prompt.ts'
import {
  generationOf,
  listDue,
  listKnown,
  listNewTurns,
  OutdatedFactsError,
  type Session,
  writeFacts,
} from './fact-store.ts'

const EVERY_MS = 60_000
const IDLE_MS = 10 * 60_000
/** Sessions without a new turn for longer than this are no longer searched for facts. */
const LOOK_BACK_MS = 7 * 24 * 3_600_000
const TURNS_AT_ONCE = 60
const ENOUGH_TURNS = 40
const KNOWN_FACTS = 50
const SESSIONS_AT_ONCE = 20

type FactJobParts = Pick<Parts, 'storage' | 'runtime' | 'spending' | 'log' | 'now' | 'newId' | 'pauses'>

/**
 * A recurring job. When a conversation has been idle for a while or has become long, its agent's own model extracts
 * lasting facts. This is done for agents whose definition has `memory.facts: model`. The progress is stored together
 * with the facts, so a crash repeats nothing.
 */
export function extractFacts(parts: FactJobParts): JobHandler {
  const { storage, now } = parts
  return sessionJob(parts, {
    every_ms: EVERY_MS,
    wants: ({ memory }) => memory.facts === 'model',
    listDue: ({ seq }) => {
      const time = now()
      const due = { since: time - LOOK_BACK_MS, idle: time - IDLE_MS, turns: ENOUGH_TURNS, now: time }
      return listDue(storage.db, seq, { ...due, limit: SESSIONS_AT_ONCE })
    },
    work: (agent, session, signal) => extract(parts, agent, session, signal),
    failed: 'facts were not extracted',
    putOff: 'facts_after',
  })
}

/** Extracts facts from a session. Returns why that failed, or undefined. */
async function extract(
  parts: FactJobParts,
  agent: ModelAgent,
  session: Session,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { storage, log, now, newId } = parts
  const generation = await generationOf(storage.db, session)
  const { turns, through } = await listNewTurns(storage.db, session, TURNS_AT_ONCE)
  const time = now()
  const write = (facts: ExtractedFact[]) =>
    storage.transaction((db) =>
      writeFacts(db, session, {
        facts,
        turns,
        through,
        generation,
        model: firstName(agent.model),
        time,
        newId: () => newId('mem', time),
      }),
    )
  if (turns.length === 0) {
    await write([])
    return undefined
  }
  const known = await listKnown(storage.db, session, KNOWN_FACTS)
  const { user_id } = session
  const asked = { purpose: 'facts' as const, user_id, instructions: INSTRUCTIONS, message: factMessage(turns, known) }
  const outcome = await askOwnModel(parts, agent, asked, signal)
  if (outcome.status === 'failed') return outcome.message
  // Work that a pause or the service's stop has interrupted is done again later.
  if (outcome.status !== 'completed') return undefined
  const facts = readFacts(outcome.response, turns, known)
  if (!facts) return 'the model did not answer with facts'
  try {
    await write(facts)
  } catch (error) {
    // The next run reads the remaining memories.
    if (error instanceof OutdatedFactsError) return undefined
    throw error
  }
  log.info({ agent: agent.id, facts: facts.length, tokens: outcome.usage.total_tokens }, 'facts were extracted')
  return undefined
}
