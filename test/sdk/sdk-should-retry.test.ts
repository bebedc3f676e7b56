import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Client, createClient } from '../../sdk/client.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { openaiClient } from '../support/clients/openai.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelReply, ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import type { Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

describe('a failed run with X-Should-Retry: false', () => {
  let service: Service
  let model: ModelServer
  let stop: () => Promise<void>
  let client: Client
  let shell: Shell
  let agent: string
  before(async () => {
    ;({ service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS))
    client = createClient({ url: service.url, key: service.admin })
    shell = newShell(service)
    model.replyBy(() => ({ status: 400, body: { error: { message: 'no' } } }))
  })
  after(async () => {
    shell.remove()
    await stop()
  })
  beforeEach(async () => {
    agent = await newAgent(service, { model: 'local/m' })
  })

  const runs = async () => (await client.invocations.list(agent)).pagination.total
  const chat = () => ({ model: agent, messages: [{ role: 'user', content: 'Go' }] })
  const CHAT = '/v1/chat/completions'

  test('is not retried by the SDK, through any API', async () => {
    const told = { status: 500, should_retry: false }
    await assert.rejects(client.request({ method: 'POST', path: CHAT, body: chat() }), told)
    assert.equal(await runs(), 1)
    await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
    assert.equal(await runs(), 2)
  })

  test('is not retried by the SDK if its budget can never allow it', async () => {
    const scope = { type: 'agent' as const, id: agent }
    await client.budgets.create({ name: 'tiny', scope, limit: { tokens: 1 }, per: 'ever' })
    const told = { code: 'budget_exceeded', status: 429, retry_after: undefined, should_retry: false }
    await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
    assert.equal(await runs(), 1)
  })

  test('is not retried by moorage api', async () => {
    const { code, stderr } = await shell.moorage(['api', 'POST', CHAT, '--body', JSON.stringify(chat())])
    assert.equal(code, 1, stderr)
    assert.doesNotMatch(stderr, /trying again/)
    assert.equal(await runs(), 1)
  })

  describe('after it has called a tool', () => {
    const TOOL = { type: 'http', name: 'charge', description: 'Charges a card', method: 'POST' }
    const CHARGE = { calls: [{ name: 'charge', arguments: {} }] }
    const callsThenBusy = (request: { messages: { role: string }[] }): ModelReply =>
      request.messages.at(-1)?.role === 'tool'
        ? { status: 429, headers: { 'retry-after': '40' }, body: { error: { message: 'busy' } } }
        : CHARGE
    let shop: LocalServer
    let charges = 0
    before(async () => {
      shop = await startLocalServer((_request, response) => {
        charges++
        response.end('charged')
      })
      model.replyBy(callsThenBusy)
    })
    after(() => shop.close())
    beforeEach(async () => {
      charges = 0
      agent = await newAgent(service, {
        model: 'local/m',
        limits: { timeout_ms: 30_000 },
        tools: [{ ...TOOL, url: shop.url }],
      })
    })

    test('is not retried while its provider is busy: neither the SDK nor the OpenAI client charges twice', async () => {
      const told = { code: 'unavailable', status: 503, retry_after: 40, should_retry: false }
      await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
      assert.equal(charges, 1)
      const openai = openaiClient(service, { maxRetries: 2 })
      await assert.rejects(openai.chat.completions.create(chat() as never), { status: 503 })
      assert.equal(charges, 2)
      await assert.rejects(openai.responses.create({ model: agent, input: 'Go' }), { status: 503 })
      assert.equal(charges, 3)
    })

    test('is not retried even if its budget resets in seconds, so the SDK does not charge twice', async () => {
      service.holdClock()
      const scope = { type: 'agent' as const, id: agent }
      const daily = { name: 'daily', scope, limit: { tokens: 20_000 }, per: 'day' as const }
      const { created_at, resets_at } = await client.budgets.create(daily)
      service.advance(Date.parse(resets_at ?? '') - Date.parse(created_at) - 5_000)
      model.reply({ ...CHARGE, usage: { prompt_tokens: 19_000, completion_tokens: 999 } })
      const told = { code: 'budget_exceeded', status: 429, retry_after: 5, should_retry: false }
      await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
      assert.equal(charges, 1)
    })
  })
})
