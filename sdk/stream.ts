import type { ChildRun, InvocationQueued } from './api.ts'
import { fill } from './call.ts'
import { errorFrom, MoorageError } from './errors.ts'
import { readEvents, type ServerEvent } from './events.ts'
import { readData } from './reply.ts'
import {
  type ClientOptions,
  isPassing,
  pause,
  type RequestOptions,
  randomKey,
  readWhole,
  type Sender,
} from './request.ts'

/** The events of a run. The last event is `done` or `waiting`. */
export type InvocationEvent<Result> =
  | { type: 'start'; request_id: string }
  /** The service was interrupted and the answer starts again: discard the earlier deltas. */
  | { type: 'restart'; request_id: string }
  /** Another run of the session is in progress. At position 1 this run is the next one. */
  | { type: 'queued'; position: number }
  | { type: 'delta'; text: string }
  /**
   * With `output`: a chunk, at this position, of an answer that isn't checked yet. Once an answer matches, it is sent
   * as `delta`.
   */
  | { type: 'output.delta'; text: string; answer: number; at: number }
  | { type: 'tool_call'; id: string; name: string; arguments: unknown }
  /** `child` is the run that answered, if the tool is an agent. */
  | { type: 'tool_result'; id: string; name: string; result?: string; error?: string; child?: ChildRun }
  /** People must decide before the run continues. This event ends `agents.stream`, but not `follow`. */
  | ({ type: 'waiting' } & InvocationQueued)
  | { type: 'done'; data: Result }

export type StreamOptions = RequestOptions & {
  /** Continues after the event with this ID. */
  last_event_id?: string | undefined
}

/** How streams send requests to the service. */
export type Connection = Sender & Pick<ClientOptions, 'idleTimeoutMs' | 'onRetry'>

const INVOKE = '/v1/agents/{agent_id}/invoke'
const FOLLOW = '/v1/agents/{agent_id}/invocations/{request_id}/stream'
const CANCEL = '/v1/agents/{agent_id}/invocations/{request_id}/cancel'
const CANCEL_WITHIN_MS = 10_000
const BEGIN_WITHIN_MS = 2_000
/** The service sends a ping every 15 s. */
const IDLE_TIMEOUT_MS = 45_000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 5_000
/** How long a service can be unavailable before its streams give up. */
const PATIENCE_MS = 120_000

/**
 * Invokes an agent and yields its answer as it arrives. After a broken connection, the stream continues where it
 * stopped. Leaving the loop early, or aborting, cancels the run.
 */
export async function* streamInvoke<Result>(
  connection: Connection,
  agent_id: string,
  bodyOf: () => Promise<unknown>,
  options: RequestOptions = {},
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  const { signal, ...rest } = options
  signal?.throwIfAborted()
  const body = await bodyOf()
  const link = new AbortController()
  const once = { ...rest, signal: link.signal, idempotencyKey: options.idempotencyKey ?? randomKey() }
  const headers = { Accept: 'text/event-stream' }
  const begin = () => connection.open({ method: 'POST', path: fill(INVOKE, { agent_id }), body, headers }, once)
  let request_id: string | undefined
  let isOver = false
  // A run can be cancelled only when its ID is known. So after an abort, the stream may still begin for a moment.
  const hangUp = () => link.abort(signal?.reason)
  let hangingUp: ReturnType<typeof setTimeout> | undefined
  const onAbort = () => {
    if (request_id === undefined) hangingUp = setTimeout(hangUp, BEGIN_WITHIN_MS)
    else hangUp()
  }
  signal?.addEventListener('abort', onAbort)
  try {
    for await (const event of rejoining<Result>(connection, { agent_id }, begin, once)) {
      if (event.type === 'start') request_id = event.request_id
      signal?.throwIfAborted()
      isOver = event.type === 'done' || event.type === 'waiting'
      yield event
      // The run may wait for days. A caller that wants to wait for it calls `follow`.
      if (event.type === 'waiting') return
    }
  } catch (error) {
    isOver = signal?.aborted !== true
    throw error
  } finally {
    clearTimeout(hangingUp)
    signal?.removeEventListener('abort', onAbort)
    if (!isOver && request_id) {
      const path = fill(CANCEL, { agent_id, request_id })
      // This needs a separate signal, because the caller's may already be aborted.
      const briefly = { retries: 0, timeoutMs: CANCEL_WITHIN_MS, signal: new AbortController().signal }
      await connection.send({ method: 'POST', path }, briefly).catch(() => undefined)
    }
  }
}

/** Yields a run's events from the start until it ends. Leaving the loop early doesn't affect the run. */
export function followInvocation<Result>(
  connection: Connection,
  agent_id: string,
  request_id: string,
  { last_event_id, ...options }: StreamOptions = {},
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  const progress = { agent_id, request_id, last_event_id }
  return rejoining(connection, progress, () => join(connection, progress, request_id, options), options)
}

/** The progress of a stream. */
type Progress = {
  agent_id: string
  request_id?: string | undefined
  last_event_id?: string | undefined
  /** When the last data arrived, and how often reconnecting was tried since then. */
  lost?: { since: number; tries: number } | undefined
  isGoingAway?: boolean
}

async function* rejoining<Result>(
  connection: Connection,
  progress: Progress,
  begin: () => Promise<Response>,
  options: RequestOptions,
): AsyncGenerator<InvocationEvent<Result>, void, undefined> {
  let response = await begin()
  for (;;) {
    // The same request was sent before, and its run is waiting.
    if (response.status === 202)
      return yield { type: 'waiting', ...readData<InvocationQueued>(await readWhole(response)) }
    const broken = yield* telling<Result>(connection, progress, response, options)
    if (!broken) return
    response = await comeBack(connection, progress, broken, begin, options)
  }
}

/** Yields events. Returns undefined after the last one, or the reason if the connection broke before. */
async function* telling<Result>(
  { idleTimeoutMs = IDLE_TIMEOUT_MS }: Connection,
  progress: Progress,
  response: Response,
  { signal }: RequestOptions,
): AsyncGenerator<InvocationEvent<Result>, MoorageError | undefined, undefined> {
  const events = readEvents(response, { signal, idleTimeoutMs })
  try {
    for (;;) {
      const { done, value } = await events.next()
      if (done)
        return new MoorageError('unreachable', `The stream ended early: ${value}`, { request_id: progress.request_id })
      if (value.event === 'error') {
        const error = errorFrom(JSON.parse(value.data), response.headers.get('x-request-id') ?? undefined)
        // The first such error means that the process is stopping. If it occurs again after a reconnect, it is about
        // the run.
        if (error.code !== 'unavailable' || progress.isGoingAway) throw error
        progress.isGoingAway = true
        return error
      }
      progress.lost = undefined
      progress.isGoingAway = false
      progress.last_event_id = value.id
      const event = eventOf<Result>(value)
      if (event.type === 'start') progress.request_id = event.request_id
      yield event
      if (event.type === 'done') return undefined
    }
  } finally {
    await events.return('left')
  }
}

/** Waits and reconnects until the service is available again, or has been unavailable for too long. */
async function comeBack(
  connection: Connection,
  progress: Progress,
  broken: MoorageError,
  begin: () => Promise<Response>,
  options: RequestOptions,
): Promise<Response> {
  let error = broken
  for (;;) {
    progress.lost ??= { since: Date.now(), tries: 0 }
    const { since, tries } = progress.lost
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
    const waitMs = Math.max(pauseMs, (error.retry_after ?? 0) * 1000)
    if (Date.now() + waitMs - since > PATIENCE_MS) throw error
    progress.lost.tries++
    connection.onRetry?.(error, waitMs)
    await pause(waitMs, options.signal)
    try {
      return await (progress.request_id === undefined
        ? begin()
        : join(connection, progress, progress.request_id, options))
    } catch (caught) {
      const canPass = caught instanceof MoorageError && isPassing(caught) && caught.status !== 500
      if (!canPass) throw caught
      error = caught
    }
  }
}

function join(
  { open, idleTimeoutMs = IDLE_TIMEOUT_MS }: Connection,
  { agent_id, last_event_id, lost }: Progress,
  request_id: string,
  options: RequestOptions,
): Promise<Response> {
  const headers = {
    Accept: 'text/event-stream',
    ...(last_event_id !== undefined && { 'Last-Event-ID': last_event_id }),
  }
  // The caller counts its attempts itself.
  const briefly = { ...options, timeoutMs: idleTimeoutMs, ...(lost && { retries: 0 }) }
  return open({ method: 'GET', path: fill(FOLLOW, { agent_id, request_id }), headers }, briefly)
}

function eventOf<Result>({ event, data }: ServerEvent): InvocationEvent<Result> {
  const body = JSON.parse(data)
  return event === 'done' ? { type: 'done', data: body.data } : { type: event, ...body }
}
