import { create } from './fill.ts'
import { floodSubjects } from './floods.ts'
import { listSubjects } from './lists.ts'
import type { Load } from './load.ts'
import { modelSubjects } from './model-subjects.ts'
import { projectSubjects } from './projects.ts'
import { sentence } from './sentence.ts'
import { streamSubjects } from './streams.ts'
import type { Engine, Subject } from './subject.ts'
import { webhookSubjects } from './webhooks.ts'

const MESSAGE = 'What is the weather like in the harbour today, and will the ferry sail?'
const INVOKE = '/v1/agents/hello/invoke'
const FORGETFUL = 'forgetful'

/** The long lists have so many `rows`. */
export function subjectsFor(key: string, rows: number): Subject[] {
  return [
    ...modelSubjects(key),
    ...streamSubjects(key),
    ...requestSubjects(key),
    ...ENGINES.flatMap((engine) => memorySubjects(key, engine)),
    ...ENGINES.map((engine) => searchSubject(key, engine)),
    ...listSubjects(key, rows),
    ...projectSubjects(key),
    ...webhookSubjects(key),
    ...floodSubjects(key),
  ]
}

const ENGINES = ['embedded', 'PostgreSQL'] as const

function requestSubjects(key: string): Subject[] {
  const { get, post } = loadsOf(key)
  const invoke = post(INVOKE, { message: MESSAGE })
  const streamed = post(INVOKE, { message: MESSAGE }, { Accept: 'text/event-stream' })
  const keyed = post(INVOKE, { message: MESSAGE }, { 'Idempotency-Key': 'bench-@@@@@@@@' })
  const chat = post('/v1/chat/completions', { model: 'hello', messages: [{ role: 'user', content: MESSAGE }] })
  return [
    { group: 'requests', name: 'invoke', engine: 'embedded', load: invoke, disk: true },
    { group: 'requests', name: 'invoke', engine: 'PostgreSQL', load: invoke },
    { group: 'requests', name: 'invoke', engine: 'PostgreSQL + Redis', load: invoke },
    { group: 'requests', name: 'chat completion', engine: 'embedded', load: chat },
    { group: 'requests', name: 'chat completion', engine: 'PostgreSQL', load: chat },
    { group: 'requests', name: 'invoke, streamed', engine: 'embedded', load: streamed },
    { group: 'requests', name: 'invoke, Idempotency-Key', engine: 'embedded', load: keyed },
    { group: 'requests', name: 'invoke, Idempotency-Key', engine: 'PostgreSQL', load: keyed },
    { group: 'requests', name: 'get agent', engine: 'embedded', load: get('/v1/agents/hello') },
    { group: 'requests', name: 'list agents', engine: 'embedded', load: get('/v1/agents') },
  ]
}

function memorySubjects(key: string, engine: Engine): Subject[] {
  const { post } = loadsOf(key)
  const asUser = (user_id: string) =>
    post(INVOKE, { message: MESSAGE, context: { user_id, session_id: 'session-@@@@@@@@' } })
  return [
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
  ]
}

function searchSubject(key: string, engine: Engine): Subject {
  const { post } = loadsOf(key)
  return {
    group: 'searching',
    name: 'search 100,000 memories of one agent',
    engine,
    load: post('/v1/agents/hello/memory/search', { query: 'which harbour did the Nightingale leave from' }),
    fill: { users: Array.from({ length: 100 }, (_, i) => `user-${i}`), memories: 1_000, text: sentence },
    connections: 1,
  }
}

/** Requests with this key. */
function loadsOf(key: string) {
  const headers = { Authorization: `Bearer ${key}` }
  return {
    get: (path: string): Load => ({ method: 'GET', path, headers }),
    post: (path: string, body: object, more: Record<string, string> = {}): Load => ({
      method: 'POST',
      path,
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    }),
  }
}
