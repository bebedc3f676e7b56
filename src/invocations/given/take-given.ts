import type { Definition } from '../../agents/definition.ts'
import { ApiError, invalid } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
import { MAX_EARLIER } from '../../operation/earlier-texts.ts'
import { notShown } from '../../runtime/attachments/attachment.ts'
import type { Given, GivenCall, GivenInput, GivenRound } from '../../runtime/given.ts'
import type { Database } from '../../storage/database.ts'
import { type Invocation, isFinal } from '../invocation.ts'
import { requireReach } from '../invocation-in-scope.ts'
import * as invocations from '../store.ts'
import { listNamed, type NamedInvocation } from './earlier-invocations.ts'
import { idsIn, lastHanded, withRounds } from './restore-rounds.ts'

/**
 * Checks what the caller sends before it is stored: the caller can continue only what the actor may see. If an earlier
 * invocation is hidden or deleted, only what the caller says about its call is known.
 */
export async function takeGiven(
  given: Given,
  { agent_seq, message, attachments, context }: UserMessage & Pick<Invocation, 'agent_seq' | 'context'>,
  { actor, db }: Needs<'actor' | 'db'>,
): Promise<UserMessage & Pick<Invocation, 'given' | 'context'>> {
  const said = { message, attachments }
  const ids = idsIn(given)
  if (ids.length === 0) return { given, context, ...said }
  const found = takenUp(await listNamed(db, agent_seq, ids))
  const seen = new Map(found.filter((one) => mayContinue(actor, one, context.user_id)).map((one) => [one.id, one]))
  if (found.some(({ handed, bytes }) => handed && bytes > MAX_EARLIER)) {
    throw invalid({
      field: 'input',
      error: `continues a conversation of more than ${MAX_EARLIER} bytes; start a new one`,
    })
  }
  const unknown = given.history?.find(({ of }) => of !== undefined && !seen.has(of))
  if (unknown) throw invalid({ field: 'input', error: "refers to an item that doesn't exist" })
  const taken = { ...given, ...withRounds(given, (rounds) => knownOf(rounds, seen)) }
  const kept = { given: taken, context: withUser(context, seen.values()) }
  if (given.previous === undefined) return { ...kept, ...said }
  const previous = requirePrevious(given, seen)
  return { ...kept, ...(given.goes_on ? await saidIn(db, agent_seq, previous.id) : said) }
}

/**
 * What the user said, with its files. A run that continues after the caller's tool repeats the text of the run before.
 */
type UserMessage = Pick<Invocation, 'message' | 'attachments'>

async function saidIn(db: Database, agent_seq: number, id: string): Promise<UserMessage> {
  const { message, attachments } = await invocations.get(db, agent_seq, id)
  return { message, attachments: attachments && attachments.map(notShown) }
}

/**
 * A conversation keeps its first user even if a later request names none. Otherwise, another user could continue from
 * there.
 */
function withUser(context: Invocation['context'], earlier: Iterable<NamedInvocation>): Invocation['context'] {
  const users = new Set([context.user_id, ...Array.from(earlier, ({ user_id }) => user_id)])
  users.delete(undefined)
  const [user_id, another] = users
  if (another !== undefined) throw invalid({ field: 'input', error: 'refers to conversations of several users' })
  return user_id === undefined ? context : { ...context, user_id }
}

/**
 * The earlier invocations that one run can load. The rest are treated as unknown, so a request that refers to them
 * fails instead of silently losing them.
 */
function takenUp(latest: readonly NamedInvocation[]): NamedInvocation[] {
  let left = MAX_EARLIER
  return latest.filter(({ bytes }) => {
    const isTaken = left > 0
    left -= bytes
    return isTaken
  })
}

/** A key that acts for many users must not show one user what another said. */
function mayContinue(
  actor: Actor,
  { id, user_id, created_by, erased_at }: NamedInvocation,
  asking: string | undefined,
): boolean {
  if (erased_at !== null) return false
  if (user_id !== undefined && asking !== undefined && user_id !== asking) return false
  try {
    requireReach(actor, 'read', id, { user_id, created_by })
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

function requirePrevious(
  { previous = '', goes_on }: Given,
  seen: ReadonlyMap<string, NamedInvocation>,
): NamedInvocation {
  const found = seen.get(previous)
  const field = 'previous_response_id'
  if (!found) throw invalid({ field, error: 'is not the ID of a response by this model, or you have no access to it' })
  if (!isFinal(found)) throw invalid({ field, error: 'is the ID of a response that is still in progress' })
  if (goes_on && !found.handed) {
    throw invalid({ field: 'input', error: "contains a tool result, but the previous response didn't call a tool" })
  }
  if (!goes_on && found.handed) {
    throw invalid({ field: 'input', error: 'has no result for the tool call at the end of the previous response' })
  }
  return found
}

/**
 * Removes the reference to the invocation that handed over a call if the actor may not see that invocation. Then the
 * call's name is unknown, so a call without a name is refused unless a later round restores it.
 */
function knownOf(rounds: readonly GivenRound[], seen: ReadonlyMap<string, NamedInvocation>): GivenRound[] {
  const isSeen = ({ of }: GivenCall) => of !== undefined && seen.get(of.request_id)?.handed === true
  const last = lastHanded(rounds)
  const isRestored = rounds[last]?.calls.some(isSeen)
  const knownCall = (call: GivenCall, position: number): GivenCall => {
    if (isSeen(call)) return call
    const { of: _of, ...told } = call
    if (told.name !== '' || (isRestored && position < last)) return told
    throw invalid({ field: 'input', error: `contains a result for the call ${told.id}, which doesn't exist` })
  }
  return rounds.map((round, i) => ({ ...round, calls: round.calls.map((call) => knownCall(call, i)) }))
}

/** If the caller requires a tool call, checks that the tool exists. */
export function requireTools({ tool_choice, tools: handed = [] }: GivenInput, definition: Definition): void {
  if (tool_choice === undefined || tool_choice === 'auto' || tool_choice === 'none') return
  const tools = definition.tools
  // Only the MCP server knows the names of its tools.
  if (tools.some(({ type }) => type === 'mcp')) return
  const names = [...handed, ...tools].flatMap((tool) => ('name' in tool ? tool.name : []))
  if (tool_choice === 'required') {
    if (names.length === 0) throw invalid({ field: 'tool_choice', error: 'requires `tools`' })
  } else if (!names.includes(tool_choice.name)) {
    throw invalid({ field: 'tool_choice', error: `names ${tool_choice.name}, which is not in \`tools\`` })
  }
}
