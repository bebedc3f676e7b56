// A server whose answers are spoilt on their way, whatever they say. Providers, tools and receivers share it.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Random } from '../random.ts'

/**
 * `fair`: a careful reader gets the right answer in spite of it. `foul`: a reader may fail, and says so.
 */
export type Manners = Record<string, 'fair' | 'foul'>

export const WIRE_MANNERS = {
  'bytes in pieces': 'fair',
  'interim 102': 'fair',
  'interim 103': 'fair',
  slow: 'fair',
  gzip: 'foul',
  reset: 'foul',
  'early end': 'foul',
  silence: 'foul',
  endless: 'foul',
  redirect: 'foul',
} as const satisfies Manners

/** Spoils the beginning of an answer or its content, and is of no use to others. */
export const RUDE_MANNERS = {
  'no answer': 'foul',
  'redirect to another host': 'foul',
  'compressed bomb': 'foul',
  'huge headers': 'foul',
  'broken chunks': 'foul',
  'not HTTP': 'foul',
} as const satisfies Manners

export type WireManner = keyof typeof WIRE_MANNERS | keyof typeof RUDE_MANNERS

/** At least one, mostly few. */
export function mannersOf<Manner extends string>(random: Random, all: Record<Manner, 'fair' | 'foul'>): Set<Manner> {
  const names = Object.keys(all) as Manner[]
  const manners = new Set<Manner>()
  while (manners.size === 0 || random.chance(0.45)) manners.add(random.of(names))
  return manners
}

export const cutsOf = (random: Random): number[] => Array.from({ length: 12 }, () => random.next())

type Sent = {
  status?: number
  headers: Record<string, string>
  body: Buffer | string
  /** An endless answer repeats it. */
  filler: string
  /** Follows after the cut. */
  tail?: string
  /** The answer stays open when all of it was sent. */
  staysOpen?: boolean
  /** Something that is done after this share of the body was sent. */
  between?: { share: number; act: () => Promise<void> }
}

/** Where redirects lead to. Nothing should ever arrive there. */
type Spoiling = { has: (manner: WireManner) => boolean; cuts: readonly number[]; elsewhere: string }

export async function sendBadly(
  response: ServerResponse,
  { status = 200, headers, body, filler, tail, staysOpen = false, between }: Sent,
  { has, cuts, elsewhere }: Spoiling,
): Promise<void> {
  if (has('no answer')) return
  if (has('not HTTP')) return void response.socket?.end('220 mail.example.com ESMTP\r\n')
  if (has('interim 102')) response.writeProcessing()
  if (has('interim 103')) response.writeEarlyHints({ link: '</style.css>; rel=preload' })
  if (has('redirect')) return void response.writeHead(302, { ...headers, location: '/elsewhere' }).end()
  if (has('redirect to another host')) return void response.writeHead(307, { ...headers, location: elsewhere }).end()
  const isPacked = has('gzip') || has('compressed bomb')
  const padding = has('huge headers') ? { 'x-padding': 'x'.repeat(200_000) } : {}
  const bytes = has('compressed bomb') ? BOMB : has('gzip') ? gzipSync(body) : Buffer.from(body)
  response.writeHead(status, { ...headers, ...padding, ...(isPacked && { 'content-encoding': 'gzip' }) })
  if (has('broken chunks')) return void response.socket?.end('zz\r\nnot a length')
  const isCut = has('reset') || has('early end') || has('silence') || tail !== undefined
  const sent = isCut ? bytes.subarray(0, Math.floor(bytes.length * (cuts[0] ?? 0.5))) : bytes
  const places = has('bytes in pieces') ? cuts : []
  const stop = between ? [isPacked ? 0 : between.share] : []
  let isLeft = between !== undefined
  for (const [i, piece] of split(sent, [...places, ...stop]).entries()) {
    if (isLeft && i > [...places].filter((place) => place < (stop[0] ?? 0)).length) {
      isLeft = false
      await between?.act()
    }
    response.write(piece)
    if (has('slow')) await delay(30)
    else if (places.length > 0) await delay(1)
  }
  if (has('reset')) return void response.socket?.resetAndDestroy()
  if (has('silence')) return void response.flushHeaders()
  if (tail !== undefined) response.write(tail)
  if (has('endless')) return goOn(response, filler)
  if (!staysOpen) response.end()
}

const BOMB = gzipSync(Buffer.alloc(20 * 2 ** 20))

async function goOn(response: ServerResponse, filler: string): Promise<void> {
  while (!response.destroyed) {
    response.write(filler)
    await delay(50)
  }
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length].toSorted((a, b) => a - b)
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end))
}

/** What came to the place to which redirects lead. */
export type Elsewhere = { url: string; came: { path: string; headers: IncomingHttpHeaders }[] }

export type HostileServer = { url: string; host: string; elsewhere: Elsewhere; close(): Promise<void> }

export async function openHostileServer(
  answer: (request: IncomingMessage, response: ServerResponse, elsewhere: Elsewhere) => Promise<void>,
): Promise<HostileServer> {
  const came: Elsewhere['came'] = []
  const other = await listen(async ({ url = '', headers }, response) => {
    came.push({ path: url, headers })
    response.end('you should not be here')
  })
  const elsewhere = { url: `${other.url}/elsewhere`, came }
  const server = await listen((request, response) => answer(request, response, elsewhere))
  return {
    url: server.url,
    host: server.host,
    elsewhere,
    async close() {
      await server.close()
      await other.close()
    },
  }
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers that are still being read. */
export function watchBusy(busy: Set<ServerResponse>, response: ServerResponse): void {
  busy.add(response)
  response.on('close', () => busy.delete(response))
}
