import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { postMany } from '../support/clients/send-many.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { watchWorld } from '../support/outside/watched-world.ts'
import { until, untilCounted } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type ChildService, startChildService } from '../support/service/child-service.ts'
import { endLeases } from '../support/service/end-leases.ts'
import { ENGINES, withService } from '../support/service/service.ts'
import { approver, decide, refundingAgent, startTill, startWaiting, untilStatus } from '../support/slices/approvals.ts'

const APPROVE = { decision: 'approve' }
const MASTER = { MOORAGE_MASTER_KEY: '00'.repeat(32) }

/** 300 runs of the agent: clients wait for the answers of most, the others go through the queue. */
async function runMany(service: ChildService, agent_id: string): Promise<void> {
  const Authorization = `Bearer ${service.admin}`
  const many = { path: `/v1/agents/${agent_id}/invoke`, body: { message: 'other' } }
  await postMany(service.url(), { ...many, headers: { Authorization }, count: 240, status: 200 })
  const background = { Authorization, Prefer: 'respond-async' }
  await postMany(service.url(), { ...many, headers: background, count: 60, status: 202 })
  await untilCounted('other runs', 300, async () => {
    const { pagination } = await service.call('GET', `/v1/agents/${agent_id}/invocations?status=completed&limit=1`)
    return pagination.total
  })
}

for (const engine of ENGINES) {
  describe(`a run that waits for a person, on ${engine}`, () => {
    test('continues after kill -9, a deploy, a rollback and 300 other runs, with its own version', async (t) => {
      const till = await startTill()
      t.after(() => till.close())
      const service = await startChildService(t, engine, LOCAL_TOOLS)
      const keyOf = async (role: string) => (await service.call('POST', '/v1/keys', { name: role, role })).data.secret
      const [secret, starter] = [await keyOf('approver'), await keyOf('developer')]
      const { id } = (await service.call('POST', '/v1/agents', { name: 'shop', ...refundingAgent(till) })).data
      const deploy = (version: string) =>
        service.call('POST', `/v1/agents/${id}/deployments`, { environment: 'production', version })
      await deploy('v1')
      const asStarter = { Authorization: `Bearer ${starter}` }
      const { request_id } = (await service.call('POST', `/v1/agents/${id}/invoke`, { message: 'kept' }, asStarter))
        .data
      const path = `/v1/agents/${id}/invocations/${request_id}`

      await service.kill()
      await service.start()

      await service.call('PATCH', `/v1/agents/${id}`, { model: 'builtin/echo', tools: [], script: null })
      const { id: second } = (await deploy('v2')).data
      await runMany(service, id)
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

    type World = Awaited<ReturnType<typeof watchWorld>>
    /** A run whose process died during a call, and that waits for a person in the next process. */
    const diedDuring = async (t: TestContext, world: World, call: Parameters<World['hold']>[0], tools: object[]) => {
      const service = await startChildService(t, engine, world.settings)
      await service.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny', tools, approvals: { self: true } })
      const held = world.hold(call)
      const started = { message: 'go' }
      const { data } = await service.call('POST', '/v1/agents/clerk/invoke', started, { Prefer: 'respond-async' })
      await held
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      const path = `/v1/agents/clerk/invocations/${data.request_id}`
      const isIn = async (status: string) => (await service.call('GET', path)).data.status === status
      await until('it waits', () => isIn('waiting'))
      return { service, request_id: data.request_id as string, path, isIn }
    }

    test('with retry: ask, the run waits for a person if the process died during a call', async (t) => {
      const world = await watchWorld(t, [{ calls: ['write'] }, { text: 'Done.' }])
      const tools = [{ type: 'http', name: 'write', method: 'POST', url: `${world.url}/write`, retry: 'ask' }]
      const { service, request_id, path, isIn } = await diedDuring(t, world, 'write', tools)
      const asked = await service.call('GET', `${path}/approvals/call_1`)
      assert.equal(asked.data.kind, 'retry')
      assert.equal(world.count('write').came, 1)
      await service.call('POST', `${path}/approvals/call_1`, APPROVE)
      await until('the answer', () => isIn('completed'))
      assert.deepEqual(world.count('write'), { came: 2, answered: 1 })
      const keys = new Set(world.calls.filter(({ label }) => label === 'write').map(({ key }) => key))
      assert.deepEqual([...keys], [`${request_id}-2`])
    })

    test('a call that needs approval waits for it, even if the process died before the request was stored', async (t) => {
      const world = await watchWorld(t, [{ calls: ['slow', 'read', 'write'] }, { text: 'Done.' }])
      const http = (name: string) => ({ type: 'http', name, method: 'GET', url: `${world.url}/${name}` })
      const write = { type: 'http', name: 'write', method: 'POST', url: `${world.url}/write`, approval: 'always' }
      const tools = [http('slow'), { ...http('read'), approval: 'always' }, write]
      const { service, request_id, path, isIn } = await diedDuring(t, world, 'slow', tools)
      const asked = await service.call('GET', `/v1/approvals?request_id=${request_id}`)
      assert.deepEqual(asked.data.map(({ tool, kind }: { tool: string; kind: string }) => [tool, kind]).toSorted(), [
        ['read', 'tool'],
        ['write', 'tool'],
      ])
      assert.deepEqual([world.count('read').came, world.count('write').came], [0, 0])
      for (const { call_id } of asked.data) await service.call('POST', `${path}/approvals/${call_id}`, APPROVE)
      await until('the answer', () => isIn('completed'))
      assert.deepEqual([world.count('read').came, world.count('write').came], [1, 1])
    })
  })
}

test('a run that waits is approved on another node, and continues once', async (t) => {
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
