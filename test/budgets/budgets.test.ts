import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onBothEngines } from '../support/service/service.ts'
import { createKey, idsOf } from '../support/slices/resources.ts'

const MONTHLY = { name: 'the month', scope: { type: 'project' }, limit: { cost_usd: 12.5 }, per: 'month' }

onBothEngines('budgets', (service) => {
  const create = (body: object, key?: string) => service().call('POST', '/v1/budgets', { body, ...(key && { key }) })

  describe('POST /v1/budgets', () => {
    test('201 with the amount spent so far', async () => {
      const reply = await create({ ...MONTHLY, timezone: 'Europe/Berlin' })
      assert.equal(reply.status, 201, reply.text)
      const { id, created_by, created_at, updated_at, resets_at, ...budget } = reply.body.data
      assert.match(id, /^bud_/)
      assert.match(created_by, /^key_/)
      assert.equal(created_at, updated_at)
      assert.ok(Date.parse(resets_at) > Date.parse(created_at))
      assert.deepEqual(budget, {
        project_id: 'prj_default',
        name: 'the month',
        scope: { type: 'project', id: null },
        limit: { cost_usd: 12.5 },
        per: 'month',
        timezone: 'Europe/Berlin',
        thresholds: [50, 80, 100],
        action: 'refuse',
        subject: null,
        used: 0,
        reserved: 0,
        warnings: [],
      })
      assert.deepEqual((await service().call('GET', `/v1/budgets/${id}`)).body.data, reply.body.data)
    })

    test("accepts an agent's name, and returns its ID", async () => {
      const agent = await newAgent(service())
      const { name } = (await service().call('GET', `/v1/agents/${agent}`)).body.data
      const body = { ...MONTHLY, scope: { type: 'agent', id: name }, limit: { tokens: 1000 }, per: 'ever' }
      const { data } = (await create(body)).body
      assert.deepEqual([data.scope, data.limit, data.resets_at], [{ type: 'agent', id: agent }, { tokens: 1000 }, null])
      await service().call('DELETE', `/v1/agents/${agent}`)
      assert.equal((await service().call('GET', `/v1/budgets/${data.id}`)).status, 404, 'it goes with its agent')
    })

    for (const [what, body, field] of [
      ['a limit of two kinds', { limit: { tokens: 1, runs: 1 } }, 'limit'],
      ['a limit of nothing', { limit: { cost_usd: 0 } }, 'limit'],
      ['an unknown time zone', { timezone: 'Mars/Olympus' }, 'timezone'],
      ['a threshold that is said twice', { thresholds: [50, 50] }, 'thresholds'],
      ['an agent that does not exist', { scope: { type: 'agent', id: 'nobody' } }, 'scope.id'],
      ['an agent without a name', { scope: { type: 'agent' } }, 'scope.id'],
      ['a key that does not exist', { scope: { type: 'key', id: 'key_1' } }, 'scope.id'],
      ['another project', { scope: { type: 'project', id: 'prj_other' } }, 'scope.id'],
    ] as const) {
      test(`400 for ${what}`, async () => {
        const reply = await create({ ...MONTHLY, ...body })
        assert.equal(reply.status, 400, reply.text)
        assert.ok(reply.body.error.details[0].field.startsWith(field), reply.text)
      })
    }

    test('400 names the possible limits and says what is wrong with the given one', async () => {
      const one = { field: 'limit', error: 'specify exactly one of `cost_usd`, `tokens` or `runs`' }
      for (const limit of [{}, { tokens: 1, runs: 1 }]) {
        assert.deepEqual((await create({ ...MONTHLY, limit })).body.error.details, [one])
      }
      const [wrong] = (await create({ ...MONTHLY, limit: { tokens: 1.5 } })).body.error.details
      assert.equal(wrong.field, 'limit.tokens')
      const [nameless] = (await create({ ...MONTHLY, scope: { type: 'agent' } })).body.error.details
      assert.deepEqual(nameless, { field: 'scope.id', error: "must be the agent's ID or name" })
    })

    test('for a key limited to one project, a key with access to all projects gets the same 400 as a missing one', async () => {
      const { id } = await createKey(service(), { role: 'caller', all_projects: true })
      const { secret } = await createKey(inProject(service(), 'default'), { role: 'admin' })
      const ask = (key_id: string, by?: string) => create({ ...MONTHLY, scope: { type: 'key', id: key_id } }, by)
      const [hidden, missing] = [await ask(id, secret), await ask('key_1', secret)]
      assert.deepEqual([hidden.status, hidden.body.error.details], [400, missing.body.error.details])
      assert.equal((await ask(id)).status, 201)
    })

    test('a service budget requires a key with access to all projects, and is hidden from other keys', async () => {
      const body = { ...MONTHLY, scope: { type: 'service' } }
      const { secret } = await createKey(inProject(service(), 'default'), { role: 'admin' })
      const refused = await create(body, secret)
      assert.equal(refused.status, 403, refused.text)
      const { data } = (await create(body)).body
      assert.equal(data.project_id, null)
      const seen = await service().call('GET', `/v1/budgets/${data.id}`, { key: secret })
      assert.equal(seen.status, 404)
      const lists = await Promise.all(
        [service().admin, secret].map((key) => service().call('GET', '/v1/budgets?scope=service', { key })),
      )
      assert.deepEqual(lists.map(idsOf), [[data.id], []])
    })
  })

  describe('PATCH /v1/budgets/{budget_id}', () => {
    test('changes the given fields and keeps the rest', async () => {
      const { id, ...before } = (await create(MONTHLY)).body.data
      const body = { limit: { cost_usd: 20 }, thresholds: [90, 10], action: 'notify' }
      const reply = await service().call('PATCH', `/v1/budgets/${id}`, { body })
      const { updated_at } = reply.body.data
      assert.deepEqual(reply.body.data, { id, ...before, ...body, thresholds: [10, 90], updated_at })
    })

    test('400 for another kind of limit, because spending was counted in the old one', async () => {
      const { id } = (await create(MONTHLY)).body.data
      const reply = await service().call('PATCH', `/v1/budgets/${id}`, { body: { limit: { runs: 5 } } })
      assert.equal(reply.status, 400, reply.text)
      assert.equal(reply.body.error.details[0].field, 'limit')
    })
  })

  test('a key of one agent can read the budgets that apply to the agent, and change only its own', async () => {
    const agent = await newAgent(service())
    const { secret: key } = await createKey(service(), { role: 'admin', agent_id: agent })
    const body = { ...MONTHLY, scope: { type: 'agent', id: agent } }
    const { id } = (await create(body)).body.data
    const raise = { body: { limit: { cost_usd: 1_000 } }, key }
    assert.equal((await service().call('GET', `/v1/budgets/${id}`, { key })).status, 200)
    for (const refused of [
      await service().call('PATCH', `/v1/budgets/${id}`, raise),
      await service().call('DELETE', `/v1/budgets/${id}`, { key }),
    ]) {
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'], refused.text)
    }
    const own = (await create(body, key)).body.data.id
    assert.equal((await service().call('PATCH', `/v1/budgets/${own}`, raise)).status, 200)
    assert.equal((await service().call('DELETE', `/v1/budgets/${own}`, { key })).status, 200)
  })

  test('GET /v1/budgets/{budget_id} shows a subject only of budgets that have some', async () => {
    const { id } = (await create(MONTHLY)).body.data
    const refused = await service().call('GET', `/v1/budgets/${id}?subject=ada`)
    assert.equal(refused.status, 400, refused.text)
    assert.equal(refused.body.error.details[0].field, 'subject')
    const each = (await create({ ...MONTHLY, scope: { type: 'user' } })).body.data.id
    const { status, body } = await service().call('GET', `/v1/budgets/${each}?subject=ada`)
    assert.deepEqual([status, body.data.subject, body.data.used], [200, 'ada', 0])
  })

  test('DELETE /v1/budgets/{budget_id} ends it', async () => {
    const { id } = (await create(MONTHLY)).body.data
    assert.deepEqual((await service().call('DELETE', `/v1/budgets/${id}`)).body.data, { id, deleted: true })
    assert.equal((await service().call('GET', `/v1/budgets/${id}`)).status, 404)
  })

  test('a project sees its own only', async () => {
    await service().call('POST', '/v1/projects', { body: { name: 'shop' } })
    const shop = inProject(service(), 'shop')
    const { id } = (await shop.call('POST', '/v1/budgets', { body: MONTHLY })).body.data
    assert.deepEqual(idsOf(await shop.call('GET', '/v1/budgets?scope=project')), [id])
    assert.equal((await service().call('GET', `/v1/budgets/${id}`)).status, 404)
  })
})
