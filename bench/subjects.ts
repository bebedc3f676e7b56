import { create } from './fill.ts'
import { listSubjects } from './lists.ts'
import type { Load, Measured } from './load.ts'
import type { StoredServer } from './servers.ts'
import { webhookSubjects } from './webhooks.ts'

export type Engine = 'embedded' | 'PostgreSQL' | 'PostgreSQL + Redis'

/** What is measured: one request, repeated, on a server with one engine. */
export type Subject = {
  group: 'requests' | 'memory' | 'searching' | 'lists' | 'webhooks'
  name: string
  engine: Engine
  load: Load
  /** What is written through the API before the first measurement. */
  fill?: Fill
  connections?: number
  /** Subjects of one group and engine share a server; those with a store share one that was filled so. */
  store?: Store
  /** Measured for a shorter time: its requests differ little. */
  brief?: boolean
  /** Whether it is told what one request adds to the disk. */
  disk?: boolean
  /** The name of the same subject with few rows. */
  grownFrom?: string
  /** Measures it in another way than by repeating the request for some time. */
  measure?(server: StoredServer): Promise<Measured>
}

/** What a server has before anything is measured. */
export type Store = { name: string; fill(server: StoredServer): Promise<void> }

/** How many memories each of the users gets. */
export type Fill = { users: string[]; memories: number; text(i: number): string }

const MESSAGE = 'What is the weather like in the harbour today, and will the ferry sail?'
const INVOKE = '/v1/agents/hello/invoke'
const FORGETFUL = 'forgetful'

/** The long lists have so many `rows`. */
export function subjectsFor(key: string, rows: number): Subject[] {
  const headers = { Authorization: `Bearer ${key}` }
  const post = (path: string, body: object, more: Record<string, string> = {}): Load => ({
    method: 'POST',
    path,
    headers: { ...headers, ...more },
    body: JSON.stringify(body),
  })
  const get = (path: string): Load => ({ method: 'GET', path, headers })
  const invoke = post(INVOKE, { message: MESSAGE })
  const chat = post('/v1/chat/completions', { model: 'hello', messages: [{ role: 'user', content: MESSAGE }] })
  const asUser = (user_id: string, message = MESSAGE) =>
    post(INVOKE, { message, context: { user_id, session_id: 'session-@@@@@@@@' } })
  const search = post('/v1/agents/hello/memory/search', { query: 'which harbour did the Nightingale leave from' })

  const requests: Subject[] = [
    { group: 'requests', name: 'invoke', engine: 'embedded', load: invoke, disk: true },
    { group: 'requests', name: 'invoke', engine: 'PostgreSQL', load: invoke },
    { group: 'requests', name: 'invoke', engine: 'PostgreSQL + Redis', load: invoke },
    { group: 'requests', name: 'chat completion', engine: 'embedded', load: chat },
    { group: 'requests', name: 'chat completion', engine: 'PostgreSQL', load: chat },
    {
      group: 'requests',
      name: 'invoke, streamed',
      engine: 'embedded',
      load: post(INVOKE, { message: MESSAGE }, { Accept: 'text/event-stream' }),
    },
    {
      group: 'requests',
      name: 'invoke, Idempotency-Key',
      engine: 'embedded',
      load: post(INVOKE, { message: MESSAGE }, { 'Idempotency-Key': 'bench-@@@@@@@@' }),
    },
    {
      group: 'requests',
      name: 'invoke, Idempotency-Key',
      engine: 'PostgreSQL',
      load: post(INVOKE, { message: MESSAGE }, { 'Idempotency-Key': 'bench-@@@@@@@@' }),
    },
    { group: 'requests', name: 'get agent', engine: 'embedded', load: get('/v1/agents/hello') },
    { group: 'requests', name: 'list agents', engine: 'embedded', load: get('/v1/agents') },
  ]
  const memory = (['embedded', 'PostgreSQL'] as const).flatMap((engine): Subject[] => [
    { group: 'memory', name: 'invoke, ever new users', engine, load: asUser('new-@@@@@@@@') },
    {
      // The row above also writes the turns, and differs in nothing else.
      group: 'memory',
      name: 'invoke, ever new users, nothing remembered',
      engine,
      load: { ...asUser('new-@@@@@@@@'), path: `/v1/agents/${FORGETFUL}/invoke` },
      store: {
        name: 'with a forgetful agent',
        fill: async ({ url }) =>
          void (await create(url, key, 'agents', { name: FORGETFUL, memory: { remember: false } })),
      },
    },
    {
      group: 'memory',
      name: 'invoke, user with 1,000 memories',
      engine,
      load: asUser('thousand'),
      fill: { users: ['thousand'], memories: 1_000, text: sentence },
    },
    {
      group: 'memory',
      name: 'invoke, user with 100,000 memories',
      engine,
      load: asUser('many'),
      fill: { users: ['many'], memories: 100_000, text: sentence },
    },
    {
      group: 'memory',
      name: 'invoke, 10,000 identical memories',
      engine,
      load: asUser('identical'),
      fill: { users: ['identical'], memories: 10_000, text: () => MESSAGE },
    },
  ])
  const searching = (['embedded', 'PostgreSQL'] as const).map(
    (engine): Subject => ({
      group: 'searching',
      name: 'search 100,000 memories of one agent',
      engine,
      load: search,
      fill: { users: Array.from({ length: 100 }, (_, i) => `user-${i}`), memories: 1_000, text: sentence },
      connections: 1,
    }),
  )
  return [...requests, ...memory, ...searching, ...listSubjects(key, rows), ...webhookSubjects(key)]
}

const NAMES = ['Ada', 'Nightingale', 'Captain Brandt', 'the pilot', 'Mara', 'the harbour master', 'Jon', 'my sister']
const DEEDS = [
  'left from',
  'sailed to',
  'waited at',
  'repaired the rudder in',
  'bought rope in',
  'dreamt of',
  'asked about',
]
const PLACES = [
  'Bergen',
  'the old harbour',
  'Lisbon',
  'pier seven',
  'the lighthouse',
  'Rotterdam',
  'the north quay',
  'Cork',
]
const WHENS = [
  'on Tuesday',
  'last spring',
  'before the storm',
  'after lunch',
  'in May',
  'with the ferry',
  'at dawn',
  'twice',
]

/** Makes different sentences from a few hundred words, like those of long conversations. */
function sentence(i: number): string {
  const pick = (words: readonly string[], step: number) => words[Math.floor(i / step) % words.length]
  return `${pick(NAMES, 1)} ${pick(DEEDS, 3)} ${pick(PLACES, 7)} ${pick(WHENS, 11)}, entry ${i % 9973} of log ${i % 311}`
}
