import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { pdf } from '../test/support/slices/files.ts'
import { create, fillMemory } from './fill.ts'
import type { FloodData } from './flood-sender.ts'
import { type Load, type LoadResult, measure } from './load.ts'
import type { Store, Subject } from './subject.ts'

const FLOODED = 'flooded'
const FLOODING = 'flooding'
const ANNOUNCED = 'announced'
const READER = 'reader'
const USER = 'ada'
/** Connections of the project that floods, and of the other one, which is measured. */
const CONNECTIONS_OF_FLOOD = 8
const CONNECTIONS = 4
const MEASURED_MS = 3_000
/** A flood has come to its full height by then. */
const RISES_MS = 1_000
const MEMORIES = 2_000
const WORDS = 400
const WEBHOOKS = 5
/** The bodies of a flood are made beforehand: what sends it also measures. */
const BODIES = 20
const PAGES = 300
const MIB_OF_WORDS = 'words of a file '.repeat(65_536)

type Flood = { name: string; loads: Load[] }

/** What the flooding project asks for, with its key. */
function floodsOf(key: string): Flood[] {
  const headers = { Authorization: `Bearer ${key}` }
  const post = (path: string, body: object): Load => ({ method: 'POST', path, headers, body: JSON.stringify(body) })
  const pages = pdf(Array.from({ length: PAGES }, (_, i) => `Page ${i}: ${randomText()}`))
  const bodies = Array.from({ length: BODIES }, () => ({ items: Array.from({ length: 100 }, randomMemory) }))
  return [
    { name: 'runs', loads: [post(`/v1/agents/${FLOODED}/invoke`, { message: 'Ahoy' })] },
    { name: 'webhooks', loads: [post(`/v1/agents/${ANNOUNCED}/invoke`, { message: 'Ahoy' })] },
    {
      name: 'uploads',
      loads: [
        {
          method: 'POST',
          path: '/v1/files?name=@@@@@@@@.txt',
          headers: { ...headers, 'Content-Type': 'text/plain' },
          body: `@@@@@@@@ ${MIB_OF_WORDS}`,
        },
      ],
    },
    {
      name: 'PDFs',
      loads: [
        post(`/v1/agents/${READER}/invoke`, {
          message: 'Read this',
          attachments: [{ name: 'many-pages.pdf', data: Buffer.from(pages).toString('base64') }],
        }),
      ],
    },
    {
      name: 'schemas',
      loads: [
        post(`/v1/agents/${READER}/invoke`, {
          message: 'Answer',
          output: { schema: { type: 'object', title: '@@@@@@@@', properties: { a: { pattern: '^(a+)+$' } } } },
        }),
      ],
    },
    { name: 'memories', loads: bodies.map((body) => post(`/v1/agents/${FLOODED}/memory`, body)) },
    {
      name: 'searches',
      loads: [
        post(`/v1/agents/${FLOODED}/memory/search`, {
          query: '@@@@@@@@ rope in Bergen on Tuesday',
          context: { user_id: USER },
        }),
      ],
    },
  ]
}

/**
 * How long the invokes of one project take while another project floods the service. The flood has the rate limit of
 * the default tier, as keys have that nobody thought about; the rows are compared with the same invokes alone.
 */
export function floodSubjects(key: string): Subject[] {
  const floodedBy = new Map<string, Flood[]>()
  const store: Store = {
    name: 'with two projects',
    async fill({ url, modelUrl }) {
      await create(url, key, 'projects', { name: FLOODING })
      const make = (what: string, fields: object) => create(url, key, what, fields, FLOODING)
      const { id } = await make('agents', { name: ANNOUNCED })
      for (let i = 0; i < WEBHOOKS; i++) {
        await make('webhooks', { agent_id: id, url: `${modelUrl}/hook/${i}`, events: ['agent.completed'] })
      }
      await make('agents', { name: FLOODED })
      await make('agents', { name: READER, model: 'bench/1', memory: { remember: false } })
      await fillMemory(url, key, {
        users: [USER],
        memories: MEMORIES,
        text: randomText,
        agent: FLOODED,
        project: FLOODING,
      })
      const made = await make('keys', { name: FLOODING, role: 'developer', tier: 'pro' })
      floodedBy.set(url, floodsOf(made.key ?? ''))
    },
  }
  const load: Load = {
    method: 'POST',
    path: '/v1/agents/hello/invoke',
    headers: { Authorization: `Bearer ${key}` },
    body: JSON.stringify({ message: 'Will the ferry sail today?' }),
  }
  const alone = 'invoke in one project'
  return (['embedded', 'PostgreSQL'] as const).flatMap((engine): Subject[] => {
    const subject = { group: 'floods', engine, load, store } as const
    return [
      { ...subject, name: alone, measure: ({ url }) => measure(url, load, CONNECTIONS, MEASURED_MS) },
      ...floodsOf('').map(
        ({ name }, i): Subject => ({
          ...subject,
          name: `${alone}, beside a flood of ${name}`,
          grownFrom: alone,
          measure: ({ url }) => besideFlood(url, floodedBy.get(url)?.[i]?.loads ?? [], load),
        }),
      ),
    ]
  })
}

/** Another thread sends the flood: its megabytes must not delay the thread that takes the time of the invokes. */
async function besideFlood(url: string, loads: Load[], load: Load): Promise<LoadResult> {
  const workerData: FloodData = { url, loads, connections: CONNECTIONS_OF_FLOOD }
  const sender = new Worker(new URL('./flood-sender.ts', import.meta.url), { workerData })
  await once(sender, 'online')
  await setTimeout(RISES_MS)
  try {
    return await measure(url, load, CONNECTIONS, MEASURED_MS)
  } finally {
    await sender.terminate()
  }
}

function randomMemory() {
  return { content: randomText(), context: { user_id: USER } }
}

/** Random words are the dearest: each is a new term. */
function randomText(): string {
  return Array.from({ length: WORDS }, () => randomBytes(4).toString('hex')).join(' ')
}
