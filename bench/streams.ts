import { create } from './fill.ts'
import { dial, type Load, type LoadResult, measure, requestSource, sortedAt } from './load.ts'
import type { Store, Subject } from './subject.ts'

const MESSAGE = 'Tell me about the harbour.'
const PACE_MS = 20
const PIECES = 60
const STREAMS_AT_ONCE = 500
/** A reader notices a pause that is longer. */
const MAX_GAP_MS = 100
const CONNECTIONS = 32

/**
 * When words reach the reader: the time to the first word, the time between words, and both with many readers at once.
 */
export function streamSubjects(key: string): Subject[] {
  const store: Store = {
    name: 'with models at a pace',
    async fill({ url }) {
      for (const [name, model] of [
        ['quick', String(PIECES)],
        ['paced', `${PIECES}-${PACE_MS}`],
      ]) {
        await create(url, key, 'agents', {
          name,
          model: `bench/${model}`,
          memory: { remember: false, history: 0, recall: 0 },
        })
      }
    },
  }
  const post = (path: string, body: object): Load => ({
    method: 'POST',
    path,
    headers: { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' },
    body: JSON.stringify(body),
  })
  const ofModel = (model: string) =>
    post('/chat/completions', { model, stream: true, messages: [{ role: 'user', content: MESSAGE }] })
  const ofAgent = (agent: string) => post(`/v1/agents/${agent}/invoke`, { message: MESSAGE })
  const get: Load = { method: 'GET', path: '/v1/agents/hello', headers: { Authorization: `Bearer ${key}` } }
  const wrong: Load = { ...get, headers: { Authorization: `Bearer ${key.slice(0, -1)}_` } }
  const row = (name: string, engine: Subject['engine'], load: Load, measured: Subject['measure']): Subject => ({
    group: 'streams',
    name,
    engine,
    load,
    ...(engine !== 'floor' && { store }),
    ...(measured && { measure: measured }),
  })
  return [
    row('first word, of the model itself', 'floor', get, ({ modelUrl }) =>
      firstWords(modelUrl, ofModel(String(PIECES))),
    ),
    row('first word', 'embedded', get, ({ url }) => firstWords(url, ofAgent('quick'))),
    row(`time between pieces at ${PACE_MS} ms`, 'embedded', get, ({ url }) => gaps(url, ofAgent('paced'), 1)),
    row(
      `${STREAMS_AT_ONCE} streams at ${PACE_MS} ms; failed: longer than ${MAX_GAP_MS} ms`,
      'embedded',
      get,
      ({ url }) => gaps(url, ofAgent('paced'), STREAMS_AT_ONCE),
    ),
    row('get agent, beside a flood of wrong keys', 'embedded', get, async ({ url }) => {
      const flood = measure(url, wrong, CONNECTIONS, 2_000)
      const good = await measure(url, get, CONNECTIONS, 2_000)
      await flood
      return good
    }),
  ]
}

/** How long the first piece of text takes, for one client that asks again and again. */
async function firstWords(url: string, load: Load): Promise<LoadResult> {
  const ASKED = 200
  const waits: number[] = []
  const began = performance.now()
  for (let i = 0; i < ASKED; i++) {
    const times = await readStream(url, load)
    waits.push(times[0] ?? Number.POSITIVE_INFINITY)
  }
  return summary(waits, began, 0)
}

/** How long each piece comes after the one before. */
async function gaps(url: string, load: Load, streams: number): Promise<LoadResult> {
  const began = performance.now()
  const all = await Promise.all(Array.from({ length: streams }, () => readStream(url, load)))
  const waits = all.flatMap((times) => times.slice(1).map((time, i) => time - (times[i] ?? 0)))
  return summary(waits, began, waits.filter((wait) => wait > MAX_GAP_MS).length)
}

function summary(waits: number[], began: number, failed: number): LoadResult {
  waits.sort((a, b) => a - b)
  const seconds = (performance.now() - began) / 1000
  return { requests: waits.length, seconds, p50_ms: sortedAt(waits, 0.5), p99_ms: sortedAt(waits, 0.99), failed }
}

/** Asks on a connection of its own. Returns when the pieces of text came, in milliseconds after the request. */
async function readStream(url: string, load: Load): Promise<number[]> {
  const { hostname, port } = new URL(url)
  const socket = await dial(hostname, Number(port))
  const times: number[] = []
  const { promise, resolve, reject } = Promise.withResolvers<number[]>()
  const sent = performance.now()
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('event: delta') || chunk.includes('"content":"')) times.push(performance.now() - sent)
    if (chunk.includes('0\r\n\r\n', chunk.length - 5)) resolve(times)
  })
  socket.once('error', reject)
  socket.once('close', () => resolve(times))
  socket.write(requestSource(url, load)())
  return promise.finally(() => socket.destroy())
}
