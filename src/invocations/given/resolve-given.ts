import type { Agent } from '../../agents/agent.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { EarlierTexts, ReleasableTexts } from '../../operation/earlier-texts.ts'
import type { Given, GivenTurn } from '../../runtime/given.ts'
import type { Database } from '../../storage/database.ts'
import type { Invocation } from '../invocation.ts'
import { EarlierInvocations } from './earlier-invocations.ts'
import { idsIn, restoreRounds, withRounds } from './restore-rounds.ts'

/** How many invocations a conversation may go back. */
const MAX_CHAIN = 100

type Source = { db: Database; texts: EarlierTexts; isPatient?: boolean; signal?: AbortSignal }

/**
 * What the caller gave the run, including the conversation that it continues and what the agent's own tools did in it.
 * Undefined if the service has no memory free for it now, or the signal was aborted first.
 */
export async function resolveGiven(
  given: Given,
  { seq, project_id }: Pick<Agent, 'seq' | 'project_id'>,
  { db, texts, isPatient = false, signal }: Source,
): Promise<ReleasableTexts<Given> | undefined> {
  if (idsIn(given).length === 0) return { value: given, release() {} }
  const read = async () => {
    const earlier = new EarlierInvocations(db, seq)
    return { value: await withEarlier(given, earlier), bytes: earlier.bytes }
  }
  return texts.take(read, { lane: laneKey(project_id, seq), isPatient, signal })
}

async function withEarlier(given: Given, earlier: EarlierInvocations): Promise<Given> {
  const chain = await listChain(earlier, given.previous)
  await earlier.read(idsIn(given))
  // These invocations refer to others, which their own actors were allowed to see.
  await earlier.read(new Set(chain.flatMap((one) => (one.given ? idsIn(one.given) : []))))

  const { found } = earlier
  const own = restore(given, found)
  if (given.previous === undefined) return { ...given, ...own }
  const isAnswered = (one: Invocation) => one === chain.at(-1) && !given.goes_on
  const history = chain.flatMap((one) => turnsOf(one, isAnswered(one), found))
  return { ...given, ...own, history: [...history, ...(own.history ?? [])] }
}

/** Inserts what earlier invocations said and did wherever the caller only refers to it. */
function restore(given: Given, earlier: ReadonlyMap<string, Invocation>): Pick<Given, 'history' | 'rounds'> {
  const restored = withRounds(given, (rounds) => restoreRounds(rounds, earlier))
  if (restored.history) restored.history = restored.history.map((turn) => withAnswer(turn, earlier))
  return restored
}

/** A turn may refer to the answer of an earlier invocation. */
function withAnswer(turn: GivenTurn, earlier: ReadonlyMap<string, Invocation>): GivenTurn {
  return turn.of === undefined ? turn : { ...turn, content: earlier.get(turn.of)?.response ?? '' }
}

/** The conversation that ends with this invocation, oldest first. Turns that are too far back are left out. */
async function listChain(earlier: EarlierInvocations, last: string | undefined): Promise<Invocation[]> {
  const chain: Invocation[] = []
  for (let next = await earlier.find(last); next && chain.length < MAX_CHAIN; ) {
    chain.unshift(next)
    next = await earlier.find(next.given?.previous)
  }
  return chain
}

/**
 * What one invocation adds to the conversation. If it ended with tool calls, its text is part of the rounds that answer
 * them, and the invocation that continues it repeats its message, unless the user sent a new one instead.
 */
function turnsOf(
  { given, message, attachments, response, rounds: left }: Invocation,
  isAnswered: boolean,
  earlier: ReadonlyMap<string, Invocation>,
): GivenTurn[] {
  const { history = [], rounds } = given ? restore(given, earlier) : {}
  const asked: GivenTurn = { role: 'user', content: message, ...(attachments && { attachments }) }
  if (left) return isAnswered ? [...history, asked] : history
  return [...history, asked, { role: 'assistant', content: response ?? '', ...(rounds && { rounds }) }]
}
