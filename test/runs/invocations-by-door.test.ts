import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { timeOf } from '../../src/lib/id.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

onAnyEngine('invocations filtered by channel', (service) => {
  const ask = (agent: string, message: string, user_id: string) =>
    service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context: { user_id } } })
  const chat = (agent: string, content: string, user: string) =>
    service().call('POST', '/v1/chat/completions', {
      body: { model: agent, user, messages: [{ role: 'user', content }] },
    })
  const list = async (query: string, agent?: string) => {
    const path = agent ? `/v1/agents/${agent}/invocations` : '/v1/invocations'
    const { status, text, body } = await service().call('GET', `${path}?${query}`)
    assert.equal(status, 200, text)
    return { messages: body.data.map(({ message }: { message: string }) => message), total: body.pagination.total }
  }
  before(async () => {
    await createAgent(service(), 'pilot')
    await createAgent(service(), 'cook')
    await ask('pilot', 'api 1', 'ann')
    await chat('pilot', 'chat 1', 'ann')
    await chat('cook', 'chat 2', 'bob')
    await ask('cook', 'api 2', 'bob')
    await chat('pilot', 'chat 3', 'bob')
  })

  test("lists one agent's and all invocations, with a total and in pages", async () => {
    assert.deepEqual(await list('door=openai', 'pilot'), { messages: ['chat 3', 'chat 1'], total: 2 })
    assert.deepEqual(await list('door=api', 'pilot'), { messages: ['api 1'], total: 1 })
    assert.deepEqual(await list('door=openai'), { messages: ['chat 3', 'chat 2', 'chat 1'], total: 3 })
    assert.deepEqual(await list('door=api'), { messages: ['api 2', 'api 1'], total: 2 })
    assert.deepEqual(await list('door=openai&limit=1&offset=1&sort=created_at'), { messages: ['chat 2'], total: 3 })
    assert.deepEqual(await list('door=mcp'), { messages: [], total: 0 })
    assert.equal((await list('door=openai&sort=-duration_ms', 'pilot')).total, 2)
  })

  test('created_at is the time in the request ID, because pages far down the list are found by both', async () => {
    const { body } = await service().call('GET', '/v1/invocations')
    const times = body.data.map(({ created_at }: { created_at: string }) => Date.parse(created_at))
    assert.deepEqual(
      times,
      body.data.map(({ request_id }: { request_id: string }) => timeOf(request_id)),
    )
  })

  test('lists all of them, however large the tool calls are that were left to clients', async () => {
    const call = { tool: 'write_down', arguments: { text: '{{message}}' } }
    await createAgent(service(), 'clerk', { model: 'builtin/script', script: { rules: [{ call }] } })
    const tools = [{ type: 'function', function: { name: 'write_down', parameters: { type: 'object' } } }]
    for (let i = 0; i < 6; i++) {
      const messages = [{ role: 'user', content: `${i} ${'ö'.repeat(80_000)}` }]
      const { body, text } = await service().call('POST', '/v1/chat/completions', {
        body: { model: 'clerk', messages, tools },
      })
      assert.equal(body.choices?.[0].finish_reason, 'tool_calls', text)
    }
    const { messages, total } = await list('door=openai&limit=10', 'clerk')
    assert.deepEqual(
      messages.map((message: string) => message.slice(0, 1)),
      ['5', '4', '3', '2', '1', '0'],
    )
    assert.equal(total, 6)
  })

  test('can be combined with other filters', async () => {
    assert.deepEqual(await list('door=openai&user_id=bob'), { messages: ['chat 3', 'chat 2'], total: 2 })
    assert.deepEqual(await list('door=api&user_id=bob&status=completed', 'cook'), { messages: ['api 2'], total: 1 })
    assert.deepEqual(await list('door=openai&status=failed'), { messages: [], total: 0 })
    assert.deepEqual(await list('door=api&status=completed&agent_id=pilot'), { messages: ['api 1'], total: 1 })
  })

  test('400 that names the channels for an unknown one', async () => {
    const { status, body } = await service().call('GET', '/v1/invocations?door=window')
    assert.equal(status, 400)
    assert.equal(body.error.details[0].field, 'door')
  })
})
