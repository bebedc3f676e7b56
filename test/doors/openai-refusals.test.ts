import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIError } from 'openai'
import { openaiClient } from '../support/clients/openai.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

type Refusal = { status: number; type: string; code: string; message: string; param?: string | null }

/** What the client hears when it asks this model with this key. */
async function refusal(service: Service, key: string, model: string, headers = {}): Promise<Refusal> {
  const client = openaiClient(service, { apiKey: key })
  const asked = { model, messages: [{ role: 'user' as const, content: 'x' }] }
  let refused: Refusal | undefined
  await assert.rejects(client.chat.completions.create(asked, { headers }), (error: unknown) => {
    assert.ok(error instanceof APIError)
    const { status, type, code, error: body } = error
    refused = { status, type, code, message: (body as { message: string }).message } as Refusal
    return true
  })
  return refused as Refusal
}

/** A tier whose limit is reached soon and lasts. */
const TINY_TIER = { MOORAGE_LIMITS__TIERS: '{"tiny":{"requestsPerMinute":1,"burst":3}}' }

onAnyEngine(
  'refusals to OpenAI clients',
  (service) => {
    const lastRefusal = async (code: string) =>
      until(`the refusal ${code} is in the audit log`, async () => {
        const { body } = await service().call('GET', '/v1/audit-log?limit=20')
        return body.data.find((entry: { code: string }) => entry.code === code)
      })

    test('401 for a wrong key', async () => {
      const { status, type, code } = await refusal(service(), 'sk-wrong', 'hello')
      assert.deepEqual([status, type, code], [401, 'invalid_request_error', 'invalid_api_key'])
      const entry = await lastRefusal('unauthorized')
      assert.deepEqual([entry.action, entry.actor], ['invokeAgent', null])
    })

    test('403 for a read-only key, whether or not the agent exists', async () => {
      const { secret } = await createKey(service(), { permissions: ['read'] })
      const there = await refusal(service(), secret, 'hello')
      assert.deepEqual([there.status, there.type, there.code], [403, 'permission_error', 'forbidden'])
      assert.equal((await lastRefusal('forbidden')).action, 'invokeAgent')
      assert.deepEqual(await refusal(service(), secret, 'nobody'), there)
    })

    test('a key limited to one agent gets the same 403 for other agents, whether or not they exist', async () => {
      const mine = await createAgent(service(), 'mine')
      const { secret } = await createKey(service(), { permissions: ['write'], agent_id: mine })
      const [there, absent] = [await refusal(service(), secret, 'hello'), await refusal(service(), secret, 'nobody')]
      assert.deepEqual(there, absent)
      assert.equal(there.status, 403)
      const models = await openaiClient(service(), { apiKey: secret }).models.list()
      assert.deepEqual(
        models.data.map(({ id }) => id),
        ['mine'],
      )
      const reader = openaiClient(service(), { apiKey: secret })
      await assert.rejects(reader.models.retrieve('hello'), { status: 404 })
    })

    test('404 for an unknown model, 405 and 404 for other paths, in the same format', async () => {
      const { status, code, message } = await refusal(service(), service().admin, 'nobody')
      assert.deepEqual([status, code], [404, 'model_not_found'])
      assert.equal(message, `The model "nobody" does not exist or you don't have access to it.`)
      for (const [method, path, expected] of [
        ['GET', '/v1/chat/completions', 405],
        ['POST', '/v1/embeddings', 404],
        ['GET', '/v1/responses/resp_none', 404],
      ] as const) {
        const reply = await fetch(service().url + path, {
          method,
          headers: { Authorization: `Bearer ${service().admin}` },
        })
        assert.equal(reply.status, expected)
        const { error } = (await reply.json()) as { error: Refusal }
        assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
        assert.match(reply.headers.get('x-request-id') ?? '', /^req_/)
      }
    })

    test('400 for an unsupported tool type names the type, and missing fields are named as in `param`', async () => {
      const ask = async (tool: object) => {
        const body = { model: 'hello', input: 'x', tools: [tool] }
        return (await service().call('POST', '/v1/responses', { body })).body.error
      }
      const { message, param, code } = await ask({ type: 'mcp', server_label: 'x', server_url: 'https://example.com' })
      assert.equal(message, 'tools[0].type: "mcp" is not supported by this service; use tools of type "function"')
      assert.deepEqual([param, code], ['tools[0].type', 'unsupported_parameter'])
      assert.equal((await ask({ type: 'function' })).message, 'Missing required parameter: tools[0].name')
    })

    test('409 for a paused agent', async () => {
      await createAgent(service(), 'resting')
      await service().call('PATCH', '/v1/agents/resting', { body: { status: 'paused' } })
      const { status, code } = await refusal(service(), service().admin, 'resting')
      assert.deepEqual([status, code], [409, 'agent_paused'])
    })

    test("429 at the agent's own rate limit, with the time to wait", async () => {
      const rateLimit = { enabled: true, requests: 1, window: '1h' }
      await createAgent(service(), 'rare', { security: { rateLimit } })
      const ask = () =>
        fetch(`${service().url}/v1/chat/completions`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${service().admin}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ model: 'rare', messages: [{ role: 'user', content: 'x' }] }),
        })
      assert.equal((await ask()).status, 200)
      const refused = await ask()
      assert.equal(refused.status, 429)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      const { error } = (await refused.json()) as { error: Refusal }
      assert.deepEqual([error.type, error.code], ['rate_limit_error', 'rate_limit_exceeded'])
    })

    test("403 outside the agent's IP allowlist, and the agent is not in the list of models", async () => {
      const ipWhitelist = { enabled: true, addresses: ['192.0.2.1'] }
      await createAgent(service(), 'walled', { security: { ipWhitelist } })
      const { status } = await refusal(service(), service().admin, 'walled')
      assert.equal(status, 403)
      const models = await openaiClient(service()).models.list()
      assert.ok(!models.data.some(({ id }) => id === 'walled'))
    })

    test('401 if the agent requires a one-time code', async () => {
      await createAgent(service(), 'guarded', { security: { mfa: { enabled: true, requiredFor: ['delete'] } } })
      const client = openaiClient(service())
      const { id } = await client.responses.create({ model: 'guarded', input: 'x' })
      await assert.rejects(client.responses.delete(id), { status: 401, code: 'mfa_required' })
      const entry = await lastRefusal('mfa_required')
      assert.equal(entry.action, 'eraseInvocation')
      assert.match(entry.agent_id, /^agt_/)
    })

    test('listing models is one request, however many there are', async () => {
      const names = Array.from({ length: 101 }, (_, i) => `many-${i}`)
      for (let i = 0; i < names.length; i += 10) {
        await Promise.all(names.slice(i, i + 10).map((name) => createAgent(service(), name)))
      }
      const { secret } = await createKey(service(), { permissions: ['invoke'], tier: 'enterprise' })
      const left = async (path: string) => {
        const { body, headers } = await service().call('GET', path, { key: secret })
        return { body, left: Number(headers.get('x-ratelimit-remaining')) }
      }
      const { left: before } = await left('/v1/keys/self')
      const { body, left: after } = await left('/v1/models')
      assert.ok(before - after <= 1, `${before - after} requests were counted`)
      const listed = new Set(body.data.map(({ id }: { id: string }) => id))
      assert.ok(names.every((name) => listed.has(name)))
      assert.equal(body.has_more, false)
      assert.equal((await openaiClient(service(), { apiKey: secret }).models.retrieve('many-100')).id, 'many-100')
    })

    test("429 when the tier's limit is reached", async () => {
      const { secret } = await createKey(service(), { permissions: ['write'], tier: 'tiny' })
      const client = openaiClient(service(), { apiKey: secret })
      for (let i = 0; i < 3; i++) await client.models.list()
      await assert.rejects(async () => client.models.list(), { status: 429 })
    })

    test('400 if earlier responses contain more than one run can load', async () => {
      await createAgent(service(), 'long')
      const client = openaiClient(service())
      const long = { role: 'assistant', content: 'x'.repeat(1_000_000) } as const
      const asked = [{ role: 'user', content: 'a' } as const, long, { role: 'user', content: 'b' } as const]
      const items: { type: 'item_reference'; id: string }[] = []
      for (let i = 0; i < 6; i++) {
        const { output } = await client.responses.create({ model: 'long', input: asked })
        items.push({ type: 'item_reference', id: output[0]?.id ?? '' })
      }
      const next = { role: 'user', content: 'c' } as const
      const ask = (named: typeof items) =>
        client.responses.create({ model: 'long', input: [...named.flatMap((item) => [next, item]), next] })
      assert.equal((await ask(items.slice(-3))).output_text, 'c')
      await assert.rejects(ask(items), { status: 400, param: 'input' })
    })

    test('a client that retries with an Idempotency-Key is served once', async () => {
      await createAgent(service(), 'once')
      let cut = true
      const client = openaiClient(service(), {
        maxRetries: 2,
        // The answer to the first try is lost on the way.
        async fetch(url, init) {
          const reply = await fetch(url, init)
          if (!cut) return reply
          cut = false
          await reply.arrayBuffer()
          throw new TypeError('the connection was reset')
        },
      })
      const asked = { model: 'once', messages: [{ role: 'user' as const, content: 'one run' }] }
      const headers = { 'Idempotency-Key': 'a client that tries again'.replaceAll(' ', '-') }
      const completion = await client.chat.completions.create(asked, { headers })
      assert.equal(completion.choices[0]?.message.content, 'one run')
      const { body } = await service().call('GET', '/v1/agents/once/invocations')
      assert.equal(body.pagination.total, 1)
    })
  },
  TINY_TIER,
)
