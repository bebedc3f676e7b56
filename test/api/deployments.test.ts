import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'

async function deploy(service: Service, agent: string, version: string, environment = 'production') {
  const { status, body } = await service.call('POST', `/v1/agents/${agent}/deployments`, {
    body: { environment, version },
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data
}

onAnyEngine('deployments', (service) => {
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
        created_by_name: 'first admin key',
        replaces: null,
        rollback_of: null,
        forgotten: null,
        strategy: null,
        require_replay: null,
        progress: null,
        evidence: null,
      })
    })

    test('more simultaneous deployments than connections all succeed after the secrets changed', async () => {
      const names = await Promise.all(Array.from({ length: 14 }, () => newAgent(service())))
      await service().call('PUT', '/v1/secrets/NEW', { body: { value: 'x', hosts: ['api.example.com'] } })
      // `deploy` asserts 201.
      await Promise.all(names.map((agent) => deploy(service(), agent, 'v1')))
    })

    test("warns about secrets in tools that do not exist or are not allowed for the tool's host", async () => {
      const headers = (name: string) => ({ authorization: `Bearer {{secret.${name}}}` })
      await service().call('PUT', '/v1/secrets/THERE', { body: { value: 'x', hosts: ['api.example.com'] } })
      await service().call('PUT', '/v1/secrets/AT_443', { body: { value: 'x', hosts: ['api.example.com:443'] } })
      const tools = [
        { type: 'http', name: 'usual', url: 'https://api.example.com/', headers: headers('AT_443') },
        { type: 'http', name: 'beside', url: 'https://api.example.com:8443/', headers: headers('AT_443') },
        { type: 'http', name: 'fine', url: 'https://api.example.com/{x}', headers: headers('THERE') },
        { type: 'http', name: 'lost', url: 'https://api.example.com/', headers: headers('MISSING') },
        { type: 'mcp', url: 'https://mcp.example.com/', headers: headers('THERE') },
      ]
      const agent = await newAgent(service(), { tools })
      const expected = [
        "Tool beside will fail: The secret AT_443 can't be sent to api.example.com:8443; add the host to the secret's hosts",
        'Tool lost will fail: The secret MISSING is not configured',
        "The MCP server mcp.example.com will fail: The secret THERE can't be sent to mcp.example.com; add the host to the secret's hosts",
      ]
      const first = await deploy(service(), agent, 'v1')
      assert.deepEqual(first.warnings, expected)
      // An existing label gets the warnings, too, because the draft might have changed since.
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { tools: [] } })
      assert.deepEqual((await deploy(service(), agent, 'v1')).warnings, expected)
      assert.equal('warnings' in (await deploy(service(), agent, 'v2')), false)
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments/${first.id}`)
      assert.equal('warnings' in body.data, false)
    })

    test('warns about tool URLs that the operator does not allow, and names the setting', async () => {
      const tools = [
        { type: 'http', name: 'fine', url: 'https://api.example.com/{x}' },
        { type: 'http', name: 'plain', url: 'http://api.example.com/' },
        { type: 'http', name: 'near', url: 'http://localhost:3000/{x}' },
        { type: 'mcp', url: 'https://10.0.0.1/mcp' },
      ]
      const agent = await newAgent(service(), { tools })
      const allow = (refused: string, settings: string) => `(the operator can allow ${refused} with ${settings})`
      assert.deepEqual((await deploy(service(), agent, 'v1')).warnings, [
        `Tool plain will fail: its URL must use https ${allow('http', 'outgoing.allowInsecure')}`,
        `Tool near will fail: its URL must use https ${allow('http to this address', 'outgoing.allowInsecure and outgoing.allowedCidrs')}`,
        `The MCP server 10.0.0.1 will fail: its URL must point to a public address ${allow('this one', 'outgoing.allowedCidrs')}`,
      ])
    })

    test('supersedes the previous deployment, only in the same environment', async () => {
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

    test("a label's content never changes: deploying it again serves the same definition", async () => {
      const agent = await newAgent(service(), { instructions: 'one' })
      const first = await deploy(service(), agent, 'v1')
      await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'two' } })
      const again = await deploy(service(), agent, 'v1')
      const other = await deploy(service(), agent, 'v2')
      assert.equal(again.digest, first.digest)
      assert.notEqual(other.digest, first.digest)
    })

    test('agents with the same label serve their own versions, including in background runs', async () => {
      const agents = await Promise.all(
        ['first', 'second'].map((reply) =>
          newAgent(service(), { model: 'builtin/script', script: { rules: [{ reply }] } }),
        ),
      )
      for (const agent of agents) await deploy(service(), agent, 'v1')
      const answers: string[] = []
      for (const agent of agents) {
        const headers = { Prefer: 'respond-async' }
        const asked = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
        const path = `/v1/agents/${agent}/invocations/${asked.body.data.request_id}`
        await until('the run has ended', async () => {
          const { status, response } = (await service().call('GET', path)).body.data
          if (status === 'completed') answers.push(response)
          return status === 'completed'
        })
      }
      assert.deepEqual(answers, ['first', 'second'])
    })

    test('of simultaneous deployments one ends up active', async () => {
      const agent = await newAgent(service())
      await Promise.all(Array.from({ length: 8 }, (_, i) => deploy(service(), agent, `v${i}`)))
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.equal(body.pagination.total, 1)
    })

    describe('with digest', () => {
      const digestOf = async (agent: string) =>
        (await service().call('GET', `/v1/agents/${agent}`)).body.data.digest as string
      const deployExactly = (agent: string, version: string, digest: string) =>
        service().call('POST', `/v1/agents/${agent}/deployments`, {
          body: { environment: 'production', version, digest },
        })
      const labelsOf = async (agent: string) => {
        const { body } = await service().call('GET', `/v1/agents/${agent}/deployments`)
        return body.data.map(({ version }: { version: string }) => version)
      }

      test('201 while the agent has this digest; the record contains it', async () => {
        const agent = await newAgent(service(), { instructions: 'one' })
        const digest = await digestOf(agent)
        const { status, body } = await deployExactly(agent, 'v1', digest)
        assert.deepEqual([status, body.data.digest], [201, digest])
        assert.equal((await deployExactly(agent, 'v1', digest)).status, 201)
      })

      test('409 once someone has changed the agent: neither label nor deployment is created', async () => {
        const agent = await newAgent(service(), { instructions: 'one' })
        const digest = await digestOf(agent)
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'two' } })
        const { status, body } = await deployExactly(agent, 'v1', digest)
        assert.deepEqual([status, body.error.code], [409, 'conflict'])
        assert.deepEqual(await labelsOf(agent), [])
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'one' } })
        assert.equal((await deployExactly(agent, 'v1', digest)).body.data.digest, digest)
      })

      test('409 if the label already exists with different content', async () => {
        const agent = await newAgent(service(), { instructions: 'one' })
        await deploy(service(), agent, 'v1')
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'two' } })
        const { status, body } = await deployExactly(agent, 'v1', await digestOf(agent))
        assert.equal(status, 409)
        assert.match(body.error.message, /Version "v1" already exists with different content/)
        assert.deepEqual(await labelsOf(agent), ['v1'])
      })

      test('changing any field of the definition changes the digest, and no other change does', async () => {
        const agent = await newAgent(service())
        const digest = await digestOf(agent)
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { security: { enforceHttps: false } } })
        assert.equal(await digestOf(agent), digest)
        const fields = [
          { description: 'x' },
          { model: 'builtin/recall' },
          { temperature: 1 },
          { instructions: 'x' },
          { memory: { history: 3 } },
          { limits: { max_steps: 3 } },
          { metadata: { x: 1 } },
        ]
        const digests = new Set([digest])
        for (const body of fields) {
          assert.equal((await service().call('PATCH', `/v1/agents/${agent}`, { body })).status, 200)
          digests.add(await digestOf(agent))
        }
        assert.equal(digests.size, fields.length + 1)
      })

      test('a deployment during an update deploys the definition with the given digest, or nothing', async () => {
        const agent = await newAgent(service(), { instructions: 'known' })
        const digest = await digestOf(agent)
        const [{ status }] = await Promise.all([
          deployExactly(agent, 'v1', digest),
          service().call('PATCH', `/v1/agents/${agent}`, { body: { instructions: 'unknown' } }),
        ])
        assert.ok(status === 201 || status === 409, String(status))
        const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?version=v1`)
        assert.deepEqual(
          body.data.map((row: { digest: string }) => row.digest),
          status === 201 ? [digest] : [],
        )
      })
    })

    for (const [field, value] of [
      ['digest', 'v1'],
      ['digest', 'A'.repeat(64)],
      ['digest', null],
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

    test('filters by version', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      const second = await deploy(service(), agent, 'v2')
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?version=v1`)
      assert.deepEqual(body.data, [{ ...first, status: 'superseded' }])
      const { body: active } = await service().call('GET', `/v1/agents/${agent}/deployments?version=v2&status=active`)
      assert.deepEqual(active.data, [second])
    })
  })

  describe('POST /v1/agents/{agent_id}/deployments/{deployment_id}/rollback', () => {
    test('undoes the active deployment and activates the one before it', async () => {
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
        created_by_name: 'first admin key',
        replaces: second.id,
        rollback_of: second.id,
        forgotten: null,
        strategy: null,
        require_replay: null,
        progress: null,
        evidence: null,
      })
      const undone = await service().call('GET', `/v1/agents/${agent}/deployments/${second.id}`)
      assert.equal(undone.body.data.status, 'rolled_back')
      const active = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.deepEqual(
        active.body.data.map((row: { id: string }) => row.id),
        [id],
      )
    })

    test("409 if the deployment was just rolled back, so two people can't undo each other's rollback", async () => {
      const agent = await newAgent(service())
      await deploy(service(), agent, 'v1')
      const bad = await deploy(service(), agent, 'v2')
      const path = `/v1/agents/${agent}/deployments/${bad.id}/rollback`
      const replies = await Promise.all([service().call('POST', path), service().call('POST', path)])
      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409])
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.equal(body.data[0].version, 'v1')
    })

    test('rolling back again goes further back, skips deployments that were rolled back, and ends with 409', async () => {
      const agent = await newAgent(service())
      for (const version of ['v1', 'v2', 'v3']) await deploy(service(), agent, version)
      const rollBack = async () => {
        const { body: active } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
        const path = `/v1/agents/${agent}/deployments/${active.data[0].id}/rollback`
        const { status, body } = await service().call('POST', path)
        return status === 200 ? body.data.version : [status, body.error.code]
      }
      assert.equal(await rollBack(), 'v2')
      assert.equal(await rollBack(), 'v1')
      assert.deepEqual(await rollBack(), [409, 'conflict'])

      // A version that was rolled back and deployed again counts as good until it is rolled back again.
      await deploy(service(), agent, 'v2')
      await deploy(service(), agent, 'v4')
      assert.equal(await rollBack(), 'v2')
      assert.equal(await rollBack(), 'v1')
      assert.deepEqual(await rollBack(), [409, 'conflict'])
    })

    test('versions between the active deployment and an earlier one that was restored can still be restored', async () => {
      const agent = await newAgent(service())
      const first = await deploy(service(), agent, 'v1')
      await deploy(service(), agent, 'v2')
      await deploy(service(), agent, 'v3')
      const rollBack = (id: string) => service().call('POST', `/v1/agents/${agent}/deployments/${id}/rollback`)
      const { body: returned } = await rollBack(first.id)
      assert.equal(returned.data.version, 'v1')
      assert.equal((await rollBack(returned.data.id)).body.data.version, 'v2')
    })

    test("an earlier deployment's ID restores that deployment", async () => {
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
        memories: 0,
      })
      const active = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      assert.deepEqual(active.body.data, [second])
    })

    test('409 if there is nothing to roll back to, or if that version is already active', async () => {
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
