// A bucket that misbehaves by seed, while a file is uploaded, read or deleted.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { randomOf } from '../random.ts'
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

const S3_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  'status 500, once': 'fair',
  'status 503, twice': 'fair',
  'status 429, once': 'fair',
  'reset, once': 'fair',
  'status 500': 'foul',
  'status 403': 'foul',
  'status 404': 'foul',
  HTML: 'foul',
  'an error in 200': 'foul',
  'ranges are ignored': 'foul',
  'another range': 'foul',
  'too much': 'foul',
  'too little': 'foul',
  'other bytes': 'foul',
  'no Content-Range': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof S3_MANNERS

/** What is asked while the bucket misbehaves. At all other times, it behaves. */
export type Phase = 'upload' | 'read' | 'delete'

export type Performance = {
  seed: number
  phase: Phase
  manners: Manner[]
  cuts: number[]
  content: Buffer
  range: [number, number]
}

export const isFair = ({ manners }: Performance) => manners.every((manner) => S3_MANNERS[manner] === 'fair')

/** A silent bucket is given up only after minutes. */
const SILENT_SHARE = 0.04
const SILENT: Manner[] = ['no answer', 'silence', 'endless']

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const phase = random.of(['upload', 'read', 'read', 'delete'] as const)
  const manners = mannersOf(random, S3_MANNERS)
  if (!random.chance(SILENT_SHARE)) for (const manner of SILENT) manners.delete(manner)
  const size = random.of([1, 50, 4_096, 70_000, 300_000])
  const content = Buffer.from(Array.from({ length: size }, (_, i) => (seed + i * 31) % 251))
  const start = random.below(size)
  const range: [number, number] = [start, start + random.below(size - start)]
  return { seed, phase, manners: [...manners], cuts: cutsOf(random), content, range }
}

export type Act = { performance: Performance; isRude: boolean; asked: number; busy: Set<ServerResponse> }

export type HostileS3 = Pick<HostileServer, 'url' | 'elsewhere' | 'close'> & {
  /** What happens in this bucket from now on. */
  begin(bucket: string, performance: Performance): Act
}

export async function openHostileS3(): Promise<HostileS3> {
  const acts = new Map<string, Act>()
  const objects = new Map<string, Buffer>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const [, bucket = ''] = (request.url ?? '').split('/')
    const act = acts.get(bucket)
    const body = await bytesOf(request)
    if (act) watchBusy(act.busy, response)
    if (!act?.isRude) return answer(request, response, body, objects)
    act.asked += 1
    await answerRudely(request, response, { body, objects, act, elsewhere: elsewhere.url })
  })
  return {
    ...server,
    begin(bucket, performance) {
      const act: Act = { performance, isRude: false, asked: 0, busy: new Set() }
      acts.set(bucket, act)
      return act
    },
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type Answer = { status: number; headers: Record<string, string>; body: Buffer }

function answerOf({ method, url = '', headers }: IncomingMessage, body: Buffer, objects: Map<string, Buffer>): Answer {
  if (method === 'PUT') {
    objects.set(url, body)
    return { status: 200, headers: { etag: '"e"' }, body: Buffer.alloc(0) }
  }
  if (method === 'DELETE') {
    objects.delete(url)
    return { status: 204, headers: {}, body: Buffer.alloc(0) }
  }
  const object = objects.get(url)
  if (!object) return { status: 404, headers: {}, body: error('NoSuchKey') }
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(String(headers.range)) ?? []
  const part = object.subarray(Number(start), Number(end) + 1)
  return { status: 206, headers: { 'content-range': `bytes ${start}-${end}/${object.length}` }, body: part }
}

const error = (code: string) =>
  Buffer.from(`<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`)

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer, objects: Map<string, Buffer>): void {
  const { status, headers, body: said } = answerOf(request, body, objects)
  response.writeHead(status, { ...headers, 'content-length': said.length }).end(status === 204 ? undefined : said)
}

type Exchange = { body: Buffer; objects: Map<string, Buffer>; act: Act; elsewhere: string }

async function answerRudely(
  request: IncomingMessage,
  response: ServerResponse,
  { body, objects, act, elsewhere }: Exchange,
): Promise<void> {
  const { manners, cuts } = act.performance
  const has = (manner: Manner) => manners.includes(manner)
  const fail = (status: number) =>
    void response.writeHead(status, { 'content-type': 'application/xml' }).end(error('No'))
  const isAt = (times: number) => act.asked <= times
  if (has('reset, once') && isAt(1)) return void request.socket.resetAndDestroy()
  if (has('status 500, once') && isAt(1)) return fail(500)
  if (has('status 429, once') && isAt(1)) return fail(429)
  if (has('status 503, twice') && isAt(2)) return fail(503)
  for (const status of [500, 403, 404] as const) if (has(`status ${status}`)) return fail(status)
  if (has('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  if (has('an error in 200')) return void response.writeHead(200).end(error('InternalError'))
  const right = answerOf(request, body, objects)
  const {
    status,
    headers,
    body: said,
  } = request.method === 'GET' ? distorted(right, has, objects.get(request.url ?? '')) : right
  if (status === 204 && !has('no answer') && !has('not HTTP')) return void response.writeHead(204).end()
  const sent = { status, headers, body: said, filler: 'and so on\n' }
  await sendBadly(response, sent, { has: (manner) => (manners as string[]).includes(manner), cuts, elsewhere })
}

function distorted(right: Answer, has: (manner: Manner) => boolean, object: Buffer = Buffer.alloc(0)): Answer {
  const { headers, body } = right
  if (has('ranges are ignored')) return { status: 200, headers: {}, body: object }
  if (has('another range'))
    return { status: 206, headers: { 'content-range': `bytes 0-0/${object.length}` }, body: object.subarray(0, 1) }
  if (has('no Content-Range')) return { ...right, headers: {} }
  if (has('too much')) return { ...right, body: Buffer.concat([body, Buffer.from('HTTP/1.1 200 OK\r\n\r\nsmuggled')]) }
  if (has('too little')) return { ...right, body: body.subarray(0, Math.max(0, body.length - 1)) }
  if (has('other bytes')) return { status: 206, headers, body: Buffer.from(body.map((byte) => byte ^ 1)) }
  return right
}
