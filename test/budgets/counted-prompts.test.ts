import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { startMcpServer } from '../support/outside/mcp-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const FILE = Buffer.from('one line of a log that is long\n'.repeat(9_700))

for (const engine of ANY_ENGINE) {
  test(`the text of a file in a result is counted as it is sent, on ${engine}`, async (t) => {
    const resource = { uri: 'file:///log.txt', mimeType: 'text/plain', blob: FILE.toString('base64') }
    const mcp = await startMcpServer([{ name: 'read', content: [{ type: 'resource', resource }] }])
    const { service, model, stop } = await startWithModel(engine, LOCAL_TOOLS)
    t.after(async () => {
      await stop()
      await mcp.close()
    })
    const tools = [{ type: 'mcp', url: mcp.url }]
    const ask = async (agent: string, given: object = {}) => {
      model.reset()
      model.reply({ calls: [{ name: 'read', arguments: {} }] }, { text: ['Read.'] })
      return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Read it', ...given } })
    }

    await t.test('a budget without room for it refuses the second call', async () => {
      const agent = await newAgent(service, { model: 'local/test-model', tools })
      const scope = { type: 'agent', id: agent }
      const body = { name: 'small', scope, limit: { tokens: 10_000 }, per: 'ever' }
      const budget = await service.call('POST', '/v1/budgets', { body })
      const { status, body: reply, text } = await ask(agent)
      assert.equal(status, 429, text)
      assert.equal(reply.error.code, 'budget_exceeded')
      assert.equal(model.requests.length, 1)
      const { data } = (await service.call('GET', `/v1/budgets/${budget.body.data.id}`)).body
      assert.deepEqual([data.used, data.reserved], [15, 0])
    })

    await t.test('older turns, and then the end of the file, are left out to keep max_input_tokens', async () => {
      const limits = { max_input_tokens: 3_000 }
      const agent = await newAgent(service, { model: 'local/test-model', tools, limits })
      const context = { user_id: 'ada', session_id: 'one' }
      model.reset()
      for (const message of ['x'.repeat(2_000), 'y'.repeat(2_000)]) {
        const asked = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
        assert.equal(asked.status, 200, asked.text)
      }
      assert.equal((await ask(agent, { context })).status, 200)
      const [, second] = model.requests
      const sent = JSON.stringify(second?.body).length
      assert.ok(sent > 8_000 && sent <= 12_000, `${sent} bytes`)
      const messages = JSON.stringify(second?.body.messages)
      assert.ok(messages.includes("the rest does not fit in the model's context window"))
      assert.ok(messages.includes('yyyy') && !messages.includes('xxxx'))
    })
  })
}
