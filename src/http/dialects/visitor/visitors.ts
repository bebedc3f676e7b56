import { z } from 'zod'
import { notFound } from '../../../errors.ts'
import type { Operation } from '../../../operation.ts'
import { readBody } from '../../input/body.ts'
import { prefers, readIdempotencyKey } from '../../input/request-headers.ts'
import { queryReader, validate } from '../../input/validate.ts'
import type { Dialect, NamedCall, ReceivedRequest, RenderedReply, Route, Visitor } from '../dialect.ts'
import { enveloped, moorage } from '../moorage.ts'
import { visitorError } from './visitor-error.ts'
import { visitorWriter } from './visitor-writer.ts'

const MOST_FILES = 5
/** How many of a conversation's latest messages the page shows after a reload. */
const SHOWN_MESSAGES = 50

/** A visitor can have several conversations. The page chooses their names. */
const SessionId = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')

const Message = z.strictObject({
  message: z.string(),
  session_id: SessionId.default('main'),
  /** Only bytes: a visitor can't choose what the service downloads, nor name other people's files. */
  attachments: z
    .array(z.strictObject({ data: z.string(), media_type: z.string().optional(), name: z.string().optional() }))
    .max(MOST_FILES)
    .optional(),
})

const Decision = z.strictObject({ decision: z.enum(['approve', 'reject']), answer: z.string().optional() })

const Rating = z.strictObject({ score: z.number(), comment: z.string().nullable().optional() })

const readHistory = queryReader(z.strictObject({ session_id: SessionId.default('main') }))
/** Pages that were opened before an update still name a session. */
const readStream = queryReader(z.strictObject({ session_id: SessionId.optional() }))
const readNothing = queryReader(z.strictObject({}))

/**
 * The dialect of the page that a link opens. A visitor's message is an invocation, and they read nothing but their own
 * conversation: no tools, no models, no costs.
 */
export const visitors: Dialect = {
  ...moorage,
  name: 'link',
  door: 'link',
  routes,
  owns: (path) => path.startsWith('/chat/'),
  error: visitorError,
}

type Received = ReceivedRequest & { visitor: Visitor }

function routes(operations: readonly Operation[]): Route[] {
  const messages = '/chat/{token}/messages'
  const read = operations.find(({ id }) => id === 'getInvocation')
  const at = (
    method: string,
    path: string,
    id: string,
    call: (received: Received) => Pick<NamedCall, 'body' | 'query'> & Partial<NamedCall> & { session_id?: string },
    complete = (named: NamedCall, _visitor: Visitor): NamedCall => named,
  ): Route[] => {
    const operation = operations.find((each) => each.id === id)
    if (!operation) return []
    const name = (received: ReceivedRequest) => {
      const { visitor } = received
      if (!visitor) throw notFound('Chat', '')
      const { token: _token, ...params } = received.params
      const { session_id, ...named } = call({ ...received, visitor })
      const asked = {
        operation,
        params: { ...params, agent_id: visitor.agent_id },
        sent: named.body,
        mode: 'reply' as const,
        last_event_id: received.message.headers['last-event-id'] as string | undefined,
        idempotencyKey: operation.idempotent ? readIdempotencyKey(received.message) : undefined,
        writer: visitorWriter(visitor, session_id),
        ...named,
      }
      return complete(asked, visitor)
    }
    return [{ dialect: visitors, method, path, operation, isForVisitors: true, name }]
  }
  const bare = ({ query }: Received) => ({ body: undefined, query: readNothing(query) })
  const stream = ({ query }: Received) => {
    readStream(query)
    return { body: undefined, query: {}, mode: 'stream' as const }
  }
  /** First reads the run: its session says which version answers, and so whether the visitor decides what it asks. */
  const afterReading = (call: NamedCall, visitor: Visitor): NamedCall => {
    const next = ({ body }: RenderedReply) => {
      const { context } = (JSON.parse(body) as { data: { context: { session_id?: string } } }).data
      return { ...call, writer: visitorWriter(visitor, context.session_id) }
    }
    return { ...call, operation: read ?? call.operation, mode: 'reply', writer: enveloped, next }
  }
  const one = `${messages}/{request_id}`
  return [
    ...at('POST', messages, 'invokeAgent', readMessage).map((route) => ({
      ...route,
      isMessageOfVisitor: true as const,
    })),
    ...at('GET', messages, 'listInvocations', readList),
    ...at('GET', one, 'getInvocation', bare),
    ...at('GET', `${one}/stream`, 'streamInvocation', stream, afterReading),
    ...at('POST', `${one}/cancel`, 'cancelInvocation', bare),
    ...at('POST', `${one}/approvals/{call_id}`, 'decideApproval', readDecision),
    ...at('PUT', `${one}/feedback`, 'giveFeedback', readRating),
  ]
}

function readMessage({ message, query, bytes, visitor }: Received) {
  const sent = validate(Message, readBody({ input: { body: Message } }, bytes))
  const { session_id, environment } = { ...sent, ...visitor }
  const { attachments } = sent
  const body = { message: sent.message, context: { session_id }, environment, ...(attachments && { attachments }) }
  const isStream = prefers(message.headers.accept, 'text/event-stream')
  return {
    body,
    sent,
    session_id,
    query: readNothing(query),
    mode: isStream ? ('stream' as const) : ('reply' as const),
  }
}

function readList({ query }: Received) {
  const session_id = SessionId.parse(readHistory(query)['session_id'])
  return { body: undefined, session_id, query: { limit: SHOWN_MESSAGES, offset: 0, sort: '-created_at', session_id } }
}

function readDecision({ query, bytes }: Received) {
  return { body: validate(Decision, readBody({ input: { body: Decision } }, bytes)), query: readNothing(query) }
}

function readRating({ query, bytes }: Received) {
  return { body: validate(Rating, readBody({ input: { body: Rating } }, bytes)), query: readNothing(query) }
}
