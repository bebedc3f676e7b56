import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newAgent } from './support/agents.ts'
import { onBothEngines, type Service } from './support/service.ts'

async function deploy(service: Service, agent: string, version: string, environment = 'production') {
  const { status, body } = await service.call('POST', `/v1/agents/${agent}/deployments`, {
    body: { environment, version },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data
}

onBothEngines('deployments', (service) => {
  describe('POST /v1/agents/{agent_id}/deployments', () => {
    test('201 with the whole record', async () => {
      const agent = await newAgent(service())
      const { id, digest, created_at, created_by, ...rest } = await deploy(service(), agent, 'v1')
      assert.match(id, /^dep_[0-9A-Z]{26}$/)
      assert.match(digest, /^[0-9a-f]{64}$/)
      assert.match(created_by, /^key_/)
      assert.ok(!Number.isNaN(Date.parse(created_at)))
      assert.deepEqual(rest, {
        agent_id: agent,
        environment: 'production',
        version: 'v1',
        status: 'active',
        message: null,
        replaces: null,
        rollback_of: null,
      })
    })

    test('the next one supersedes it, in its environment only', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      const staging = await deploy(service(), agent, 'v1', 'staging')
      const second = await deploy(service(), agent, 'v2')
      assert.equal(second.replaces, first.id)
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?sort=created_at`)
      assert.deepEqual(
        body.data.map((row: { id: string; status: string }) => [row.id, row.status]),
        [
          [first.id, 'superseded'],
          [staging.id, 'active'],
          [second.id, 'active'],
        ],
      )
    })

    test('a label never changes: deployed again it is what it was', async () => {
      const agent = await newAgent(service(), { instructions: 'one' })
      const first = await deploy(service(), agent, 'v1')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'two' } })
      const again = await deploy(service(), agent, 'v1')
      const other = await deploy(service(), agent, 'v2')
      assert.equal(again.digest, first.digest)
      assert.notEqual(other.digest, first.digest)
    })

    test('of deployments at the same moment one is active', async () => {
      const agent = await newAgent(service())
      await Promise.all(Array.from({ length: 8 }, (_, i) => deploy(service(), agent, `v${i}`)))
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.equal(body.pagination.total, 1)
    })

    for (const [field, value] of [
      ['environment', 'Production'],
      ['environment', ''],
      ['environment', 'a'.repeat(33)],
      ['version', ''],
      ['version', 'a b'],
      ['version', 1],
    ] as const) {
      test(`400 for ${field} ${JSON.stringify(value)}`, async () => {
        const body = { environment: 'production', version: 'v1', [field]: value }
        const reply = await service().call('POST', '/v1/agents/hello/deployments', { body })
        assert.equal(reply.status, 400)
        assert.equal(reply.body.error.details[0].field, field)
      })
    }
  })

  describe('GET /v1/agents/{agent_id}/deployments', () => {
    test('filters by environment and status', async () => {
      const agent = await newAgent(service())
      await deploy(service(), agent, 'v1')
      await deploy(service(), agent, 'v2')
      const staging = await deploy(service(), agent, 'v2', 'staging')
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?environment=staging&status=active`)
      assert.deepEqual(body.data, [staging])
    })
  })

  describe('POST /v1/agents/{agent_id}/deployments/{deployment_id}/rollback', () => {
    test('the active one is undone: back to what it replaced', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      const second = await deploy(service(), agent, 'v2')
      const { status, body } = await service().call('POST', `/v1/agents/${agent}/deployments/${second.id}/rollback`, {
        body: { message: 'v2 misbehaves' },
      })
      assert.equal(status, 200)
      const { id, created_at: _, ...rest } = body.data
      assert.deepEqual(rest, {
        agent_id: agent,
        environment: 'production',
        version: 'v1',
        status: 'active',
        digest: first.digest,
        message: 'v2 misbehaves',
        created_by: first.created_by,
        replaces: second.id,
        rollback_of: second.id,
      })
      const undone = await service().call('GET', `/v1/agents/${agent}/deployments/${second.id}`)
      assert.equal(undone.body.data.status, 'rolled_back')
      const active = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.deepEqual(
        active.body.data.map((row: { id: string }) => row.id),
        [id],
      )
    })

    test('409 for one that was just undone: two people do not put it back between them', async () => {
      const agent = await newAgent(service())
      await deploy(service(), agent, 'v1')
      const bad = await deploy(service(), agent, 'v2')
      const path = `/v1/agents/${agent}/deployments/${bad.id}/rollback`
      const replies = await Promise.all([service().call('POST', path), service().call('POST', path)])
      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409])
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.equal(body.data[0].version, 'v1')
    })

    test('an earlier one is returned to', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      await deploy(service(), agent, 'v2')
      const third = await deploy(service(), agent, 'v3')
      const { body } = await service().call('POST', `/v1/agents/${agent}/deployments/${first.id}/rollback`)
      assert.equal(body.data.version, 'v1')
      assert.equal(body.data.rollback_of, third.id)
    })

    test('dry_run shows the difference and changes nothing', async () => {
      const agent = await newAgent(service(), { instructions: 'one', temperature: 0.5 })
      const first = await deploy(service(), agent, 'v1')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'two' } })
      const second = await deploy(service(), agent, 'v2')
      const { status, body } = await service().call('POST', `/v1/agents/${agent}/deployments/${second.id}/rollback`, {
        body: { dry_run: true },
      })
      assert.equal(status, 200)
      assert.deepEqual(body.data, {
        dry_run: true,
        from: { deployment_id: second.id, version: 'v2' },
        to: { deployment_id: first.id, version: 'v1' },
        diff: [{ field: 'instructions', from: 'two', to: 'one' }],
      })
      const active = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.deepEqual(active.body.data, [second])
    })

    test('409 with nothing to return to, and when it serves that version already', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      const nothing = await service().call('POST', `/v1/agents/${agent}/deployments/${first.id}/rollback`)
      assert.equal(nothing.status, 409)
      const again = await deploy(service(), agent, 'v1')
      const same = await service().call('POST', `/v1/agents/${agent}/deployments/${again.id}/rollback`)
      assert.equal(same.status, 409)
      assert.equal(same.body.error.code, 'conflict')
    })

    test("404 for another agent's deployment", async () => {
      const mine = await newAgent(service())
      const theirs = await newAgent(service())
      const deployment = await deploy(service(), theirs, 'v1')
      const { status } = await service().call('POST', `/v1/agents/${mine}/deployments/${deployment.id}/rollback`)
      assert.equal(status, 404)
    })
  })

  test('deployments go with their agent', async () => {
    const agent = await newAgent(service())
    await deploy(service(), agent, 'v1')
    assert.equal((await service().call('DELETE', `/v1/agents/${agent}`)).status, 200)
    assert.equal((await service().call('GET', `/v1/agents/${agent}/deployments`)).status, 404)
  })
})
