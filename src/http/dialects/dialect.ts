import type { IncomingMessage } from 'node:http'
import type { ApiError } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Door } from '../../operation/door.ts'
import type { Mode, ReplyChannel } from '../../operation/reply-channel.ts'
import type { Operation } from '../../operation.ts'
import type { StreamEvent } from '../../runtime/following/transcript.ts'
import type { GivenInput } from '../../runtime/given.ts'
import type { Content } from '../../storage/bytes/content.ts'

/** A reply as it goes to the client. */
export type RenderedReply = {
  status: number
  headers: Record<string, string>
  body: string
  /** Lines that are sent as they come, instead of a body. */
  lines?: AsyncIterable<string | Uint8Array>
  /** Bytes of which the client gets those that it asks for, instead of a body. */
  content?: Content
  /** Stored items that do not fit their shape and were left out of a list, for the log. */
  leftOut?: { id: unknown; problem: string }[]
}

/**
 * The way in which one kind of client speaks with us. A dialect says how a request becomes calls of operations, and how
 * a reply, an error and an event of a stream are written. It does not decide what a client may do.
 */
export type Dialect = {
  name: string
  /** What receipts and logs call it. */
  door: Door
  routes(operations: readonly Operation[]): Route[]
  /** Whether errors on this path are written in the dialect, even if it has no route there. */
  owns(path: string): boolean
  /** The headers that every reply has. */
  headers(request_id: string): Record<string, string>
  error(error: ApiError, request_id: string): RenderedReply
  /** Requests on paths without an agent name one in another way: see `agentIn`. */
  namesAgents?: true
  /** Its clients look for the provider of their tokens where RFC 9728 has it. */
  isProtectedResource?: true
}

/** `id` is null if the event says nothing of how far the answer has come: the client keeps the last id that it has. */
export type SentEvent = Omit<StreamEvent, 'id'> & { id: string | null }

/** Writes the answer to a call. It may be made for one call, and then remember what it has written. */
export type Writer = {
  /** Told the id of the call's agent, before it runs. */
  begin?(agent_id: string): void
  /** `result` is what the operation returned; `path` and `paging` are what the request asked for. */
  reply(operation: Operation, result: unknown, asked: { path: string; paging: unknown }): RenderedReply
  /** The events of a stream in their order. The last one is `done`, with the body of the reply, or `error`. */
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

/** What a client wants of an operation, and how it wants the answer. */
export type CallRequest = {
  /** The body as the operation expects it; its shape is checked later. */
  body: unknown
  query: Record<string, unknown>
  /** What the caller gives for a run besides the body. */
  given?: GivenInput | undefined
  /** What the client calls a field of the body or of what is given. Errors name its own fields. */
  rename?(field: string): string
  /** What the client sent. A repeated request with the same key must send the same. */
  sent: unknown
  mode: Mode
  last_event_id: string | undefined
  idempotencyKey: string | undefined
  writer: Writer
  /** If a stored reply says that the work continues, the call that tells how it stands now. */
  present?(stored: RenderedReply): NamedCall | undefined
}

/** A call that the request itself names. `agent_id` in `params` takes an id or a name. */
export type NamedCall = CallRequest & {
  operation: Operation
  params: Readonly<Record<string, string>>
  /** A call that is answered instead of this one, once this one has its reply. */
  next?(reply: RenderedReply): NamedCall
}

/** What a protocol tells its clients of an agent. */
export type NamedAgent = { id: string; name: string; description: string | null; isCardPublic: boolean }

/** Runs the calls of one request. Each is authorised for itself, and counted from the second one on. */
export type CallRunner = {
  /** Rejects with an error for the dialect to write. */
  run(
    call: NamedCall,
    channel?: Partial<Pick<ReplyChannel, 'emit' | 'onHangUp' | 'openStream'>>,
  ): Promise<RenderedReply>
  /** Turns the error of a call into one that the dialect writes into its answer. The audit log learns of a refusal. */
  fail(error: unknown, operation: Operation): ApiError
  actor: Actor
  /** The agent that the path names. */
  agent: NamedAgent | undefined
  /** The address of the service, as clients know it. */
  url: string
  /** A page in a browser has sent the request, and its origin is not listed. */
  isFromForeignPage: boolean
  /** Registers a listener that is called when the client has hung up. */
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
   * The operation behind it. Its permission is needed before the body is read, even if the request then names another.
   * Requests are counted, and refusals audited, under its name.
   */
  operation: Operation
  /**
   * The agent that a request means although its path does not name it: its id or name. It is asked for before anything
   * is checked, so it says undefined for whatever it cannot read.
   */
  agentIn?(received: Pick<ReceivedRequest, 'params' | 'bytes'>): string | undefined
  /** The headers of every reply, if the operation is going to be removed from this path. */
  deprecation?: Record<string, string>
  /** Agents whose card is public are shown here without a key. Nothing can be called then. */
  isOpenForPublicCards?: true
} & RequestReader

type RequestReader =
  /** The path says everything about the call but its input. */
  | { read(received: ReceivedRequest): CallRequest; name?: never; serve?: never }
  /** The request names one call. */
  | { name(received: ReceivedRequest): NamedCall; read?: never; serve?: never }
  /** The request may have any number of calls, and the dialect puts their answers together. */
  | { serve(received: ReceivedRequest, calls: CallRunner): Promise<RenderedReply>; read?: never; name?: never }
