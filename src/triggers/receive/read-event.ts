import type { ChatThread } from '../../answers/conversation-answer.ts'
import { ApiError } from '../../errors.ts'
import { InvocationContext } from '../../invocations/invocation.ts'
import { isObject } from '../../lib/json.ts'
import { plainIssue } from '../../lib/text/plain-issue.ts'
import { sha256 } from '../../security/digest.ts'
import { CHANNELS } from '../channels/call-platform.ts'
import type { ChannelKind, IgnoredMessage } from '../channels/channel.ts'
import { prefixOf, type Trigger } from '../trigger.ts'
import { FilledTooLong, fillTemplate, MAX_FILLED, type Payload, passes, readSource } from './payload.ts'

/** What a payload asks for. */
export type ReadEvent = {
  isWanted: boolean
  /** The SHA-256 of what names the event. Null if it may arrive any number of times. */
  event_key: string | null
  message: string
  user_id: string | null
  session_id: string | null
  /** Where the answer is sent. Null if it isn't sent. */
  conversation: ChatThread | null
  /** Why a message isn't wanted, if it isn't because of the filter. */
  ignored?: { code: string; reason: string }
  /** What a person wrote in a conversation. */
  text?: string
  /** The address of the person who wrote it, if everybody can write. */
  sender?: string | undefined
}

/** Where providers write an ID of each event into the body that they sign. */
const EVENT_ID: Partial<Record<Trigger['verify']['scheme'], string>> = {
  stripe: '/id',
  slack: '/event_id',
  telegram: '/update_id',
}

type EventReader = Pick<
  Trigger,
  | 'dedupe_from'
  | 'email'
  | 'filter'
  | 'kind'
  | 'message'
  | 'reply'
  | 'session_from'
  | 'user_from'
  | 'user_prefix'
  | 'verify'
>

/**
 * Reads what a payload asks for. `proven` names the event as far as its signature says. Throws `invalid_request` if no
 * run can be started with it.
 */
export function readEvent(trigger: EventReader, payload: Payload, proven: string | undefined): ReadEvent {
  const isWanted = passes(trigger.filter, payload)
  const unread = { isWanted, event_key: null, message: '', user_id: null, session_id: null, conversation: null }
  if (!isWanted) return unread
  const { kind } = trigger
  if (kind !== 'webhook') {
    const read = readMessage(kind, trigger, payload)
    return read && !('ignored' in read) ? read : { ...unread, ...read, isWanted: false }
  }
  const user = readId(trigger, 'user_from', payload)
  const user_id = user === null ? null : prefixOf(trigger) + user
  return writtenBy(user_id, () => {
    const event_key = eventKey(trigger, payload, proven)
    const session_id = readId(trigger, 'session_from', payload)
    requireContext({ ...(user_id !== null && { user_id }), ...(session_id !== null && { session_id }) })
    return { ...unread, event_key, message: messageOf(trigger, payload), user_id, session_id }
  })
}

/** No run can start with the payload of this user. */
export class UnusableEvent extends ApiError {
  readonly user_id: string | null

  constructor(message: string, user_id: string | null) {
    super('invalid_request', message)
    this.user_id = user_id
  }
}

/** Adds the user to what is wrong with their payload, so that its delivery is found when the user is erased. */
function writtenBy(user_id: string | null, read: () => ReadEvent): ReadEvent {
  try {
    return read()
  } catch (error) {
    throw error instanceof ApiError ? new UnusableEvent(error.message, user_id) : error
  }
}

/** What a person wrote in a conversation. Undefined for all other events, which the trigger ignores. */
function readMessage(
  kind: ChannelKind,
  trigger: EventReader,
  payload: Payload,
): ReadEvent | IgnoredMessage | undefined {
  const written = CHANNELS[kind].read(payload, trigger)
  if (!written || 'ignored' in written) return written
  if (written.text === '') return undefined
  const { text, user, conversation, event, sender } = written
  const user_id = prefixOf(trigger) + user
  const session_id = conversation.key
  return writtenBy(user_id, () => {
    requireContext({ user_id, session_id })
    return {
      isWanted: true,
      event_key: sha256(`message ${event}`),
      message: messageOf(trigger, { ...payload, text }),
      user_id,
      session_id,
      conversation: trigger.reply === false ? null : conversation,
      text,
      sender,
    }
  })
}

function requireContext(context: { user_id?: string; session_id?: string }): void {
  const problem = InvocationContext.safeParse(context, { error: (issue) => plainIssue(issue) }).error?.issues[0]
  if (problem) throw unusable(`The ${String(problem.path[0])} ${problem.message}.`)
}

function eventKey({ dedupe_from, verify }: EventReader, payload: Payload, proven: string | undefined): string | null {
  if (dedupe_from !== null) {
    const named = sourceIn('dedupe_from', dedupe_from, payload)
    if (named === undefined) throw unusable(`dedupe_from (${dedupe_from}) finds nothing in the payload.`)
    return sha256(`named ${named}`)
  }
  const pointer = EVENT_ID[verify.scheme]
  const id = pointer === undefined ? undefined : readSource(pointer, payload)
  return id === undefined ? (proven ?? null) : sha256(`id ${id}`)
}

function readId(trigger: EventReader, field: 'user_from' | 'session_from', payload: Payload): string | null {
  const { [field]: source } = trigger
  if (source === null) return null
  const found = sourceIn(field, source, payload)
  // Without its user, the run would use a memory that isn't theirs.
  if (found === undefined) throw unusable(`${field} (${source}) finds nothing in the payload.`)
  return found
}

/** What a source names. Throws `invalid_request` if that is too long to be read. */
function sourceIn(field: string, source: string, payload: Payload): string | undefined {
  try {
    return readSource(source, payload)
  } catch (error) {
    if (!(error instanceof FilledTooLong)) throw error
    throw unusable(`${field} (${source}) finds more than ${MAX_FILLED} characters in the payload.`)
  }
}

function messageOf({ message: template }: EventReader, payload: Payload): string {
  let message: string
  try {
    message = fillTemplate(template, payload)
  } catch (error) {
    if (!(error instanceof FilledTooLong)) throw error
    throw tooLong()
  }
  if (message.length > MAX_FILLED) throw tooLong()
  if (message.trim() === '') throw unusable('The message is empty: the payload has nothing at its placeholders.')
  return message
}

function tooLong(): ApiError {
  return unusable(`The message would have more than ${MAX_FILLED} characters. Use less of the payload in it.`)
}

function unusable(message: string): ApiError {
  return new ApiError('invalid_request', message)
}

/** Slack asks once, with a signed request, whether the URL is really the one of the trigger. */
export function challengeIn({ verify }: Pick<Trigger, 'verify'>, { body }: Payload): string | undefined {
  if (verify.scheme !== 'slack' || !isObject(body) || body['type'] !== 'url_verification') return undefined
  const { challenge } = body
  return typeof challenge === 'string' ? challenge.slice(0, 1_000) : undefined
}
