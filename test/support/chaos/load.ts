import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, ClusterNode } from './cluster.ts'

/** A request that takes longer than this is stuck. */
const STUCK_MS = 60_000

export type Answer = { status: number; text: string }

/** What the clients were told, and everything that they should not have seen. */
export type LoadLog = {
  /** Request IDs, by what the client was promised. */
  answered: Set<string>
  accepted: Set<string>
  /** The request IDs that each Idempotency-Key got in replies. */
  byKey: Map<string, Set<string>>
  memories: Set<string>
  /** How many requests of the key with a low limit were allowed. */
  freePassed: number
  wrong: string[]
  counts: Map<string, number>
}

export type Load = { seen: LoadLog; total(): number; stop(): Promise<void> }

type Random = () => number
type Client = (ask: Ask, random: Random, seen: LoadLog, isOver: () => boolean) => Promise<void>
type Ask = (method: string, path: string, options?: AskOptions) => Promise<Answer | undefined>
type AskOptions = { body?: unknown; headers?: { [name: string]: string }; key?: string; expect?: readonly number[] }

type Names = { free: string; plain: string; tool: string; limited: string }

/** In milliseconds: how long a client pauses between two requests, and how long it waits for the last one. */
type Pace = { pause: number; patience: number }

/** Clients of every kind, each with one request in progress at a time, on randomly chosen nodes. */
export function startLoad(cluster: Cluster, names: Names, random: Random, { patience, pause }: Pace): Load {
  const seen: LoadLog = {
    answered: new Set(),
    accepted: new Set(),
    byKey: new Map(),
    memories: new Set(),
    freePassed: 0,
    wrong: [],
    counts: new Map(),
  }
  const over = new AbortController()
  const goneHome = new AbortController()
  const clients = clientsOf(names).flatMap(([kind, many, client]) =>
    Array.from({ length: many }, async (_, i) => {
      const ask = asker(cluster, kind, random, seen, goneHome.signal)
      await delay(i * 5)
      while (!over.signal.aborted) {
        await client(ask, random, seen, () => goneHome.signal.aborted)
        await delay(pause * (0.5 + random()))
      }
    }),
  )
  return {
    seen,
    total: () => [...seen.counts.values()].reduce((sum, some) => sum + some, 0),
    async stop() {
      over.abort()
      // Clients that still wait for a reply then disconnect, such as those that wait for a killed node's claim.
      const home = setTimeout(() => goneHome.abort(), patience)
      await Promise.all(clients)
      clearTimeout(home)
    },
  }
}

/** Sends one request to one node. Undefined if no node is reachable. */
function asker({ nodes, admin }: Cluster, kind: string, random: Random, seen: LoadLog, goneHome: AbortSignal): Ask {
  return async (method, path, { body, headers = {}, key = admin, expect = [200, 201, 202] } = {}) => {
    // As behind a load balancer, no new requests are sent to a node that says it is stopping.
    const staying = nodes.filter(({ isUp, wasKilled }) => isUp || wasKilled)
    const node = staying[Math.floor(random() * staying.length)] as ClusterNode
    const started = performance.now()
    try {
      const response = await fetch(node.service.url() + path, {
        method,
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([AbortSignal.timeout(STUCK_MS), goneHome]),
      })
      const text = await response.text()
      const { status } = response
      count(seen, `${kind} ${status}`)
      const isRight = expect.includes(status) || (status === 503 && response.headers.get('retry-after') !== null)
      if (!isRight) seen.wrong.push(`${kind}: ${method} ${path} on ${node.name} answered ${status}: ${text}`)
      return { status, text }
    } catch (error) {
      if (goneHome.aborted) return undefined
      const { message, cause } = error as Error & { cause?: Error & { code?: string } }
      const why = cause?.code ?? cause?.message ?? message
      // A client may lose its connection to a node that was killed, and can't connect to a node that is down.
      const wasDown = !node.isUp || started < node.upSince
      const isRight = wasDown && (node.wasKilled || why === 'ECONNREFUSED')
      count(seen, `${kind} ${isRight ? 'gone' : 'failed'}`)
      if (!isRight) {
        const took = Math.round(performance.now() - started)
        seen.wrong.push(`${kind}: ${method} ${path} on ${node.name} failed after ${took} ms: ${why}`)
      }
      return undefined
    }
  }
}

function count({ counts }: LoadLog, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

function clientsOf({ free, plain, tool, limited }: Names): [kind: string, many: number, client: Client][] {
  const invoke = (agent: string) => `/v1/agents/${agent}/invoke`
  const remember = (set: Set<string>, answer: Answer | undefined, status: number) => {
    if (answer?.status === status) set.add(JSON.parse(answer.text).data.request_id)
  }
  const messageOf = (random: Random) => `m${Math.floor(random() * 1e12)}`

  const reply: Client = async (ask, random, { answered }) => {
    remember(answered, await ask('POST', invoke(tool), { body: { message: messageOf(random) } }), 200)
  }
  const background: Client = async (ask, random, { accepted }) => {
    const options = { body: { message: messageOf(random) }, headers: { Prefer: 'respond-async' } }
    remember(accepted, await ask('POST', invoke(tool), options), 202)
  }
  const stream: Client = async (ask, random, { answered, wrong }) => {
    const options = { body: { message: messageOf(random) }, headers: { Accept: 'text/event-stream' } }
    const answer = await ask('POST', invoke(plain), options)
    if (answer?.status !== 200) return
    const [, event, data = '{}'] = /event: (\w+)\ndata: (.*)\n\n$/.exec(answer.text) ?? []
    if (event === 'done') answered.add(JSON.parse(data).data.request_id)
    else if (JSON.parse(data).error?.code !== 'unavailable') wrong.push(`stream ended with: ${answer.text.slice(-300)}`)
  }
  /**
   * Retries with the same key until there is a reply, as a careful client does, and then sends the request once more.
   */
  const keyed: Client = async (ask, random, { byKey, answered }, isOver) => {
    const key = messageOf(random)
    const ids = new Set<string>()
    byKey.set(key, ids)
    const path = random() < 0.5 ? invoke(plain) : invoke(tool)
    const options = { body: { message: key }, headers: { 'Idempotency-Key': key } }
    for (let answers = 0, tries = 0; answers < 2 && tries < 200 && !isOver(); tries++) {
      const answer = await ask('POST', path, options)
      if (answer?.status === 200) {
        answers++
        remember(ids, answer, 200)
        remember(answered, answer, 200)
      } else await delay(100)
    }
  }
  const session: Client = async (ask, random, { answered, memories }) => {
    const context = { user_id: `u${Math.floor(random() * 5)}`, session_id: `s${Math.floor(random() * 5)}` }
    remember(answered, await ask('POST', invoke(plain), { body: { message: messageOf(random), context } }), 200)
    const note = { items: [{ content: messageOf(random), context }] }
    const written = await ask('POST', `/v1/agents/${plain}/memory`, { body: note })
    if (written?.status === 201) for (const { id } of JSON.parse(written.text).data.items) memories.add(id)
  }
  const crowd: Client = async (ask, random, { answered }) => {
    const options = { body: { message: messageOf(random) }, expect: [200, 429] }
    remember(answered, await ask('POST', invoke(limited), options), 200)
  }
  const poor: Client = async (ask, _random, seen) => {
    const answer = await ask('GET', '/v1/keys/self', { key: free, expect: [200, 429] })
    if (answer?.status === 200) seen.freePassed++
    await delay(20)
  }
  return [
    ['reply', 5, reply],
    ['background', 3, background],
    ['stream', 3, stream],
    ['keyed', 5, keyed],
    ['session', 3, session],
    ['crowd', 6, crowd],
    ['poor', 3, poor],
  ]
}
