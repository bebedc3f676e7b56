import type { IncomingMessage } from 'node:http'
import type { ApiError } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Door } from '../../operation/door.ts'
import type { Mode, ReplyChannel } from '../../operation/reply-channel.ts'
import type { Operation } from '../../operation.ts'
import type { StreamEvent } from '../../runtime/following/transcript.ts'
import type { GivenInput } from '../../runtime/given.ts'
import type { Content } from '../../storage/bytes/content.ts'

/** A reply as the client receives it. */
export type RenderedReply = {
  status: number
  headers: Record<string, string>
  body: string
  /** Lines that are sent as they are produced. If present, they replace the body. */
  lines?: AsyncIterable<string | Uint8Array>
  /** Bytes that replace the body. The client gets the range that it requests. */
  content?: Content
  /** Stored items that were left out of a list because they don't fit their shape. They are logged. */
  leftOut?: { id: unknown; problem: string }[]
}

/**
 * The protocol of one kind of client. A dialect defines how a request becomes calls of operations, and how a reply, an
 * error and a stream's events are written. It doesn't decide what a client may do.
 */
export type Dialect = {
  name: string
  /** The dialect's name in receipts and logs. */
  door: Door
  routes(operations: readonly Operation[]): Route[]
  /** Whether errors on this path are written in the dialect, even if it has no route there. */
  owns(path: string): boolean
  /** The headers of every reply. */
  headers(request_id: string): Record<string, string>
  error(error: ApiError, request_id: string): RenderedReply
  /** Set if requests on paths without an agent name one in another way. See `agentIn`. */
  namesAgents?: true
  /** Set if its clients look for their token provider at the path that RFC 9728 defines. */
  isProtectedResource?: true
}

/** `id` is null if the event doesn't say how much of the answer came before it. The client then keeps its last ID. */
export type SentEvent = Omit<StreamEvent, 'id'> & { id: string | null }

/** Writes the answer to a call. A writer can be made for a single call and remember what it has written. */
export type Writer = {
  /** Receives the ID of the call's agent, before the call runs. */
  begin?(agent_id: string): void
  /** `result` is what the operation returned; `path` and `paging` are what was requested. */
  reply(operation: Operation, result: unknown, asked: { path: string; paging: unknown }): RenderedReply
  /** The events of a stream, in order. The last one is `done`, with the body of the reply, or `error`. */
  event(event: SentEvent): string
  /** The events of a reply that was stored for repeated requests, without `done`. */
  replay(operation: Operation, reply: RenderedReply): StreamEvent[]
}

/** Someone who chats through a link, which opens its agent to them without a key. */
export type Visitor = {
  link_id: string
  user_id: string
  agent_id: string
  environment: string
  /** Whether they decide what their own runs of a session ask. Otherwise they aren't told what it is. */
  mayDecide(session_id: string): boolean
}

/** A request whose body was read. */
export type ReceivedRequest = {
  message: Pick<IncomingMessage, 'headers' | 'headersDistinct'>
  params: Readonly<Record<string, string>>
  query: string
  bytes: Buffer | undefined
  request_id: string
  visitor?: Visitor | undefined
}

/** What a client requests from an operation, and how the answer is written. */
export type CallRequest = {
  /** The body as the operation expects it. Its shape is checked later. */
  body: unknown
  query: Record<string, unknown>
  /** What the caller sends for a run in addition to the body. */
  given?: GivenInput | undefined
  /** Returns the client's name for a field of the body or of what is given. Errors use these names. */
  rename?(field: string): string
  /** What the client sent. A repeated request with the same key must be identical. */
  sent: unknown
  mode: Mode
  last_event_id: string | undefined
  /** The event with which the stream ends, even if the operation would continue to follow its run. */
  endsAfter?: string
  idempotencyKey: string | undefined
  writer: Writer
}

/** A call that the request itself names. `agent_id` in `params` can be an ID or a name. */
export type NamedCall = CallRequest & {
  operation: Operation
  params: Readonly<Record<string, string>>
  /** The call that is answered instead of this one, if there is one once this one has its reply. */
  next?(reply: RenderedReply): NamedCall | undefined
}

/** What a protocol tells its clients about an agent. */
export type NamedAgent = { id: string; name: string; description: string | null; isCardPublic: boolean }

/**
 * Runs the calls of one request. Each call is authorised separately, and every call after the first counts against the
 * rate limit.
 */
export type CallRunner = {
  /** Rejects with an error for the dialect to write. */
  run(
    call: NamedCall,
    channel?: Partial<Pick<ReplyChannel, 'emit' | 'onHangUp' | 'openStream'>>,
  ): Promise<RenderedReply>
  /**
   * Converts the error of a call into one that the dialect writes into its answer. Refusals are recorded in the audit
   * log.
   */
  fail(error: unknown, operation: Operation): ApiError
  actor: Actor
  /** The agent that the path names. */
  agent: NamedAgent | undefined
  /** The service's URL, as clients know it. */
  url: string
  /** Whether a page in a browser has sent the request and its origin is not listed. */
  isFromForeignPage: boolean
  /** Registers a listener that is called when the client has disconnected. */
  onHangUp(listener: () => void): void
  /** Calls the listener when an agent in the actor's scope has changed. Returns a function that stops it. */
  onAgentChange(listener: () => void): () => void
  /** Aborted when the service begins to stop. */
  stopping: AbortSignal
}

/** A method and a path of a dialect, and how its requests are read. */
export type Route = {
  dialect: Dialect
  method: string
  /** Contains parameters in braces. An agent in `{agent_id}` is checked before the body is read. */
  path: string
  /**
   * The operation that the route calls. Its permission is checked before the body is read, even if the request then
   * names another operation. Requests are counted, and refusals are audited, under its name.
   */
  operation: Operation
  /**
   * Returns the ID or name of the agent that a request means if its path doesn't name it. This runs before anything is
   * checked, so it returns undefined for anything that it can't read.
   */
  agentIn?(received: Pick<ReceivedRequest, 'params' | 'bytes'>): string | undefined
  /** The headers of every reply, if the operation will be removed from this path. */
  deprecation?: Record<string, string>
  /** Set if agents with a public card are shown here without a key. Nothing can be called without a key. */
  isOpenForPublicCards?: true
  /** The token in its path opens a chat: see `guards/visitor.ts`. */
  isForVisitors?: true
  /** It is a message, of which a visitor may send only some. */
  isMessageOfVisitor?: true
} & RequestReader

type RequestReader =
  /** The path determines the call, and the request provides only its input. */
  | { read(received: ReceivedRequest): CallRequest; name?: never; serve?: never }
  /** The request names the call. */
  | { name(received: ReceivedRequest): NamedCall; read?: never; serve?: never }
  /** The request can contain any number of calls, and the dialect combines their answers. */
  | { serve(received: ReceivedRequest, calls: CallRunner): Promise<RenderedReply>; read?: never; name?: never }
