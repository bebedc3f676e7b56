// A receiver of webhooks that misbehaves by seed, attempt by attempt.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { readBody } from '../../support/outside/local-server.ts'
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

const RECEIVER_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  // Whatever it says, it says 2xx: the content of an answer is of no interest.
  gzip: 'fair',
  'compressed bomb': 'fair',
  'early end': 'fair',
  'status 202': 'fair',
  'status 204': 'fair',
  HTML: 'fair',
  'status 404': 'foul',
  'status 500': 'foul',
  'status 429': 'foul',
  'status 410': 'foul',
  'too large': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof RECEIVER_MANNERS

/** What a receiver asks for when it fails, and how long that is in milliseconds: what cannot be understood is nothing. */
const RETRY_AFTER: Record<string, number> = {
  '7': 7_000,
  '3600': 3_600_000,
  '100000': 86_400_000,
  '999999999': 86_400_000,
  '-5': 0,
  soon: 0,
  '1e3': 0,
  '': 0,
}

/** How one attempt is answered. */
export type Attempt = { manners: Manner[]; cuts: number[]; retryAfter: string | null }

export type Performance = { seed: number; attempts: Attempt[] }

/** The last attempt: "A delivery is tried up to eight times". */
const MOST = 8

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const attempts = Array.from({ length: MOST }, () => ({
    manners: [...mannersOf(random, RECEIVER_MANNERS)],
    cuts: cutsOf(random),
    retryAfter: random.chance(0.4) ? random.of(Object.keys(RETRY_AFTER)) : null,
  }))
  return { seed, attempts }
}

const has = ({ manners }: Attempt, manner: Manner) => manners.includes(manner)

export const statusOf = (attempt: Attempt): number => {
  for (const status of [410, 404, 500, 429, 202, 204] as const) if (has(attempt, `status ${status}`)) return status
  return 200
}

export const isFair = ({ manners }: Attempt) => manners.every((manner) => RECEIVER_MANNERS[manner] === 'fair')

/** A receiver that answers with another status may wish for a time, if it gets so far. */
export const wishOf = (attempt: Attempt): number | undefined =>
  attempt.retryAfter === null ? undefined : RETRY_AFTER[attempt.retryAfter]

/** What arrived. */
export type Arrival = { headers: IncomingHttpHeaders; body: string }

export type Act = { performance: Performance; arrivals: Arrival[]; busy: Set<ServerResponse> }

export type HostileReceiver = Pick<HostileServer, 'url' | 'elsewhere' | 'close'> & {
  begin(performance: Performance): Act
}

export async function openHostileReceiver(): Promise<HostileReceiver> {
  const acts = new Map<string, Act>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const act = acts.get((request.url ?? '').slice(1)) as Act
    watchBusy(act.busy, response)
    act.arrivals.push({ headers: request.headers, body: await readBody(request) })
    const attempt = act.performance.attempts[act.arrivals.length - 1]
    if (!attempt) return void response.end()
    const status = statusOf(attempt)
    if (status === 204) return void response.writeHead(204).end()
    const wish = attempt.retryAfter === null ? {} : { 'retry-after': attempt.retryAfter }
    const type = has(attempt, 'HTML') ? 'text/html' : 'application/json'
    const body = has(attempt, 'too large') ? 'x'.repeat(100_000) : '{"received":true,"name":"Grüße"}'
    const sent = { status, headers: { 'content-type': type, ...wish }, body, filler: 'and so on\n' }
    const own = { has: (manner: Manner) => has(attempt, manner), cuts: attempt.cuts, elsewhere: elsewhere.url }
    await sendBadly(response, sent, own)
  })
  return {
    ...server,
    begin(performance) {
      const act: Act = { performance, arrivals: [], busy: new Set() }
      acts.set(String(performance.seed), act)
      return act
    },
  }
}
