import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onAnyEngine } from '../support/service/service.ts'
import { decide, refundingAgent, startTill, type Till } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

type DeploymentItem = { created_by_name: string | null }

onAnyEngine(
  'replies name the keys that did something',
  (service) => {
    let till: Till
    let maker: { id: string; secret: string }
    before(async () => {
      till = await startTill()
      maker = await createKey(service(), { name: 'the maker', role: 'developer' })
    })
    after(() => till.close())
    const get = async (path: string) => (await service().call('GET', path)).body.data

    test('deployments, in lists and found by their ids', async () => {
      const agent = await createAgent(service(), 'named')
      const body = { environment: 'production', version: 'v1' }
      const reply = await service().call('POST', `/v1/agents/${agent}/deployments`, { body, key: maker.secret })
      const { id, created_by } = reply.body.data
      assert.equal(created_by, maker.id)
      const [listed] = await get(`/v1/agents/${agent}/deployments`)
      const alone = await get(`/v1/agents/${agent}/deployments/${id}`)
      const found = await get(`/v1/deployments/${id}`)
      assert.deepEqual(
        [listed, alone, found].map(({ created_by_name }) => created_by_name),
        Array(3).fill('the maker'),
      )
      assert.deepEqual(found, alone)
    })

    test("a key limited to a project doesn't see the names of keys with access to all projects", async () => {
      assert.equal((await service().call('POST', '/v1/projects', { body: { name: 'unnamed' } })).status, 201)
      const project = inProject(service(), 'unnamed')
      const path = `/v1/agents/${await createAgent(project, 'served')}/deployments`
      await project.call('POST', path, { body: { environment: 'production', version: 'v1' } })
      const { secret } = await createKey(project, { role: 'viewer' })
      const namesFor = async (key: string) =>
        (await project.call('GET', path, { key })).body.data.map((one: DeploymentItem) => one.created_by_name)
      assert.deepEqual(await namesFor(secret), [null])
      assert.deepEqual(await namesFor(service().admin), ['first admin key'])
    })

    test('a key without access to a deployment or delivery gets the same 403 whether or not the ID exists', async () => {
      const [own, other] = [await createAgent(service(), 'own'), await createAgent(service(), 'other')]
      const { secret: key } = await createKey(service(), { role: 'viewer', agent_id: own })
      const body = { environment: 'production', version: 'v1' }
      const { body: made } = await service().call('POST', `/v1/agents/${other}/deployments`, { body })
      const replies = await Promise.all(
        [`deployments/${made.data.id}`, 'deployments/dep_none', 'deliveries/dlv_none'].map((path) =>
          service().call('GET', `/v1/${path}`, { key }),
        ),
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        [403, 403, 403],
      )
      assert.equal(new Set(replies.map(({ body: told }) => told.error.message)).size, 1)
      assert.equal((await service().call('GET', '/v1/deployments/dep_none')).status, 404)
      assert.equal((await service().call('GET', '/v1/deliveries/dlv_none')).status, 404)
    })

    test('invocations and approvals, and entries of the audit log, also when the key is revoked', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { secret: key, id } = await createKey(service(), { name: 'the boss', permissions: ['read', 'approve'] })
      const asked = { body: { message: 'named-1' }, key: maker.secret }
      const { request_id } = (await service().call('POST', `/v1/agents/${agent}/invoke`, asked)).body.data
      const path = `/v1/agents/${agent}/invocations/${request_id}`
      await decide(service(), `${path}/approvals/call_1`, key, { decision: 'approve' })
      await service().call('DELETE', `/v1/keys/${id}`)
      const receipts = [await get(path), (await get(`/v1/invocations?request_id=${request_id}`))[0]]
      assert.deepEqual(
        receipts.map(({ created_by_name }) => created_by_name),
        ['the maker', 'the maker'],
      )
      const [approval] = await get(`/v1/approvals?request_id=${request_id}`)
      assert.deepEqual([approval.started_by_name, approval.decided_by_name], ['the maker', 'the boss'])
      const [entry] = await get('/v1/audit-log?action=decideApproval')
      assert.equal(entry.actor_name, 'the boss')
    })
  },
  LOCAL_TOOLS,
)
