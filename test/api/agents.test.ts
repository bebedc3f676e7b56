import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { onBothEngines, type Reply } from '../support/service/service.ts'
import { createAgent, createKey, idsOf, later, namesOf } from '../support/slices/resources.ts'
import { everythingStored } from '../support/stores/stored.ts'

const MINUTE = 60_000
const LOOK = { type: 'http', name: 'look', url: 'https://example.com/' }

onBothEngines('agents', (service) => {
  const call = (method: string, path: string, body?: unknown) => service().call(method, path, { body })

  describe('POST /v1/agents', () => {
    test('201 with every field and where to find it', async () => {
      const { status, headers, body } = await call('POST', '/v1/agents', { name: 'first' })
      assert.equal(status, 201)
      const { id, created_at, updated_at, digest, ...rest } = body.data
      assert.match(digest, /^[0-9a-f]{64}$/)
      assert.match(id, /^agt_[0-9A-Z]{26}$/)
      assert.equal(headers.get('location'), `/v1/agents/${id}`)
      assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 10_000)
      assert.equal(created_at, updated_at)
      assert.deepEqual(rest, {
        name: 'first',
        status: 'running',
        kind: 'model',
        remote: null,
        description: null,
        model: 'builtin/echo',
        temperature: null,
        instructions: null,
        tools: [],
        script: null,
        output: null,
        memory: { remember: true, history: 20, recall: 5, facts: 'off', summarize: false, retention_days: null },
        limits: {
          timeout_ms: null,
          max_steps: 8,
          max_input_tokens: null,
          max_output_tokens: null,
          max_concurrency: null,
          cut_to_budget: false,
          max_tool_calls: null,
          max_tokens_per_run: null,
          max_cost_per_run: null,
        },
        sessions: { while_busy: 'queue' },
        approvals: { self: false, expires_after_seconds: 604_800 },
        metadata: {},
        security: null,
        auth: null,
      })
    })

    test('every field that can be set is returned unchanged', async () => {
      const given = {
        name: 'complete',
        kind: 'model',
        remote: null,
        description: 'Ünïcødé, 漢字, 🛥 and a right-to-left override \u202e',
        model: 'builtin/script',
        temperature: 0.5,
        instructions: "'; drop table agents; --",
        tools: [
          {
            type: 'http',
            name: 'weather',
            description: 'Tells the weather',
            input_schema: { type: 'object', properties: { city: { type: 'string' } } },
            method: 'GET',
            url: 'https://weather.example/{city}',
            headers: { 'X-Key': '{{secret.WEATHER}}' },
            timeout_ms: 1000,
            retry: 'never',
            approval: { when: [{ argument: 'city', equals: 'Ys' }], expires_after_seconds: 60 },
          },
        ],
        script: { rules: [{ match: { contains: 'hi' }, reply: 'hello' }], fallback: 'what?' },
        output: { schema: { type: 'object', properties: { city: { type: 'string' } } }, retries: 5 },
        memory: { remember: false, history: 0, recall: 0, facts: 'model', summarize: 12, retention_days: 30 },
        limits: {
          timeout_ms: 1000,
          max_steps: 1,
          max_input_tokens: 9,
          max_output_tokens: 5,
          max_concurrency: 2,
          cut_to_budget: true,
          max_tool_calls: 3,
          max_tokens_per_run: 4,
          max_cost_per_run: 0.5,
        },
        sessions: { while_busy: 'cancel' },
        approvals: { self: true, expires_after_seconds: 3600 },
        metadata: { team: 'blue', nested: [1, null, { deep: true }], '': 'empty', constructor: 'inert' },
      }
      const { status, body, text } = await call('POST', '/v1/agents', given)
      assert.equal(status, 201, text)
      const { id, status: state, created_at: _, updated_at: __, digest: ___, security, auth, ...rest } = body.data
      assert.deepEqual([state, security, auth], ['running', null, null])
      assert.deepEqual(rest, given)
      const read = await call('GET', `/v1/agents/${id}`)
      assert.deepEqual(read.body, body)
    })

    test('400 for an unknown kind', async () => {
      const { status, body } = await call('POST', '/v1/agents', { name: 'strange', kind: 'oracle' })
      assert.equal(status, 400)
      assert.deepEqual(fieldsOf(body), ['kind'])
    })

    test('409 for a name that is taken', async () => {
      await createAgent(service(), 'twice')
      assertRefusal(await call('POST', '/v1/agents', { name: 'twice' }), 409, 'conflict')
    })

    test('exactly one of twenty simultaneous requests with the same name creates the agent', async () => {
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => call('POST', '/v1/agents', { name: 'contested' })),
      )
      const statuses = replies.map(({ status }) => status).toSorted()
      assert.deepEqual(statuses, [201, ...Array.from({ length: 19 }, () => 409)])
    })

    const wrong: Record<string, [body: object, field: string]> = {
      'a name in capitals': [{ name: 'Upper' }, 'name'],
      'a name like an id': [{ name: 'agt_1' }, 'name'],
      'a name of 64 characters': [{ name: 'a'.repeat(64) }, 'name'],
      'a name that begins with a hyphen': [{ name: '-a' }, 'name'],
      'a name with a line break': [{ name: 'a\n' }, 'name'],
      'an empty name': [{ name: '' }, 'name'],
      'a number for a name': [{ name: 1 }, 'name'],
      'a temperature above 2': [{ temperature: 3 }, 'temperature'],
      'a temperature below 0': [{ temperature: -1 }, 'temperature'],
      'a temperature in quotes': [{ temperature: '0.5' }, 'temperature'],
      'a model of an unknown provider': [{ model: 'nobody/gpt' }, 'model'],
      'null for a model': [{ model: null }, 'model'],
      'metadata that is a list': [{ metadata: [] }, 'metadata'],
      'more than 64 KiB of metadata': [{ metadata: { long: 'x'.repeat(65_536) } }, 'metadata'],
      'no steps at all': [{ limits: { max_steps: 0 } }, 'limits.max_steps'],
      'a tool whose schema is too large, behind one that has none': [
        { tools: [{ type: 'ask_person' }, { ...LOOK, input_schema: { type: 'object', title: 'x'.repeat(300_000) } }] },
        'tools.1.input_schema',
      ],
      'an unknown field within another': [{ limits: { max_stepz: 1 } }, 'limits.max_stepz'],
    }
    for (const [name, [body, field]] of Object.entries(wrong)) {
      test(`400 for ${name}`, async () => {
        const reply = await call('POST', '/v1/agents', { name: 'wrong', ...body })
        assert.equal(reply.status, 400, reply.text)
        assert.deepEqual(fieldsOf(reply.body), [field])
      })
    }

    test('400 for a temperature of 1e400', async () => {
      assert.equal((await call('POST', '/v1/agents', '{"name":"hot","temperature":1e400}')).status, 400)
    })
  })

  describe('GET /v1/agents', () => {
    test('exactly id, name, status and created_at of each, and the page', async () => {
      const id = await createAgent(service(), 'summarised')
      const { status, body } = await call('GET', '/v1/agents?limit=1')
      assert.equal(status, 200)
      const { created_at } = (await call('GET', `/v1/agents/${id}`)).body.data
      const { total } = body.pagination
      assert.deepEqual(body, {
        data: [{ id, name: 'summarised', status: 'running', created_at }],
        pagination: { limit: 1, offset: 0, total, has_more: true },
      })
    })

    test('lists ten at a time by default, newest first', async () => {
      const ids = []
      for (let i = 0; i < 11; i++) ids.push(await createAgent(service(), `of-many-${i}`))
      const page = await call('GET', '/v1/agents')
      assert.equal(page.body.pagination.limit, 10)
      assert.equal(idsOf(page).length, 10)
      const times = page.body.data.map(({ created_at }: { created_at: string }) => created_at)
      assert.deepEqual(times, times.toSorted().toReversed())
    })

    test('pages neither repeat nor skip, whatever the sort', async () => {
      const { total } = (await call('GET', '/v1/agents')).body.pagination
      for (const sort of ['created_at', '-created_at', 'updated_at', 'name', '-name', 'status', '-status', 'id']) {
        const seen: string[] = []
        for (let offset = 0; offset < total; offset += 4) {
          seen.push(...idsOf(await call('GET', `/v1/agents?limit=4&sort=${sort}&offset=${offset}`)))
        }
        assert.equal(new Set(seen).size, total, sort)
        assert.equal(seen.length, total, sort)
      }
    })

    test('names sort by their bytes on either engine', async () => {
      const names = namesOf(await call('GET', '/v1/agents?limit=100&sort=name'))
      assert.deepEqual(names, names.toSorted())
    })

    test('an offset beyond the end is an empty page', async () => {
      const { status, body } = await call('GET', '/v1/agents?offset=9007199254740991')
      assert.equal(status, 200)
      assert.deepEqual(body.data, [])
      assert.equal(body.pagination.has_more, false)
    })

    test('a scoped key sees its agent only', async () => {
      const agent_id = await createAgent(service(), 'scoped')
      const { secret } = await createKey(service(), { role: 'viewer', agent_id })
      const page = await service().call('GET', '/v1/agents', { key: secret })
      assert.deepEqual(idsOf(page), [agent_id])
      assert.deepEqual(page.body.pagination, { limit: 10, offset: 0, total: 1, has_more: false })
    })
  })

  describe('GET /v1/agents/{agent_id}', () => {
    test('200 by id and by name, with the same answer', async () => {
      const id = await createAgent(service(), 'two-ways')
      const [byId, byName] = await Promise.all([call('GET', `/v1/agents/${id}`), call('GET', '/v1/agents/two-ways')])
      assert.equal(byId.status, 200)
      assert.equal(byId.body.data.id, id)
      assert.deepEqual(byId.body, byName.body)
    })

    for (const ref of [
      'nobody',
      'agt_00000000000000000000000000',
      "' or 1=1 --",
      '%',
      '漢字',
      'a/b',
      '#guarded',
      '#1',
    ]) {
      test(`404 for ${ref}`, async () => {
        assertRefusal(await call('GET', `/v1/agents/${encodeURIComponent(ref)}`), 404, 'not_found')
      })
    }
  })

  describe('repeated reads', () => {
    test('is served from memory, and shows a change immediately', async () => {
      const id = await createAgent(service(), 'remembered', { description: 'before' })
      const { secret: scoped } = await createKey(service(), { role: 'viewer', agent_id: id })
      const paths = [`/v1/agents/${id}`, '/v1/agents/remembered', '/v1/agents', '/v1/agents?limit=100&sort=name']
      const read = async () => {
        const replies = await Promise.all([
          ...paths.map((path) => call('GET', path)),
          service().call('GET', '/v1/agents', { key: scoped }),
        ])
        return replies.map(({ body }) => body)
      }
      const first = await read()
      const { data } = first[4]
      assert.deepEqual([data.length, data[0].name], [1, 'remembered'])
      assert.deepEqual(await read(), first)

      await call('PATCH', `/v1/agents/${id}`, { name: 'renamed', description: 'after' })
      const { body } = await call('GET', `/v1/agents/${id}`)
      assert.deepEqual([body.data.name, body.data.description], ['renamed', 'after'])
      const lists = await Promise.all([
        call('GET', '/v1/agents?limit=100'),
        call('GET', '/v1/agents?limit=100&sort=name'),
      ])
      for (const list of lists) assert.ok(namesOf(list).includes('renamed') && !namesOf(list).includes('remembered'))
      assert.deepEqual(namesOf(await service().call('GET', '/v1/agents', { key: scoped })), ['renamed'])

      const { total } = lists[0].body.pagination
      await call('DELETE', `/v1/agents/${id}`)
      assert.equal((await call('GET', `/v1/agents/${id}`)).status, 404)
      assert.equal((await call('GET', '/v1/agents?limit=100')).body.pagination.total, total - 1)
    })
  })

  describe('PATCH /v1/agents/{agent_id}', () => {
    test('changes the given fields and keeps the rest', async () => {
      const id = await createAgent(service(), 'changing', { description: 'as it was', temperature: 1 })
      const before = (await call('GET', `/v1/agents/${id}`)).body.data
      const { status, body } = await later(service(), MINUTE, () =>
        call('PATCH', '/v1/agents/changing', { model: 'builtin/script', temperature: null }),
      )
      assert.equal(status, 200)
      const { updated_at, digest } = body.data
      assert.notEqual(digest, before.digest)
      assert.ok(Date.parse(updated_at) - Date.parse(before.updated_at) >= MINUTE)
      assert.deepEqual(body.data, { ...before, model: 'builtin/script', temperature: null, updated_at, digest })
      assert.deepEqual((await call('GET', `/v1/agents/${id}`)).body, body)
    })

    test('with digest: 409 if the agent has changed; of several simultaneous changes only one succeeds', async () => {
      await createAgent(service(), 'exact', { limits: { max_steps: 3 } })
      const change = (changes: object) => call('PATCH', '/v1/agents/exact', changes)
      const { digest } = (await call('GET', '/v1/agents/exact')).body.data
      const replies = await Promise.all([4, 5, 6].map((max_steps) => change({ limits: { max_steps }, digest })))
      const [made, ...others] = replies.toSorted((a, b) => a.status - b.status)
      assert.ok(made)
      assert.deepEqual([made.status, ...others.map(({ body }) => body.error.code)], [200, 'conflict', 'conflict'])
      assert.deepEqual((await call('GET', '/v1/agents/exact')).body, made.body)
      assert.equal((await change({ description: 'mine', digest: made.body.data.digest })).status, 200)
      const [nothing] = (await change({ digest: made.body.data.digest })).body.error.details
      assert.deepEqual(nothing, { field: '(body)', error: 'must contain at least one field to change' })
    })

    test('a new name works immediately, and the old one can be used again', async () => {
      const id = await createAgent(service(), 'old-name')
      assert.equal((await call('PATCH', `/v1/agents/${id}`, { name: 'new-name' })).status, 200)
      assert.equal((await call('GET', '/v1/agents/new-name')).body.data.id, id)
      assert.equal((await call('GET', '/v1/agents/old-name')).status, 404)
      await createAgent(service(), 'old-name')
    })

    test("409 for another agent's name; its own name is accepted", async () => {
      await createAgent(service(), 'mine')
      await createAgent(service(), 'theirs')
      assert.equal((await call('PATCH', '/v1/agents/mine', { name: 'theirs' })).status, 409)
      assert.equal((await call('PATCH', '/v1/agents/mine', { name: 'mine' })).status, 200)
    })

    test('pauses an agent and lets it run again', async () => {
      await createAgent(service(), 'resting')
      for (const status of ['paused', 'running']) {
        assert.equal((await call('PATCH', '/v1/agents/resting', { status })).body.data.status, status)
        assert.equal((await call('GET', '/v1/agents/resting')).body.data.status, status)
      }
    })

    test('simultaneous changes to different fields are all kept', async () => {
      await createAgent(service(), 'crowded')
      const changes = [
        { description: 'described' },
        { temperature: 1.5 },
        { instructions: 'be brief' },
        { metadata: { at: 'once' } },
        { status: 'paused' },
        { limits: { max_steps: 3 } },
      ]
      const replies = await Promise.all(changes.map((change) => call('PATCH', '/v1/agents/crowded', change)))
      assert.ok(replies.every(({ status }) => status === 200))
      const { data } = (await call('GET', '/v1/agents/crowded')).body
      assert.partialDeepStrictEqual(data, Object.assign({}, ...changes))
    })

    test('400 for every field that only the service sets, and for a request without fields', async () => {
      await createAgent(service(), 'guarded')
      const before = await call('GET', '/v1/agents/guarded')
      for (const field of ['id', 'seq', 'created_at', 'updated_at', 'owner', 'definition', 'constructor']) {
        const { status, body } = await call('PATCH', '/v1/agents/guarded', { [field]: 'mine', temperature: 1 })
        assert.equal(status, 400)
        assert.deepEqual(fieldsOf(body), [field])
      }
      assert.equal((await call('PATCH', '/v1/agents/guarded', '{"__proto__":{"temperature":1}}')).status, 400)
      assert.equal((await call('PATCH', '/v1/agents/guarded', {})).status, 400)
      assert.deepEqual((await call('GET', '/v1/agents/guarded')).body, before.body)
    })

    test('404 for an agent that does not exist', async () => {
      assert.equal((await call('PATCH', '/v1/agents/nobody', { temperature: 1 })).status, 404)
    })
  })

  describe('DELETE /v1/agents/{agent_id}', () => {
    test('200; afterwards the agent is not found by id or by name', async () => {
      const id = await createAgent(service(), 'leaving')
      const { status, body } = await call('DELETE', '/v1/agents/leaving')
      assert.equal(status, 200)
      assert.deepEqual(body, { success: true, data: { id, deleted: true } })
      for (const ref of [id, 'leaving']) assert.equal((await call('GET', `/v1/agents/${ref}`)).status, 404)
      assert.equal((await call('DELETE', `/v1/agents/${id}`)).status, 404)
    })

    test('its name can be used again, for a new agent', async () => {
      const first = await createAgent(service(), 'phoenix')
      await call('DELETE', '/v1/agents/phoenix')
      assert.notEqual(await createAgent(service(), 'phoenix'), first)
    })

    test('of five simultaneous deletes one succeeds and the others are 404', async () => {
      await createAgent(service(), 'wanted-gone')
      const replies = await Promise.all(Array.from({ length: 5 }, () => call('DELETE', '/v1/agents/wanted-gone')))
      const statuses = replies.map(({ status }) => status).toSorted()
      assert.deepEqual(statuses, [200, 404, 404, 404, 404])
    })
  })

  describe('security and auth of an agent', () => {
    const auth = { type: 'jwt', secret: 'a secret of more than 32 bytes, for HS256' }
    const security = { enforceHttps: true }

    test('need the permission manage, to create and to change', async () => {
      await createAgent(service(), 'secured')
      const { secret: key } = await createKey(service(), { role: 'developer' })
      const replies: Reply[] = []
      for (const setting of [{ security }, { auth }, { security: {} }, { auth: null }, { security: null }]) {
        const body = { name: 'insecure', ...setting }
        if (Object.values(setting)[0] !== null) {
          replies.push(await service().call('POST', '/v1/agents', { key, body }))
        }
        replies.push(await service().call('PATCH', '/v1/agents/secured', { key, body: setting }))
      }
      for (const { status, body } of replies) {
        assert.equal(status, 403)
        assert.equal(body.error.code, 'forbidden')
      }
    })

    test('the secret comes back as a hint, and is stored sealed', async () => {
      const created = await call('POST', '/v1/agents', { name: 'sealed', auth })
      const hinted = { type: 'jwt', secret: '…S256' }
      assert.deepEqual(created.body.data.auth, hinted)
      const read = await call('GET', '/v1/agents/sealed')
      assert.deepEqual(read.body.data.auth, hinted)
      const stored = await everythingStored(service())
      assert.ok(stored.includes('sealed'), 'looked in the right place')
      assert.ok(!stored.includes(auth.secret))
      assert.ok(!service().log().includes(auth.secret))
    })
  })
})
