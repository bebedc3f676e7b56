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
  /** Lines that are sent as they are produced, instead of a body. */
  lines?: AsyncIterable<string | Uint8Array>
  /** Bytes, of which the client gets the range that it requests, instead of a body. */
  content?: Content
  /** Stored items that don't fit their shape and were left out of a list, for the log. */
  leftOut?: { id: unknown; problem: string }[]
}

/**
 * The protocol of one kind of client. A dialect says how a request becomes calls of operations, and how a reply, an
 * error and a stream's event are written. It doesn't decide what a client may do.
 */
export type Dialect = {
  name: string
  /** Its name in receipts and logs. */
  door: Door
  routes(operations: readonly Operation[]): Route[]
  /** Whether errors on this path are written in the dialect, even if it has no route there. */
  owns(path: string): boolean
  /** The headers of every reply. */
  headers(request_id: string): Record<string, string>
  error(error: ApiError, request_id: string): RenderedReply
  /** Requests on paths without an agent name one in another way: see `agentIn`. */
  namesAgents?: true
  /** Its clients look for the provider of their tokens at the place that RFC 9728 defines. */
  isProtectedResource?: true
}

/** `id` is null if the event doesn't say how much of the answer came before it: the client keeps its last ID. */
export type SentEvent = Omit<StreamEvent, 'id'> & { id: string | null }

/** Writes the answer to a call. It can be made for one call, and then remember what it has written. */
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

/** A request whose body was read. */
export type ReceivedRequest = {
  message: Pick<IncomingMessage, 'headers' | 'headersDistinct'>
  params: Readonly<Record<string, string>>
  query: string
  bytes: Buffer | undefined
  request_id: string
}

/** What a client requests from an operation, and the form of the answer. */
export type CallRequest = {
  /** The body as the operation expects it; its shape is checked later. */
  body: unknown
  query: Record<string, unknown>
  /** What the caller sends for a run besides the body. */
  given?: GivenInput | undefined
  /** The client's name for a field of the body or of what is given. Errors use these names. */
  rename?(field: string): string
  /** What the client sent. A repeated request with the same key must send the same. */
  sent: unknown
  mode: Mode
  last_event_id: string | undefined
  idempotencyKey: string | undefined
  writer: Writer
  /** If a stored reply says that the work continues, the call that returns its current state. */
  present?(stored: RenderedReply): NamedCall | undefined
}

/** A call that the request itself names. `agent_id` in `params` can be an ID or a name. */
export type NamedCall = CallRequest & {
  operation: Operation
  params: Readonly<Record<string, string>>
  /** A call that is answered instead of this one, once this one has its reply. */
  next?(reply: RenderedReply): NamedCall
}

/** What a protocol reports to its clients about an agent. */
export type NamedAgent = { id: string; name: string; description: string | null; isCardPublic: boolean }

/** Runs the calls of one request. Each is authorised separately, and counted from the second one on. */
export type CallRunner = {
  /** Rejects with an error for the dialect to write. */
  run(
    call: NamedCall,
    channel?: Partial<Pick<ReplyChannel, 'emit' | 'onHangUp' | 'openStream'>>,
  ): Promise<RenderedReply>
  /** Turns the error of a call into one that the dialect writes into its answer. The audit log records a refusal. */
  fail(error: unknown, operation: Operation): ApiError
  actor: Actor
  /** The agent that the path names. */
  agent: NamedAgent | undefined
  /** The service's URL, as clients know it. */
  url: string
  /** A page in a browser has sent the request, and its origin is not listed. */
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
  /** With parameters in braces. An agent in `{agent_id}` is checked before the body is read. */
  path: string
  /**
   * The operation that it calls. Its permission is checked before the body is read, even if the request then names
   * another operation. Requests are counted, and refusals audited, under its name.
   */
  operation: Operation
  /**
   * The ID or name of the agent that a request means if its path doesn't name it. This runs before anything is checked,
   * so it returns undefined for anything that it can't read.
   */
  agentIn?(received: Pick<ReceivedRequest, 'params' | 'bytes'>): string | undefined
  /** The headers of every reply, if the operation will be removed from this path. */
  deprecation?: Record<string, string>
  /** Agents with a public card are shown here without a key. Nothing can be called then. */
  isOpenForPublicCards?: true
} & RequestReader

type RequestReader =
  /** The path says everything about the call except its input. */
  | { read(received: ReceivedRequest): CallRequest; name?: never; serve?: never }
  /** The request names one call. */
  | { name(received: ReceivedRequest): NamedCall; read?: never; serve?: never }
  /** The request can contain any number of calls, and the dialect combines their answers. */
  | { serve(received: ReceivedRequest, calls: CallRunner): Promise<RenderedReply>; read?: never; name?: never }
