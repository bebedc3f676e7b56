import type { Given, GivenTurn } from '../../runtime/given.ts'
import type { Database } from '../../storage/database.ts'
import { listByIds } from '../find-invocations.ts'
import type { Invocation } from '../invocation.ts'
import * as invocations from '../store.ts'
import { charactersOf, MAX_EARLIER } from './earlier-size.ts'
import { idsIn, restoreRounds, withRounds } from './restore-rounds.ts'

/** How many invocations a conversation may go back. */
const MAX_CHAIN = 100

/** What the run is shown: with the conversation that it continues, and with what the agent's own tools did in it. */
export async function resolveGiven(given: Given, agent_seq: number, db: Database): Promise<Given> {
  const ids = idsIn(given)
  if (ids.length === 0) return given
  const earlier = new Map((await listByIds(db, agent_seq, ids, MAX_EARLIER)).map((one) => [one.id, one]))
  const chain = await listChain(db, agent_seq, earlier.get(given.previous ?? ''))
  for (const one of chain) earlier.set(one.id, one)
  // The invocations of the chain name others, which their actors were allowed to see.
  const named = new Set(chain.flatMap((one) => (one.given ? idsIn(one.given) : [])))
  const missing = [...named].filter((id) => !earlier.has(id))
  for (const one of await listByIds(db, agent_seq, missing, MAX_EARLIER)) earlier.set(one.id, one)

  const own = restore(given, earlier)
  if (given.previous === undefined) return { ...given, ...own }
  const isAnswered = (one: Invocation) => one === chain.at(-1) && !given.goes_on
  const history = chain.flatMap((one) => turnsOf(one, isAnswered(one), earlier))
  return { ...given, ...own, history: [...history, ...(own.history ?? [])] }
}

/** Puts what earlier invocations said and did where the caller only names it. */
function restore(given: Given, earlier: ReadonlyMap<string, Invocation>): Pick<Given, 'history' | 'rounds'> {
  const restored = withRounds(given, (rounds) => restoreRounds(rounds, earlier))
  if (restored.history) restored.history = restored.history.map((turn) => withAnswer(turn, earlier))
  return restored
}

/** A turn may stand for what an earlier invocation answered. */
function withAnswer(turn: GivenTurn, earlier: ReadonlyMap<string, Invocation>): GivenTurn {
  return turn.of === undefined ? turn : { ...turn, content: earlier.get(turn.of)?.response ?? '' }
}

/** The conversation that ends with this invocation, oldest first. What is too far back is left out. */
async function listChain(db: Database, agent_seq: number, last: Invocation | undefined): Promise<Invocation[]> {
  const chain: Invocation[] = []
  let characters = 0
  for (let next = last; next && chain.length < MAX_CHAIN && characters < MAX_EARLIER; ) {
    chain.unshift(next)
    const { previous } = next.given ?? {}
    characters += charactersOf(next)
    next = previous === undefined ? undefined : await invocations.find(db, agent_seq, previous)
  }
  return chain
}

/**
 * What one invocation adds to the conversation. If it ended with calls, what it said is part of the rounds that answer
 * them. Its message is told again by the invocation that goes on with it, unless a new message came instead.
 */
function turnsOf(
  { given, message, response, rounds: left }: Invocation,
  isAnswered: boolean,
  earlier: ReadonlyMap<string, Invocation>,
): GivenTurn[] {
  const { history = [], rounds } = given ? restore(given, earlier) : {}
  const asked: GivenTurn = { role: 'user', content: message }
  if (left) return isAnswered ? [...history, asked] : history
  return [...history, asked, { role: 'assistant', content: response ?? '', ...(rounds && { rounds }) }]
}
