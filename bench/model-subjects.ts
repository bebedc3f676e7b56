import { create } from './fill.ts'
import type { Load } from './load.ts'
import { sentence } from './sentence.ts'
import type { Engine, Store, Subject } from './subject.ts'

const MESSAGE = 'What is the weather like in the harbour today, and will the ferry sail?'
const STREAM = { Accept: 'text/event-stream' }
const KEYED = { 'Idempotency-Key': 'bench-@@@@@@@@' }
/** An answer of this many pieces is the usual one; the longer one shows what a further piece costs. */
export const PIECES = 60
export const MANY_PIECES = 240

/** Agents whose model is behind HTTP, and the proxy that somebody would write by hand. */
export function modelSubjects(key: string): Subject[] {
  const post = (path: string, body: object, more: Record<string, string> = {}): Load => ({
    method: 'POST',
    path,
    headers: { Authorization: `Bearer ${key}`, ...more },
    body: JSON.stringify(body),
  })
  const invoke = (agent: string, more: Record<string, string> = {}, context?: object) =>
    post(`/v1/agents/${agent}/invoke`, { message: MESSAGE, ...(context && { context }) }, more)
  const floor = (pieces: number, more: Record<string, string> = {}): Subject['load'] =>
    post('/', { message: MESSAGE, model: String(pieces) }, more)
  const row = (name: string, engine: Engine, load: Load, more: Partial<Subject> = {}): Subject => ({
    group: 'models',
    name,
    engine,
    load,
    ...(engine !== 'floor' && { store: agentsWithModels(key) }),
    ...more,
  })
  const chat = { model: 'answers', stream: true, messages: [{ role: 'user', content: MESSAGE }] }
  const remembered = { user_id: 'thousand', session_id: 'session-@@@@@@@@' }
  const thousand = { users: ['thousand'], memories: 1_000, text: sentence, agent: 'remembers' }
  return [
    row('proxy', 'floor', floor(PIECES)),
    row('proxy, streamed', 'floor', floor(PIECES, STREAM)),
    row(`proxy, ${MANY_PIECES} pieces`, 'floor', floor(MANY_PIECES)),
    row('model', 'embedded', invoke('answers')),
    row('model, user with 1,000 memories', 'embedded', invoke('remembers', {}, remembered), { fill: thousand }),
    row('model, Idempotency-Key', 'embedded', invoke('answers', KEYED)),
    row('model, three budgets', 'embedded', invoke('budgeted')),
    row('model, streamed', 'embedded', invoke('answers', STREAM)),
    row('model, OpenAI door, streamed', 'embedded', post('/v1/chat/completions', chat)),
    row('model, one tool call', 'embedded', invoke('asks')),
    row(`model, ${MANY_PIECES} pieces`, 'embedded', invoke('tells')),
    row(`model, ${MANY_PIECES} pieces, streamed`, 'embedded', invoke('tells', STREAM)),
    row('model, 2,000 pieces', 'embedded', invoke('novel'), { brief: true }),
    row(
      'model, message of 100,000 characters',
      'embedded',
      post('/v1/agents/answers/invoke', { message: 'word '.repeat(19_999) }),
      {
        brief: true,
      },
    ),
    row('remote agent', 'embedded', invoke('elsewhere'), { store: remoteAgents(key) }),
    row('remote agent, streamed', 'embedded', invoke('elsewhere', STREAM), { store: remoteAgents(key) }),
    row('remote agent, ten steps', 'embedded', invoke('steps'), { store: remoteAgents(key), brief: true }),
    row('remote agent, ten stored steps', 'embedded', invoke('steps', KEYED), {
      store: remoteAgents(key),
      brief: true,
    }),
    row('model', 'PostgreSQL', invoke('answers')),
    row('model, Idempotency-Key', 'PostgreSQL', invoke('answers', KEYED)),
    row('model, three budgets', 'PostgreSQL', invoke('budgeted')),
    row('model', 'PostgreSQL + Redis', invoke('answers')),
    row('model, one client', 'embedded', invoke('answers'), { connections: 1 }),
    row('proxy, one client', 'floor', floor(PIECES), { connections: 1 }),
  ]
}

const SECRET = 'BENCH'

/** With it the calls of remote agents are signed. */
async function setSecret(url: string, key: string): Promise<void> {
  const value = `whsec_${Buffer.alloc(32).toString('base64')}`
  const reply = await fetch(`${url}/v1/secrets/${SECRET}`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ value, hosts: ['127.0.0.1'] }),
  })
  if (!reply.ok) throw new Error(`secrets: ${reply.status} ${await reply.text()}`)
}

/** Agents that need no memory have none, so that a row shows one thing. */
const forgetful = { memory: { remember: false, history: 0, recall: 0 } }

function remoteAgents(key: string): Store {
  return {
    name: 'with remote agents',
    async fill({ url, modelUrl }) {
      await setSecret(url, key)
      for (const [name, path] of [
        ['elsewhere', `remote/${PIECES}`],
        ['steps', `remote/${PIECES}/10`],
      ]) {
        const remote = { url: `${modelUrl}/${path}`, secret: SECRET }
        await create(url, key, 'agents', { name, kind: 'remote', remote, ...forgetful })
      }
    },
  }
}

/** The agents that the subjects invoke. */
function agentsWithModels(key: string): Store {
  const tide = { type: 'http', name: 'tide', description: 'The tide now', input_schema: { type: 'object' } }
  return {
    name: 'with models',
    async fill({ url, modelUrl }) {
      const add = (name: string, model: string, more: object = forgetful) =>
        create(url, key, 'agents', { name, model: `bench/${model}`, ...more })
      await add('answers', String(PIECES))
      await add('budgeted', String(PIECES))
      for (const limit of [{ tokens: 1e15 }, { runs: 1e15 }, { tokens: 9e14 }]) {
        const scope = { type: 'agent', id: 'budgeted' }
        await create(url, key, 'budgets', { name: 'bench', scope, limit, per: 'day' })
      }
      await add('tells', String(MANY_PIECES))
      await add('novel', '2000')
      await add('remembers', String(PIECES), {})
      await add('asks', `tool-${PIECES}`, {
        ...forgetful,
        tools: [{ ...tide, method: 'GET', url: `${modelUrl}/tide` }],
      })
    },
  }
}
