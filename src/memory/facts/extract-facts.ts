import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import type { Parts } from '../../operation/parts.ts'
import { Cancellation } from '../../runtime/deadline.ts'
import type { JobHandler } from '../../storage/jobs/job-handler.ts'
import { type FoundFact, factMessage, INSTRUCTIONS, readFacts } from './fact-prompt.ts'
import { listDue, listKnown, listNewTurns, type Session, writeFacts } from './fact-store.ts'

const EVERY_MS = 60_000
const IDLE_MS = 10 * 60_000
/** Sessions without a new turn for longer than this are not searched for facts any more. */
const LOOK_BACK_MS = 7 * 24 * 3_600_000
const TURNS_AT_ONCE = 60
const ENOUGH_TURNS = 40
const KNOWN_FACTS = 50
const SESSIONS_AT_ONCE = 20
/** After a failure, how long the model is not asked again. */
const PAUSE_MS = 3_600_000

type Needed = Pick<Parts, 'storage' | 'runtime' | 'log' | 'now' | 'newId'>

/**
 * Recurring. When a conversation has been silent for a while, or has become long, its agent's own model extracts
 * lasting facts. It does so for agents with `memory.facts: model` in their definition. The progress is stored together
 * with the facts, so that a crash repeats nothing.
 */
export function extractFacts(parts: Needed): JobHandler {
  const { storage, log, now } = parts
  const paused = new Map<string, number>()
  return {
    concurrency: 1,
    lease_ms: 60_000,
    every_ms: EVERY_MS,
    async run(_payload, { signal }) {
      const due = { since: now() - LOOK_BACK_MS, idle: now() - IDLE_MS, turns: ENOUGH_TURNS, limit: SESSIONS_AT_ONCE }
      for (const agent of await agents.listWithMemory(storage.db, ({ facts }) => facts === 'model')) {
        for (const session of await listDue(storage.db, agent.seq, due)) {
          if (signal.aborted) return
          const key = JSON.stringify([session.agent_seq, session.user_id, session.session_id])
          if ((paused.get(key) ?? 0) > now()) continue
          paused.delete(key)
          const problem = await extract(parts, agent, session, signal)
          if (problem === undefined) continue
          paused.set(key, now() + PAUSE_MS)
          log.warn({ agent: agent.id, problem }, 'facts were not extracted, and will be tried again in an hour')
        }
      }
    },
  }
}

/** Returns why it failed, or undefined. */
async function extract(
  { storage, runtime, log, now, newId }: Needed,
  agent: Agent,
  session: Session,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { turns, through } = await listNewTurns(storage.db, session, TURNS_AT_ONCE)
  const time = now()
  const write = (facts: FoundFact[]) =>
    storage.transaction((db) =>
      writeFacts(db, session, { facts, through, model: agent.model, time, newId: () => newId('mem', time) }),
    )
  if (turns.length === 0) {
    await write([])
    return undefined
  }
  const known = await listKnown(storage.db, session, KNOWN_FACTS)
  const cancellation = new Cancellation()
  const cancel = () => cancellation.cancel()
  signal.addEventListener('abort', cancel)
  const outcome = await runtime.run({
    request_id: newId('req', time),
    attempt: 1,
    agent_id: agent.id,
    agent: { ...agent, instructions: INSTRUCTIONS, tools: [], temperature: null },
    message: factMessage(turns, known),
    context: {},
    history: [],
    recalled: [],
    cancellation,
  })
  signal.removeEventListener('abort', cancel)
  if (outcome.status === 'cancelled') return undefined
  if (outcome.status === 'failed') return outcome.message
  const facts = readFacts(outcome.response, turns, known)
  if (!facts) return 'the model did not answer with facts'
  await write(facts)
  log.info({ agent: agent.id, facts: facts.length, tokens: outcome.usage.total_tokens }, 'facts were extracted')
  return undefined
}
