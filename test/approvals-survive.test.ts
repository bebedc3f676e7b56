import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../src/storage/database.ts'
import { newAgent } from './support/agents.ts'
import {
  approver,
  decide,
  LOCAL_TOOLS,
  refundingAgent,
  startTill,
  startWaiting,
  untilStatus,
} from './support/approvals.ts'
import { startChildService } from './support/child-service.ts'
import { ENGINES, withService } from './support/service.ts'
import { until } from './support/until.ts'
import { watchWorld } from './support/watched-world.ts'

const APPROVE = { decision: 'approve' }
const MASTER = { MOORAGE_MASTER_KEY: '00'.repeat(32) }

/** Half a minute passes. On SQLite the next service knows that the one before it is dead. */
async function endLeases(db: Database): Promise<void> {
  await db.updateTable('invocations').set({ lease_until: 0 }).where('status', '=', 'running').execute()
}

for (const engine of ENGINES) {
  describe(`a run that waits for a person, on ${engine}`, () => {
    test('goes on after kill -9, a deploy, a rollback and other runs, with the version it began with', async (t) => {
      const till = await startTill()
      t.after(() => till.close())
      const service = await startChildService(t, engine, LOCAL_TOOLS)
      const { secret } = (await service.call('POST', '/v1/keys', { name: 'lead', role: 'approver' })).data
      const { id } = (await service.call('POST', '/v1/agents', { name: 'shop', ...refundingAgent(till) })).data
      const deploy = (version: string) =>
        service.call('POST', `/v1/agents/${id}/deployments`, { environment: 'production', version })
      await deploy('v1')
      const { request_id } = (await service.call('POST', `/v1/agents/${id}/invoke`, { message: 'kept' })).data
      const path = `/v1/agents/${id}/invocations/${request_id}`
      await service.kill()
      await service.start()
      await service.call('PATCH', `/v1/agents/${id}`, { model: 'builtin/echo', tools: [], script: null })
      const { id: second } = (await deploy('v2')).data
      for (let i = 0; i < 20; i++) await service.call('POST', `/v1/agents/${id}/invoke`, { message: `other ${i}` })
      await service.call('POST', `/v1/agents/${id}/deployments/${second}/rollback`)
      await service.kill()
      await service.start()
      assert.equal((await service.call('GET', path)).data.status, 'waiting')
      assert.deepEqual(till.refunds, [])
      await service.call('POST', `${path}/approvals/call_1`, APPROVE, { Authorization: `Bearer ${secret}` })
      const { data } = await until('the answer', async () => {
        const reply = await service.call('GET', path)
        return reply.data.status === 'completed' && reply
      })
      assert.deepEqual([data.response, data.version], ['Said: refunded 120', 'v1'])
      assert.deepEqual(till.refunds, [{ order: 'kept', amount: 120, key: `${request_id}-2` }])
    })

    test('retry: ask waits for a person when the process died during a call', async (t) => {
      const world = await watchWorld(t, [{ calls: ['write'] }, { text: 'Done.' }])
      const service = await startChildService(t, engine, {
        ...LOCAL_TOOLS,
        MOORAGE_PROVIDERS: JSON.stringify([{ name: 'local', baseUrl: `${world.url}/v1` }]),
      })
      const tools = [{ type: 'http', name: 'write', method: 'POST', url: `${world.url}/write`, retry: 'ask' }]
      const agent = { name: 'clerk', model: 'local/tiny', tools, approvals: { self: true } }
      await service.call('POST', '/v1/agents', agent)
      const held = world.hold('write')
      const started = { message: 'go' }
      const { data } = await service.call('POST', '/v1/agents/clerk/invoke', started, { Prefer: 'respond-async' })
      await held
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      const path = `/v1/agents/clerk/invocations/${data.request_id}`
      const isIn = async (status: string) => (await service.call('GET', path)).data.status === status
      await until('it waits', () => isIn('waiting'))
      const asked = await service.call('GET', `${path}/approvals/call_1`)
      assert.equal(asked.data.kind, 'retry')
      assert.equal(world.count('write').came, 1)
      await service.call('POST', `${path}/approvals/call_1`, APPROVE)
      await until('the answer', () => isIn('completed'))
      assert.deepEqual(world.count('write'), { came: 2, answered: 1 })
      const keys = new Set(world.calls.filter(({ label }) => label === 'write').map(({ key }) => key))
      assert.deepEqual([...keys], [`${data.request_id}-2`])
    })

    test('a call that needs an approval is asked about, although the process died before anybody was asked', async (t) => {
      const world = await watchWorld(t, [{ calls: ['slow', 'read', 'write'] }, { text: 'Done.' }])
      const service = await startChildService(t, engine, {
        ...LOCAL_TOOLS,
        MOORAGE_PROVIDERS: JSON.stringify([{ name: 'local', baseUrl: `${world.url}/v1` }]),
      })
      const http = (name: string) => ({ type: 'http', name, method: 'GET', url: `${world.url}/${name}` })
      const write = { type: 'http', name: 'write', method: 'POST', url: `${world.url}/write`, approval: 'always' }
      const tools = [http('slow'), { ...http('read'), approval: 'always' }, write]
      await service.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny', tools, approvals: { self: true } })
      const held = world.hold('slow')
      const started = { message: 'go' }
      const { data } = await service.call('POST', '/v1/agents/clerk/invoke', started, { Prefer: 'respond-async' })
      await held
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      const path = `/v1/agents/clerk/invocations/${data.request_id}`
      const statusIs = async (status: string) => (await service.call('GET', path)).data.status === status
      await until('it waits', () => statusIs('waiting'))
      const asked = await service.call('GET', `/v1/approvals?request_id=${data.request_id}`)
      assert.deepEqual(asked.data.map(({ tool, kind }: { tool: string; kind: string }) => [tool, kind]).toSorted(), [
        ['read', 'tool'],
        ['write', 'tool'],
      ])
      assert.deepEqual([world.count('read').came, world.count('write').came], [0, 0])
      for (const { call_id } of asked.data) await service.call('POST', `${path}/approvals/${call_id}`, APPROVE)
      await until('the answer', () => statusIs('completed'))
      assert.deepEqual([world.count('read').came, world.count('write').came], [1, 1])
    })
  })
}

test('a run that waits is approved on another node, and goes on once', async (t) => {
  const till = await startTill()
  t.after(() => till.close())
  await withService(
    'postgres',
    async (service) => {
      const other = await service.beside()
      try {
        const key = await approver(service)
        const agent = await newAgent(service, refundingAgent(till))
        const { path, approval } = await startWaiting(service, agent, 'elsewhere')
        assert.equal((await decide(other, approval, key, APPROVE)).status, 200)
        await untilStatus(service, path, 'completed')
        assert.equal(till.of('elsewhere').length, 1)
      } finally {
        await other.stop()
      }
    },
    { ...LOCAL_TOOLS, ...MASTER },
  )
})
