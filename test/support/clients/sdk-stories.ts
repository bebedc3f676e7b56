import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  createClient,
  MoorageError,
  serveAgent,
  verifySignature,
  verifyWebhook,
  WebhookVerificationError,
} from '../../../sdk/client.ts'
import { fromPath } from '../../../sdk/from-path.ts'
import { NOWHERE } from '../outside/local-server.ts'
import { childEnv } from '../service/child.ts'

export type Given = {
  url: string
  key: string
  name: string
  /** An Idempotency-Key. */
  once: string
  /** The server that sends the replies for the story `retries`, and the agents that it concerns. */
  broken: string
  retried: string[]
  /** A file on this machine. */
  path: string
  /** A call of a remote agent. `broken` sends the replies to its requests for steps. */
  call: { body: string; headers: Record<string, string> }
  webhook: { body: string; headers: Record<string, string>; secret: string; signature: string; now: number }
}

/** What happened in each story. It must be the same for both clients. */
export type Told = Record<string, unknown>

async function failed(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MoorageError)) throw error
    const { code, status, details, retry_after = null, should_retry = null } = error
    return { code, status, fields: details.map(({ field }) => field), retry_after, should_retry }
  }
}

/** Runs the stories with the TypeScript SDK. stories.py contains them for the Python package. */
export async function tellInTypeScript(given: Given): Promise<Told> {
  const { name, once, webhook } = given
  const moorage = createClient({ url: given.url, key: given.key })
  const broken = createClient({ url: given.broken, key: 'a-key', idleTimeoutMs: 5000 })
  const textOf = async (events: AsyncIterable<{ type: string }>) => {
    const kinds: string[] = []
    let text = ''
    let last: unknown
    for await (const event of events) {
      kinds.push(event.type)
      if ('text' in event) text += String(event.text)
      last = event
    }
    return { kinds, text, last: last as { data: { response: string } } }
  }
  const verified = async (changes: Partial<Omit<Given['webhook'], 'secret'>> & { secret?: string | string[] } = {}) => {
    const { now, ...asked } = { ...webhook, ...changes }
    try {
      return (await verifyWebhook({ ...asked, now: () => now * 1000 })).type
    } catch (error) {
      if (error instanceof WebhookVerificationError) return 'refused'
      throw error
    }
  }
  const stories = {
    async agents() {
      const script = { rules: [{ match: { contains: 'tide' }, reply: 'High water' }], fallback: 'Ask me' }
      const made = await moorage.agents.create({ name, model: 'builtin/script', script })
      const changed = await moorage.agents.update(made.id, { description: 'Knows the tide' })
      const names = await Array.fromAsync(moorage.agents.list({ limit: 1, sort: 'name' }), (agent) => agent.name)
      return [made.name, changed.description, names]
    },
    async answers() {
      const context = { user_id: 'ada', session_id: '1' }
      const { response } = await moorage.agents.invoke(name, { message: 'the tide?', context })
      const streamed = await textOf(moorage.agents.stream(name, { message: 'the tide?', context }))
      const { text } = await textOf(moorage.agents.stream(name, { message: 'what?' }))
      const queued = await moorage.agents.start(name, { message: 'the tide?' })
      const waited = (await textOf(moorage.invocations.follow(name, queued.request_id))).last.data.response
      const receipt = await moorage.invocations.get(name, queued.request_id)
      const { kinds, last } = streamed
      return [response, kinds, last.data.response, text, queued.status, waited, receipt.status]
    },
    async once() {
      const invoke = (message: string) => moorage.agents.invoke(name, { message }, { idempotencyKey: once })
      const ids = new Set([(await invoke('the tide?')).request_id, (await invoke('the tide?')).request_id])
      return [ids.size, await failed(() => invoke('other'))]
    },
    async errors() {
      const refused = createClient({ url: given.url, key: 'mrg_wrong' })
      const nowhere = createClient({ url: NOWHERE, key: 'x', retries: 0 })
      return [
        await failed(() => moorage.agents.get('nobody-has-this')),
        await failed(() => moorage.agents.create({ name: '', model: 'builtin/echo' })),
        await failed(async () => (await refused.agents.list()).data),
        await failed(async () => (await nowhere.agents.list()).data),
      ]
    },
    async memories() {
      const notes = ['Her ship is the Nightingale', 'She likes tea on her ship']
      await moorage.memory.write(name, { items: notes.map((content) => ({ content, context: { user_id: 'ada' } })) })
      const { data } = await moorage.memory.search(name, { query: 'ship', context: { user_id: 'ada' } })
      return data.map(({ content }) => content).filter((content) => content.includes('Nightingale'))
    },
    async files() {
      const bytes = new TextEncoder().encode('Rope, 8.00')
      const stored = await moorage.files.create(bytes, { name: 'receipt.txt' }, { type: 'text/plain' })
      const text = await (await moorage.files.content(stored.id)).text()
      const attachments = [new TextEncoder().encode('Lunch')]
      const { response } = await moorage.agents.invoke(name, { message: 'the tide?', attachments })
      return [stored.name, stored.size, text, response, (await moorage.files.delete(stored.id)).deleted]
    },
    async retries() {
      const told: Told = {}
      for (const one of given.retried) told[one] = await failed(() => broken.agents.get(one))
      return told
    },
    async broken_calls() {
      const { kinds, text } = await textOf(broken.agents.stream('streamed', { message: 'Go' }))
      return [
        await failed(() => broken.agents.invoke('failing', { message: 'Go' })),
        await failed(() => broken.agents.invoke('busy', { message: 'Go' })),
        await broken.agents.delete('lost'),
        kinds,
        text,
      ]
    },
    async cut_short() {
      const told: unknown[] = []
      for (const user of ['between', 'within']) {
        const lines: unknown[] = []
        const read = async () => {
          for await (const line of broken.users.export(user)) lines.push(line)
        }
        told.push([await failed(read), lines.length])
      }
      return told
    },
    async dots() {
      const told: string[] = []
      for (const word of ['.', '..', '']) {
        await assert.rejects(moorage.memory.delete(name, word), TypeError)
        told.push(word)
      }
      return told
    },
    async left_out() {
      return Array.fromAsync(broken.webhooks.list({ limit: 1 }), ({ id }) => id)
    },
    async sent_again() {
      return (await broken.files.create(await fromPath(given.path))).name
    },
    async served() {
      const serve = serveAgent((run) => run.tool('look', 'look'), { secret: webhook.secret })
      const { body, headers } = given.call
      const reply = await serve(new Request('http://agent/', { method: 'POST', body, headers }))
      return (await reply.text()).split('\n').filter((line) => line.startsWith('event'))
    },
    async webhooks() {
      const { body, secret, signature, now } = webhook
      return [
        await verified(),
        await verified({ secret: ['whsec_AAAA', secret] }),
        await verified({ body: `${body} ` }),
        await verified({ now: now + 301 }),
        await verified({ secret: 'whsec_AAAA' }),
        await verified({ headers: {} }),
        await verifySignature(body, signature, secret),
        await verifySignature(body, '00', secret),
      ]
    },
    async ends() {
      const { deleted } = await moorage.agents.delete(name)
      return [deleted, await failed(() => moorage.agents.get(name))]
    },
  }
  const told: Told = {}
  for (const [story, tell] of Object.entries(stories)) told[story] = await tell()
  return told
}

const PROGRAM = fileURLToPath(new URL('stories.py', import.meta.url))
const SOURCES = fileURLToPath(new URL('../../../python/', import.meta.url))

/** Runs the stories with the Python package. */
export async function tellInPython(given: Given): Promise<Told> {
  const env = { ...childEnv(), GIVEN: JSON.stringify(given), PYTHONPATH: SOURCES, PYTHONDONTWRITEBYTECODE: '1' }
  return JSON.parse((await promisify(execFile)('python3', [PROGRAM], { env })).stdout)
}
