// A remote agent that misbehaves by seed: it answers with words and requests steps, and its answers are spoilt.
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { readBody } from '../../support/outside/local-server.ts'
import { type Random, randomOf } from '../random.ts'
import {
  cutsOf,
  type HostileServer,
  type Manners,
  mannersOf,
  openHostileServer,
  RUDE_MANNERS,
  sendBadly,
  WIRE_MANNERS,
  watchBusy,
} from './wire.ts'

const REMOTE_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  CRLF: 'fair',
  comments: 'fair',
  'no space after data': 'fair',
  'byte order mark': 'fair',
  'unknown events': 'fair',
  'unknown fields': 'fair',
  'one JSON': 'fair',
  'open after the end': 'fair',
  'words after the end': 'fair',
  'steps after the end': 'fair',
  'steps requested twice': 'fair',
  'reports usage': 'fair',
  'usage beyond the budget': 'fair',
  logs: 'fair',
  '503, once': 'fair',
  'odd steps': 'foul',
  'status 500': 'foul',
  'status 401': 'foul',
  'an error': 'foul',
  'no end': 'foul',
  'another shape': 'foul',
  HTML: 'foul',
  garbage: 'foul',
  'negative usage': 'foul',
  'absurd usage': 'foul',
  'its secrets in an error page': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof REMOTE_MANNERS

export type Step = { id: string; type: string; [field: string]: unknown }

export type Performance = {
  seed: number
  manners: Manner[]
  cuts: number[]
  /** The text of the answer, said in two parts, with the steps in between. */
  said: [string, string]
  /** The value that the text stands for, if one is wanted. */
  value: { said: string } | null
  steps: Step[]
  usage: { input_tokens: number; output_tokens: number }[]
}

const TEXTS = ['Ahoy! ', 'Grüße aus Møre', '👩‍👩‍👧 你好', 'a\nb\r\n\r\nc', 'x'.repeat(3_000), 'data: [DONE]\n\n', ' ']

export const isFair = ({ manners }: Performance) => manners.every((manner) => REMOTE_MANNERS[manner] === 'fair')

export const has = ({ manners }: Performance, manner: Manner) => manners.includes(manner)

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const manners = mannersOf(random, REMOTE_MANNERS)
  const value = random.chance(0.4) ? { said: random.of(TEXTS) } : null
  const text = value ? JSON.stringify(value) : random.of(TEXTS) + random.of(TEXTS)
  const at = 1 + random.below(text.length - 1)
  const isInside = /[\ud800-\udbff]/.test(text[at - 1] ?? '')
  const said: [string, string] = [text.slice(0, isInside ? at + 1 : at), text.slice(isInside ? at + 1 : at)]
  const most = manners.has('usage beyond the budget') ? 3 : manners.has('reports usage') ? 1 + random.below(2) : 0
  const usage = Array.from({ length: most }, () => ({
    input_tokens: 100 + random.below(900),
    output_tokens: random.below(50),
  }))
  const all = Array.from({ length: random.below(4) }, (_, i) => stepOf(random, `s${i}`))
  // A small budget has no room for a model.
  const steps = manners.has('usage beyond the budget') ? all.filter(({ type }) => type !== 'model') : all
  return { seed, manners: [...manners], cuts: cutsOf(random), said, value, steps, usage }
}

function stepOf(random: Random, id: string): Step {
  return random.of<Step>([
    { id, type: 'tool', tool: 'look', arguments: { filter: id } },
    { id, type: 'keep', value: { price: 7, of: ['x'] } },
    { id, type: 'memory_search', query: 'what was said about the safe', limit: 20 },
    { id, type: 'model', message: 'say it' },
  ])
}

/** Requests that no careful agent makes. Each is refused, or fails as a step. */
function oddSteps(random: Random): Step[] {
  const id = 'odd'
  return [
    random.of<Step>([
      { id, type: 'tool', tool: 'step.model', arguments: { message: 'x', history: [], max_output_tokens: -1e9 } },
      { id, type: 'tool', tool: 'step.memory_search', arguments: { query: 7, limit: 100_000 } },
      { id, type: 'tool', tool: 'step.sleep', arguments: { until: 1e300 } },
      { id, type: 'tool', tool: 'step.keep', arguments: {} },
      { id, type: 'model', message: 'x', max_output_tokens: -5 },
      { id, type: 'model', message: 'x', history: 'none' },
      { id, type: 'sleep', seconds: -1e300 },
      { id, type: 'memory_search', query: '', limit: -1 },
      { id, type: 'unheard-of' },
      { id: '', type: 'keep', value: 1 },
    ]),
  ]
}

export type Call = { headers: IncomingHttpHeaders; body: RemoteCall }

type RemoteCall = {
  request_id: string
  message: string
  history: { content: string }[]
  recalled: { content: string }[]
  steps_url: string
  steps_token: string
}

/** What the agent was asked, and what came of what it asked. */
export type Act = {
  performance: Performance
  calls: Call[]
  /** The arguments of each call of its tool. */
  tool: unknown[]
  /** The texts that a search of its memories has found. */
  found: string[]
  busy: Set<ServerResponse>
  wrong: string[]
}

export type HostileRemote = Pick<HostileServer, 'url' | 'host' | 'elsewhere' | 'close'> & {
  begin(name: string, performance: Performance): Act
}

export async function openHostileRemote(secret: string): Promise<HostileRemote> {
  const acts = new Map<string, Act>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const [, name = '', what = ''] = (request.url ?? '').split('/')
    const act = acts.get(name) as Act
    const text = await readBody(request)
    const body = JSON.parse(text || 'null')
    if (what === 'tool') {
      act.tool.push(body)
      return void response.end('found')
    }
    if (what === 'v1') return answerAsModel(response)
    watchBusy(act.busy, response)
    act.calls.push({ headers: request.headers, body })
    act.wrong.push(...wrongSignature(request.headers, text, secret))
    await answer(act, body, response, { elsewhere: elsewhere.url, secret })
  })
  return {
    ...server,
    begin(name, performance) {
      const act: Act = { performance, calls: [], tool: [], found: [], busy: new Set(), wrong: [] }
      acts.set(name, act)
      return act
    },
  }
}

/** The model that steps ask behaves. */
function answerAsModel(response: ServerResponse): void {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const choices = [{ index: 0, message: { role: 'assistant', content: 'said' }, finish_reason: 'stop' }]
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'c', choices, usage }))
}

function wrongSignature(headers: IncomingHttpHeaders, text: string, secret: string): string[] {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64')
  return signature === `v1,${signed}` ? [] : ['the call is not signed']
}

async function answer(
  act: Act,
  call: RemoteCall,
  response: ServerResponse,
  { elsewhere, secret }: { elsewhere: string; secret: string },
): Promise<void> {
  const { performance } = act
  const { manners, cuts } = performance
  const isLike = (manner: Manner) => manners.includes(manner)
  if (isLike('503, once') && act.calls.length === 1) {
    return void response.writeHead(503, { 'retry-after': '0' }).end('busy')
  }
  if (isLike('status 500')) return void response.writeHead(500).end('{"error":{"message":"no"}}')
  if (isLike('status 401')) return void response.writeHead(401).end('who are you?')
  if (isLike('its secrets in an error page'))
    return void response.writeHead(400, { 'content-type': 'text/html' }).end(`<p>${secret} ${call.steps_token}</p>`)
  if (isLike('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  const isWhole = isLike('one JSON')
  const type = isWhole ? 'application/json' : 'text/event-stream'
  const body = isWhole ? wholeOf(performance) : streamOf(performance)
  const share = isWhole ? 0 : body.indexOf(MIDDLE) / (body.length - MIDDLE.length)
  const sent = {
    headers: { 'content-type': type },
    body: body.replace(MIDDLE, ''),
    filler: isWhole ? ' ' : ': still here\n\n',
    staysOpen: isLike('open after the end'),
    between: { share, act: () => takeSteps(act, call) },
  }
  await sendBadly(response, sent, { has: (manner) => (manners as string[]).includes(manner), cuts, elsewhere })
  if (isLike('steps after the end') && isFair(performance)) await askAfterwards(act, call)
}

/** Where the steps are requested. */
const MIDDLE = '<steps>'

function streamOf(performance: Performance): string {
  const { said, usage } = performance
  const isLike = (manner: Manner) => performance.manners.includes(manner)
  const extra = isLike('unknown fields') ? { extra: { deep: [null] } } : {}
  const newline = isLike('CRLF') ? '\r\n' : '\n'
  const space = isLike('no space after data') ? '' : ' '
  const event = (name: string, data: object) =>
    [...(isLike('comments') ? [': a comment'] : []), `event:${space}${name}`, `data:${space}${JSON.stringify(data)}`]
      .map((line) => line + newline)
      .join('') + newline
  const spent = isLike('negative usage')
    ? [{ input_tokens: -5, output_tokens: -1 }]
    : isLike('absurd usage')
      ? [{ input_tokens: 1e300, output_tokens: 1e20 }]
      : usage
  const end = isLike('an error') ? event('error', { message: 'out of order' }) : event('done', { ...extra })
  const parts = [
    isLike('byte order mark') ? '\ufeff' : '',
    isLike('unknown events') ? event('ping', { at: 1 }) : '',
    isLike('logs') ? event('log', { level: 'loud', message: 'a note' }) : '',
    isLike('another shape') ? event('delta', { text: 7 }) : event('delta', { text: said[0], ...extra }),
    isLike('garbage') ? `event: delta${newline}data: {"text": ${newline}${newline}` : '',
    MIDDLE,
    ...spent.map((one) => event('usage', { model: 'far/small', ...one })),
    event('delta', { text: said[1] }),
    isLike('no end') ? '' : end,
    isLike('words after the end') ? event('delta', { text: ' and more' }) : '',
  ]
  return parts.join('')
}

function wholeOf(performance: Performance): string {
  const { said, value, usage } = performance
  const isLike = (manner: Manner) => performance.manners.includes(manner)
  const spent = isLike('negative usage')
    ? [{ input_tokens: -5 }]
    : isLike('absurd usage')
      ? [{ input_tokens: 1e300 }]
      : usage
  const answered = value ? { output: value } : { response: said.join('') }
  return (
    MIDDLE +
    JSON.stringify({
      ...(isLike('an error')
        ? { error: { message: 'out of order' } }
        : isLike('another shape')
          ? { response: 7 }
          : answered),
      ...(spent.length > 0 && { usage: spent.map((one) => ({ model: 'far/small', ...one })) }),
      ...(isLike('logs') && { logs: [{ level: 'loud', message: 'a note' }] }),
      ...(isLike('unknown fields') && { extra: { deep: [null] } }),
    }) +
    (isLike('garbage') ? '}{' : '')
  )
}

type Done = { id: string; result?: unknown; error?: string }

/** Each step is requested as the SDK does, and once more if the reply got lost. */
async function takeSteps(act: Act, call: RemoteCall): Promise<void> {
  const { performance } = act
  const odd = has(performance, 'odd steps') ? oddSteps(randomOf(performance.seed)) : []
  if (odd.length > 0) await takeOdd(act, call, odd)
  for (const step of performance.steps) {
    const reply = await askFor(call, [step])
    const again = has(performance, 'steps requested twice') ? await askFor(call, [step]) : reply
    if (reply.status !== 200) {
      if (reply.status !== 409) act.wrong.push(`a step was answered with ${reply.status}: ${reply.text}`)
      continue
    }
    const [done] = reply.steps
    if (again.status === 200 && JSON.stringify(again.steps) !== JSON.stringify(reply.steps))
      act.wrong.push(`a step has two results: ${reply.text} and ${again.text}`)
    if (done) act.wrong.push(...wrongResult(step, done))
    if (step.type === 'memory_search' && Array.isArray(done?.result))
      act.found.push(...done.result.map(({ content }: { content: string }) => content))
  }
}

function wrongResult({ type, value }: Step, { result, error }: Done): string[] {
  if (error !== undefined) return [`a ${type} step failed: ${error}`]
  const due = { tool: '"found"', keep: JSON.stringify(value), model: '"said"' }[type]
  return due === undefined || JSON.stringify(result) === due ? [] : [`a ${type} step has ${JSON.stringify(result)}`]
}

async function takeOdd(act: Act, call: RemoteCall, odd: Step[]): Promise<void> {
  const { status, steps, text } = await askFor(call, odd)
  const isRefused =
    (status >= 400 && status < 500) || (status === 200 && steps.every(({ error }) => error !== undefined))
  if (!isRefused) act.wrong.push(`the step ${JSON.stringify(odd[0])} was answered with ${status}: ${text}`)
}

async function askAfterwards(act: Act, call: RemoteCall): Promise<void> {
  const made = act.tool.length
  const { status, text } = await askFor(call, [
    { id: 'late', type: 'tool', tool: 'look', arguments: { filter: 'late' } },
  ])
  if (status !== 409 && status !== 401) act.wrong.push(`a step after the end was answered with ${status}: ${text}`)
  if (act.tool.length > made) act.wrong.push('a tool was called after the end')
}

async function askFor(call: RemoteCall, steps: Step[]): Promise<{ status: number; steps: Done[]; text: string }> {
  try {
    const response = await fetch(call.steps_url, {
      method: 'POST',
      headers: { authorization: `Bearer ${call.steps_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ steps }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    const { data } = JSON.parse(text)
    return { status: response.status, steps: data?.steps ?? [], text: text.slice(0, 200) }
  } catch (error) {
    return { status: 409, steps: [], text: String(error) }
  }
}
