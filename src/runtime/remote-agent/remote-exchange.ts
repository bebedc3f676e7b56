import type { z } from 'zod'
import { storable } from '../../lib/text/text.ts'
import { ModelFailure } from '../models/model.ts'
import { AgentFailure, type LogLevel } from '../outcome.ts'
import { HtmlPage, NotAnAnswer, parseObject, ReplyReader } from '../providers/protocols/read-events.ts'
import { BadStatus } from '../providers/provider-failure.ts'
import type { ProviderSockets } from '../providers/provider-sockets.ts'
import { retryAfter } from '../providers/retry.ts'
import { REMOTE_EVENTS, RemoteAnswer, readShape } from './contract.ts'

/** What a remote agent sends while it is called. */
export type RemoteEvent =
  | { kind: 'text'; text: string }
  | { kind: 'log'; level: LogLevel; message: string }
  | { kind: 'usage'; model: string | undefined; input_tokens: number; output_tokens: number }
  /** The answer is complete. `output` replaces it if present. */
  | { kind: 'done'; output?: { value: unknown } }

const LEVELS = new Set(['debug', 'info', 'warn', 'error'])

/** The most events in one call. Each takes time, no matter how small it is. */
export const MOST_EVENTS = 100_000

/** A secret that signs calls. */
export const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/=]{24,}$/

type Message = { url: string; headers: Record<string, string>; body: string }

/**
 * Sends one call and passes on the reply as it arrives: a stream of events, or one JSON object. The sockets belong to
 * the URL. Resolves when the reply has ended. Rejects with an AgentFailure that contains none of the server's text, or
 * with the signal's reason.
 */
export async function exchange(
  { url, headers, body }: Message,
  { sockets, signal, now }: { sockets: ProviderSockets; signal: AbortSignal; now: () => number },
  hear: (heard: RemoteEvent) => void,
): Promise<void> {
  let refusal: BadStatus | undefined
  let isDone = false
  let hasSpoken = false
  const tell = (heard: RemoteEvent) => {
    if (isDone) return
    isDone = heard.kind === 'done'
    hasSpoken = true
    hear(heard)
  }
  const reader = new ReplyReader(
    ({ event, data }) => tellEvent(event, data, tell),
    (json) => tellWhole(json, tell),
    { fatal: true, mostEvents: MOST_EVENTS },
  )
  const { pathname, search } = new URL(url)
  try {
    await sockets.send(
      { method: 'POST', path: pathname + search, headers, body, signal },
      {
        start(status, replyHeaders) {
          if (status < 200 || status > 299) refusal = new BadStatus(status, replyHeaders)
        },
        data(chunk) {
          if (refusal) refusal.addText(chunk.toString())
          else reader.read(chunk)
        },
      },
    )
    if (refusal) throw refusal
    reader.end()
    if (!isDone) throw new ModelFailure('The remote agent ended its answer early.', {}, LATER)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw failureOf(error, now, hasSpoken)
  }
}

function tellEvent(event: string | undefined, data: string, tell: (heard: RemoteEvent) => void): void {
  const read = <Shape extends z.ZodType>(shape: Shape) => readShape(shape, parseObject(data))
  if (event === 'delta') return tell({ kind: 'text', text: storable(read(REMOTE_EVENTS.delta).text) })
  if (event === 'log') return tellLog(read(REMOTE_EVENTS.log), tell)
  if (event === 'usage') return tellUsage(read(REMOTE_EVENTS.usage), tell)
  if (event === 'done') return tellDone(read(REMOTE_EVENTS.done), tell)
  if (event === 'error') throw saidFailure(read(REMOTE_EVENTS.error))
}

function tellWhole(json: string, tell: (heard: RemoteEvent) => void): void {
  const { response, usage, logs, error, ...rest } = readShape(RemoteAnswer, parseObject(json))
  if (error) throw saidFailure(error)
  for (const log of [logs ?? []].flat()) tellLog(log, tell)
  for (const spent of [usage ?? []].flat()) tellUsage(spent, tell)
  if (response) tell({ kind: 'text', text: storable(response) })
  tellDone(rest, tell)
}

type Event<Name extends keyof typeof REMOTE_EVENTS> = z.output<(typeof REMOTE_EVENTS)[Name]>

function tellLog({ level = '', message }: Event<'log'>, tell: (heard: RemoteEvent) => void): void {
  tell({ kind: 'log', level: LEVELS.has(level) ? (level as LogLevel) : 'info', message })
}

function tellUsage({ model, ...tokens }: Event<'usage'>, tell: (heard: RemoteEvent) => void): void {
  tell({ kind: 'usage', model: model?.slice(0, 200) || undefined, ...tokens })
}

function tellDone(done: Event<'done'>, tell: (heard: RemoteEvent) => void): void {
  tell('output' in done ? { kind: 'done', output: { value: done.output } } : { kind: 'done' })
}

const MAX_MESSAGE = 1_000

/** The agent reports its own failure. */
function saidFailure({ message }: Event<'error'>): AgentFailure {
  const words = storable(message).slice(0, MAX_MESSAGE)
  return new AgentFailure(words === '' ? 'The remote agent failed.' : `The remote agent failed: ${words}`)
}

/** The agent didn't say when to try again. */
const LATER = { after_ms: undefined }

/**
 * Converts an error into a failure. What the agent's server says about its own problems goes to the log, never to the
 * client.
 */
export function failureOf(error: unknown, now: () => number, hasSpoken: boolean): unknown {
  if (error instanceof AgentFailure) return error
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  if (code === 'blocked_address' || code === 'invalid_url') {
    return new AgentFailure(`The remote agent can't be called (${code}): ${message}`)
  }
  if (error instanceof BadStatus) {
    const { status, headers, reason, isPassing } = error
    const retry = isPassing ? { after_ms: retryAfter(headers, now) } : undefined
    const isRedirect = status >= 300 && status < 400
    const why = isRedirect ? ': redirects are not followed' : ''
    return new ModelFailure(`The remote agent answered ${status}${why}.`, { status, remote_message: reason }, retry)
  }
  if (error instanceof NotAnAnswer || error instanceof TypeError) {
    const isPage = error instanceof HtmlPage
    const what = isPage ? 'answered with an HTML page' : 'returned something that is not an answer'
    return new AgentFailure(`The remote agent ${what}.`, { remote_message: String(message) })
  }
  const what = hasSpoken ? 'ended its answer early' : 'could not be reached'
  return new ModelFailure(`The remote agent ${what}.`, { remote_message: String(message) }, LATER)
}
