import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Client, createClient } from '../../sdk/client.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import type { Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

describe('a run that has failed, of which the service says X-Should-Retry: false', () => {
  let service: Service
  let model: ModelServer
  let stop: () => Promise<void>
  let client: Client
  let shell: Shell
  let agent: string
  before(async () => {
    ;({ service, model, stop } = await startWithModel('sqlite'))
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

  test('the SDK does not run it again, by whichever door it asked', async () => {
    const told = { status: 500, should_retry: false }
    await assert.rejects(client.request({ method: 'POST', path: CHAT, body: chat() }), told)
    assert.equal(await runs(), 1)
    await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
    assert.equal(await runs(), 2)
  })

  test('the SDK does not try a budget again that has no room, and never will', async () => {
    const scope = { type: 'agent' as const, id: agent }
    await client.budgets.create({ name: 'tiny', scope, limit: { tokens: 1 }, per: 'ever' })
    const told = { code: 'budget_exceeded', status: 429, retry_after: undefined, should_retry: false }
    await assert.rejects(client.agents.invoke(agent, { message: 'Go' }), told)
    assert.equal(await runs(), 1)
  })

  test('moorage api does not run it again', async () => {
    const { code, stderr } = await shell.moorage(['api', 'POST', CHAT, '--body', JSON.stringify(chat())])
    assert.equal(code, 1, stderr)
    assert.doesNotMatch(stderr, /trying again/)
    assert.equal(await runs(), 1)
  })
})
