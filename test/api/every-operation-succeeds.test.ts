import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '../../src/operation.ts'
import { assertRateLimitHeaders, assertStandardHeaders } from '../support/clients/raw.ts'
import { operationsForKeys, SAMPLE_SETTINGS, sampleRequest } from '../support/clients/requests.ts'
import { onOneEngine, type Reply, type Service } from '../support/service/service.ts'

/** Reads are not audited, whatever their method, except for a user's export. Invocations have receipts instead. */
function isAudited({ id, method, access }: Operation): boolean {
  if (id === 'exportUser') return true
  return method !== 'GET' && access.permission !== 'read' && id !== 'invokeAgent'
}

/** What a path names, in its order. */
function namedIn({ path }: Operation, target: string): Record<string, string> {
  const values = target.split(/[/?]/)
  const names = path.split('/').map((part, i) => [part, values[i] ?? ''] as const)
  return Object.fromEntries(names.filter(([part]) => part.startsWith('{')).map(([part, v]) => [part.slice(1, -1), v]))
}

type Entry = { action: string; outcome: string; target: string | null; agent_id: string | null }

async function entriesOf(service: Service, { headers }: Reply): Promise<Entry[]> {
  const { body } = await service.call('GET', '/v1/audit-log?limit=20')
  const own = body.data.filter((entry: { request_id: string }) => entry.request_id === headers.get('x-request-id'))
  return own
    .map(({ action, outcome, target, agent_id }: Entry) => ({ action, outcome, target, agent_id }))
    .toSorted((a: Entry, b: Entry) => a.outcome.localeCompare(b.outcome))
}

/** The agent that the path names, or that the webhook belongs to. */
async function agentOf(service: Service, { agent_id, webhook_id }: Record<string, string>): Promise<string | null> {
  if (agent_id !== undefined) return (await service.call('GET', `/v1/agents/${agent_id}`)).body.data.id
  if (webhook_id === undefined) return null
  return (await service.call('GET', `/v1/webhooks/${webhook_id}`)).body.data.agent_id
}

type Place = { path: string; agent_id: string | null }

/** What it made or changed, by the id in the reply; without one, what its path names last. */
function targetOf({ body }: Reply, named: Record<string, string>, { path, agent_id }: Place): string | null {
  // A price is of a model of one provider.
  if (named['provider'] !== undefined) return `${named['provider']}/${named['model']}`
  // A set has a name in its agent, and what belongs to a connection has one in it.
  const inAgent = path.match(/^\/v1\/agents\/[^/]+\/sets\/([^/]+)$/)?.[1]
  if (inAgent !== undefined) return `${agent_id}/${inAgent}`
  const inConnection = path.match(/^\/v1\/connections\/([^/]+)(?:\/(?:links|grants)\/([^/]+))?/)
  if (inConnection)
    return inConnection
      .slice(1)
      .filter((part) => part !== undefined)
      .join('/')
  // Feedback belongs to its run.
  if (body?.data?.score !== undefined) return named['request_id'] ?? null
  return body?.data?.id ?? Object.values(named).at(-1) ?? null
}

/** What a path may have at its end, put before the query. */
function withSlash(path: string): string {
  const [target = '', ...query] = path.split('?')
  return [`${target}/`, ...query].join('?')
}

const OF_ITS_OWN = new Set([
  'connection',
  'keep-alive',
  'date',
  'x-request-id',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  // Streamed events and times in a reply vary in length.
  'content-length',
  'transfer-encoding',
])

const told = ({ headers }: Reply) => [...headers].filter(([name]) => !OF_ITS_OWN.has(name))

/** The body that a request with a trailing slash has. */
function bodyOf({ method, input }: Operation, sample: object | undefined): object | undefined {
  if (method === 'GET') return sample
  // Where the body is optional, an empty object is equivalent to no body.
  return input?.body && !input.bodyOptional ? sample : {}
}

onOneEngine(
  'every operation succeeds, with a trailing slash too, and the audit log names the target of each change',
  (service) => {
    const checkReads = async (get: Reply, path: string, headers: Record<string, string>) => {
      const slash = await service().call('GET', withSlash(path), { headers })
      const head = await service().call('HEAD', path, { headers })
      assert.deepEqual([slash.status, head.status, head.text], [get.status, get.status, ''], slash.text)
      assert.deepEqual(told(slash), told(get))
      assert.deepEqual(told(head), told(get))
    }

    const checkEnvelope = async ({ answer }: Operation, reply: Reply, path: string) => {
      if (answer.content) return assert.equal(reply.text, 'sample')
      const type = answer.lines ? 'application/x-ndjson' : undefined
      assertStandardHeaders(reply.headers, answer.streams?.always ? 'text/event-stream' : type)
      assertRateLimitHeaders(reply)
      if (answer.streams?.always || answer.lines) return
      assert.deepEqual(Object.keys(reply.body), answer.list ? ['data', 'pagination'] : ['success', 'data'])
      const { id: made } = reply.body.data
      if (answer.status !== 201 || !made) return
      assert.equal(reply.headers.get('location'), `${path}/${made}`)
      assert.equal((await service().call('GET', `${path}/${made}`)).status, 200, 'Location leads to it')
    }

    for (const operation of operationsForKeys) {
      const { id, method, transaction, answer } = operation
      test(`${method} ${operation.path} (${id}) returns ${answer.status ?? 200}`, async () => {
        const { path, body, headers } = await sampleRequest(service(), operation)
        const named = namedIn(operation, path)
        const agent_id = await agentOf(service(), named)
        const sent = bodyOf(operation, body)
        const isRefused = method === 'DELETE' || method === 'PATCH'
        if (isRefused) {
          const refused = await service().call(method, withSlash(path), { body: sent, headers })
          assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_request'])
        }
        const address = isRefused || method === 'GET' ? path : withSlash(path)
        const reply = await service().call(method, address, { body: sent, headers })
        assert.equal(reply.status, answer.status ?? 200, reply.text)

        const last = targetOf(reply, named, { path: path.split('?')[0] ?? '', agent_id })
        const target = last === named.agent_id ? agent_id : last
        const entry = { action: id, target, agent_id: id === 'createAgent' ? target : agent_id }
        const outcomes = method !== 'GET' && transaction !== false ? ['success'] : ['started', 'success']
        assert.deepEqual(
          await entriesOf(service(), reply),
          isAudited(operation) ? outcomes.map((outcome) => ({ ...entry, outcome })) : [],
        )
        if (method === 'GET') await checkReads(reply, path, headers)
        await checkEnvelope(operation, reply, path)
      })
    }

    test("a user ID that looks like an agent's ID is not taken for an agent", async () => {
      const reply = await service().call('GET', '/v1/users/agt_1/export')
      assert.deepEqual(
        await entriesOf(service(), reply),
        ['started', 'success'].map((outcome) => ({ action: 'exportUser', outcome, target: 'agt_1', agent_id: null })),
      )
    })
  },
  SAMPLE_SETTINGS,
)
