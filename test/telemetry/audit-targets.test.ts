import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '../../src/operation.ts'
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

onOneEngine(
  'the audit log names the target of each change',
  (service) => {
    for (const operation of operationsForKeys) {
      const { id, method, transaction } = operation
      test(`of ${id}`, async () => {
        const { path, body, headers } = await sampleRequest(service(), operation)
        const named = namedIn(operation, path)
        const agent_id = await agentOf(service(), named)
        const reply = await service().call(method, path, { body, headers })
        assert.ok(reply.status < 300, reply.text)
        const last = targetOf(reply, named, { path: path.split('?')[0] ?? '', agent_id })
        const target = last === named.agent_id ? agent_id : last
        const entry = { action: id, target, agent_id: id === 'createAgent' ? target : agent_id }
        const outcomes = method !== 'GET' && transaction !== false ? ['success'] : ['started', 'success']
        assert.deepEqual(
          await entriesOf(service(), reply),
          isAudited(operation) ? outcomes.map((outcome) => ({ ...entry, outcome })) : [],
        )
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
