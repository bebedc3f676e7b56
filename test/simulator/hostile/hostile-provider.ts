// A model provider that misbehaves by seed. What is expected of the service is a property and not a list: the right answer
// or a clear failure, in time; no tool called wrongly or twice; nothing charged that was not used; no connection left.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { readBody } from '../../support/outside/local-server.ts'
import { randomOf } from '../random.ts'
import {
  cutsOf,
  type Elsewhere,
  type Manners,
  mannersOf,
  openHostileServer,
  RUDE_MANNERS,
  sendBadly,
  WIRE_MANNERS,
  watchBusy,
} from './wire.ts'

/** How the provider misbehaves. Each has a name, so that a failure can be read. */
export type Manner = keyof typeof MANNERS

/** What the answer is, if a reader gets it right. */
export type Said = { text: string; call: { filter: string } | null; usage: { input: number; output: number } | null }

export type Performance = { seed: number; said: Said; manners: Manner[]; cuts: number[] }

/** A provider that fails at first is asked again. */
const MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  CRLF: 'fair',
  comments: 'fair',
  'no space after data': 'fair',
  'event names': 'fair',
  'open after the end': 'fair',
  'late call id': 'fair',
  'call id repeated': 'fair',
  'empty choices': 'fair',
  'null fields': 'fair',
  'usage in every chunk': 'fair',
  'usage with the finish': 'fair',
  'no usage': 'fair',
  'one JSON': 'fair',
  'one JSON without a finish': 'fair',
  'byte order mark': 'fair',
  'no [DONE]': 'fair',
  'overload inside 200, once': 'fair',
  'overload 529, once': 'fair',
  'Retry-After 1.5': 'fair',
  'empty body, once': 'foul',
  'overload after the call': 'foul',
  'TLS that never answers': 'foul',
  'cut off at the limit': 'foul',
  'error inside 200': 'foul',
  garbage: 'foul',
  'negative usage': 'foul',
  'absurd usage': 'foul',
  'text as usage': 'foul',
  HTML: 'foul',
} as const satisfies Manners

const TEXTS = [
  'Ahoy!',
  'Grüße aus Møre — 你好 👩‍👩‍👧',
  'a\nb\n\nc',
  '{"not":"json"}',
  'x'.repeat(3_000),
  '\u{1f600}'.repeat(40),
  'data: [DONE]',
]

/** Nothing tells the end of a stream that stays open without `[DONE]`: what it reports as used may still come. */
export const isFair = ({ manners }: Performance) =>
  manners.every((manner) => MANNERS[manner] === 'fair') &&
  !(manners.includes('no [DONE]') && manners.includes('open after the end'))

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const manners = mannersOf(random, MANNERS)
  const call = random.chance(0.5) ? { filter: random.of(['x', 'größer', '"quoted"']) } : null
  const has = (manner: Manner) => manners.has(manner)
  // Without a finish, an answer that was cut off looks like any other.
  if (has('one JSON without a finish')) manners.delete('cut off at the limit')
  const isUnreported = has('no usage') || has('negative usage') || has('absurd usage') || has('text as usage')
  const usage = isUnreported ? null : { input: 10 + random.below(90), output: 1 + random.below(50) }
  return { seed, said: { text: random.of(TEXTS), call, usage }, manners: [...manners], cuts: cutsOf(random) }
}

/** What a model of the provider is to do, and what came of it. */
export type Act = {
  performance: Performance
  /** How often it was asked, and when. */
  asked: number
  times: number[]
  /** The calls of the tool, as its arguments were. */
  calls: unknown[]
  /** Answers that are still being read. */
  busy: Set<ServerResponse>
  /** What was found to be wrong while it was asked. */
  wrong: string[]
}

export type HostileProvider = {
  url: string
  elsewhere: Elsewhere
  /** What a model does from now on. Models are asked at the same time. The tool answers after `duringCall`. */
  begin(model: string, performance: Performance, duringCall: () => Promise<void>): Act
  close(): Promise<void>
}

export async function openHostileProvider(): Promise<HostileProvider> {
  const acts = new Map<string, Act>()
  const during = new Map<string, () => Promise<void>>()
  const answer = async (request: IncomingMessage, response: ServerResponse, elsewhere: Elsewhere) => {
    const body = JSON.parse((await readBody(request)) || 'null')
    const ofTool = /^\/tool\/(.*)$/.exec(request.url ?? '')?.[1]
    const act = acts.get(ofTool ?? body.model) as Act
    if (ofTool) {
      act.calls.push(body)
      await during.get(ofTool)?.()
      return void response.end('found')
    }
    act.asked += 1
    act.times.push(globalThis.performance.now())
    watchBusy(act.busy, response)
    const isSecond = (body.messages as { role: string }[]).at(-1)?.role === 'tool'
    await perform(response, act, isSecond, elsewhere)
  }
  const server = await openHostileServer(answer)
  return {
    url: server.url,
    elsewhere: server.elsewhere,
    begin(model, performance, duringCall) {
      const act: Act = { performance, asked: 0, times: [], calls: [], busy: new Set(), wrong: [] }
      during.set(model, duringCall)
      acts.set(model, act)
      return act
    },
    close: server.close,
  }
}

const frame = (event: unknown) => `data: ${JSON.stringify(event)}`

async function perform(
  response: ServerResponse,
  { performance: { said, manners, cuts }, asked }: Act,
  isSecond: boolean,
  elsewhere: Elsewhere,
) {
  const has = (manner: Manner) => manners.includes(manner)
  const isFirst = asked === 1
  if (has('overload 529, once') && isFirst) {
    response.writeHead(529, {
      'content-type': 'application/json',
      ...(has('Retry-After 1.5') && { 'retry-after': '1.5' }),
    })
    return void response.end('{"error":{"type":"overloaded_error","message":"busy"}}')
  }
  if (has('overload after the call') && isSecond) {
    const headers = { 'content-type': 'application/json', 'retry-after': '1' }
    return void response.writeHead(429, headers).end('{"error":{"type":"rate_limit_error","message":"busy"}}')
  }
  if (has('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  const call = isSecond ? null : said.call
  if (has('one JSON') || has('one JSON without a finish'))
    return void response.end(wholeAnswer(response, said, call, has))

  const headers = { 'content-type': 'text/event-stream' }
  if (has('empty body, once') && isFirst) return void response.writeHead(200, headers).end()
  if (has('overload inside 200, once') && isFirst) {
    return void response.writeHead(200, headers).end(`${frame({ error: { code: 503, message: 'overloaded' } })}\n\n`)
  }
  const lines = [...framesOf(said, call, has)]
  const newline = has('CRLF') ? '\r\n' : '\n'
  let text = lines.map((line) => decorated(line, has, newline) + newline + newline).join('')
  if (has('no space after data')) text = text.replaceAll('data: {', 'data:{')
  if (has('byte order mark')) text = `\ufeff${text}`
  const error = has('error inside 200') ? `${frame({ error: { code: 400, message: 'no' } })}\n\n` : ''
  const garbage = has('garbage') ? '\n\ndata: {"choices": [\n\n\0\xff\n\n' : ''
  const spoilt = has('garbage') ? { body: text, tail: garbage + error } : { body: text + error }
  const sent = { headers, ...spoilt, filler: ': still here\n\n', staysOpen: has('open after the end') }
  await sendBadly(response, sent, { has, cuts, elsewhere: elsewhere.url })
}

type Has = (manner: Manner) => boolean

function decorated(line: string, has: Has, newline: string): string {
  return [
    ...(has('comments') ? [': a comment'] : []),
    ...(has('event names') ? ['event: message', 'id: 7'] : []),
    line,
  ].join(newline)
}

function usageOf(said: Said, has: Has) {
  if (has('no usage')) return undefined
  if (has('negative usage')) return { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 }
  if (has('absurd usage')) return { prompt_tokens: 1e300, completion_tokens: 1e20, total_tokens: 1e300 }
  if (has('text as usage')) return { prompt_tokens: 'many', completion_tokens: null }
  const { input = 0, output = 0 } = said.usage ?? {}
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

function* framesOf(said: Said, call: Said['call'], has: Has): Generator<string> {
  const usage = usageOf(said, has)
  const chunk = (delta: object, finish_reason: string | null = null) => {
    const nulls = has('null fields') ? { logprobs: null } : {}
    const withUsage =
      usage && (has('usage in every chunk') || (finish_reason && has('usage with the finish'))) ? { usage } : {}
    const fields = has('null fields') ? { refusal: null, ...delta } : delta
    return frame({ id: 'c', choices: [{ index: 0, delta: fields, finish_reason, ...nulls }], ...withUsage })
  }
  if (has('empty choices')) yield frame({ id: 'c', choices: [] })
  if (call) yield* callFrames(call, has, chunk)
  else {
    const half = Math.floor(said.text.length / 2)
    // A half of a character cannot be sent as JSON text by itself.
    const at = /[\ud800-\udbff]/.test(said.text[half - 1] ?? '') ? half - 1 : half
    for (const content of [said.text.slice(0, at), said.text.slice(at)])
      if (content) yield chunk({ role: 'assistant', content })
  }
  yield chunk({}, has('cut off at the limit') ? 'length' : call ? 'tool_calls' : 'stop')
  if (usage && !has('usage in every chunk') && !has('usage with the finish'))
    yield frame({ id: 'c', choices: [], usage })
  if (!has('no [DONE]')) yield 'data: [DONE]'
}

function* callFrames(call: { filter: string }, has: Has, chunk: (delta: object) => string): Generator<string> {
  const text = JSON.stringify(call)
  const id = { id: 'call_9' }
  const tool_calls = (fields: object, of: object) => chunk({ tool_calls: [{ index: 0, ...of, function: fields }] })
  yield tool_calls({ name: 'look', arguments: '' }, has('late call id') ? {} : { ...id, type: 'function' })
  // An answer at its limit ends in the middle of a call.
  if (has('cut off at the limit')) return
  const again = has('call id repeated') || has('late call id') ? id : {}
  yield tool_calls({ arguments: text.slice(0, 5) }, again)
  yield tool_calls({ arguments: text.slice(5) }, has('call id repeated') ? id : {})
}

function wholeAnswer(response: ServerResponse, said: Said, call: Said['call'], has: Has): string {
  response.writeHead(200, { 'content-type': 'application/json' })
  const isCut = has('cut off at the limit')
  const finish_reason = isCut ? 'length' : call ? 'tool_calls' : 'stop'
  const tool_calls = call
    ? [{ id: 'call_9', type: 'function', function: { name: 'look', arguments: isCut ? '' : JSON.stringify(call) } }]
    : undefined
  const message = { role: 'assistant', content: call ? null : said.text, tool_calls }
  const choice = { index: 0, message, ...(!has('one JSON without a finish') && { finish_reason }) }
  return JSON.stringify({ id: 'c', object: 'chat.completion', choices: [choice], usage: usageOf(said, has) })
}
