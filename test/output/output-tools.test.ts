import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'

const SCHEMA = {
  type: 'object',
  properties: { stock: { type: 'integer' } },
  required: ['stock'],
  additionalProperties: false,
}
const CALL = { calls: [{ name: 'stock', arguments: {} }] }
const INSTRUCTION = `Answer with JSON and nothing else: one value that fits this JSON Schema, not the schema itself
${JSON.stringify(SCHEMA)}
Write no words before or after it, and no code fences.`

for (const engine of ANY_ENGINE) {
  describe(`structured answers of agents with tools, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let tools: LocalServer
    let stop: () => Promise<void>
    before(async () => {
      tools = await startLocalServer((_request, response) => void response.end('stock: 7'))
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      const tool = { type: 'http', name: 'stock', url: `${tools.url}/stock` }
      await createAgent(service, 'keeper', { model: 'local/tiny', tools: [tool], output: { schema: SCHEMA } })
    })
    after(async () => {
      await stop()
      await tools.close()
    })
    const invoke = (body: object = {}) =>
      service.call('POST', '/v1/agents/keeper/invoke', { body: { message: 'how many?', ...body } })
    const wishesOf = () =>
      model.requests.map(({ body: { tools: named, response_format: format } }) => [named?.length ?? 0, format])
    const FORMAT = { type: 'json_schema', json_schema: { name: 'response', schema: SCHEMA, strict: true } }

    test('tools are called first, without the schema; an answer in words is followed by one ask with the schema and no tools', async () => {
      model.reset()
      model.reply({ text: ['Let me look.'], ...CALL }, { text: ['There are seven.'] }, { text: ['{"stock":7}'] })
      const { body } = await invoke()
      assert.deepEqual([body.data.output, body.data.response], [{ stock: 7 }, '{"stock":7}'])
      assert.deepEqual(wishesOf(), [
        [1, undefined],
        [1, undefined],
        [0, FORMAT],
      ])
      const shown = model.requests[2]?.body.messages ?? []
      assert.deepEqual(
        shown.map(({ role, content }) => [role, content]),
        [
          ['system', INSTRUCTION],
          ['user', 'how many?'],
          ['assistant', 'Let me look.'],
          ['tool', 'stock: 7'],
          ['assistant', 'There are seven.'],
          ['user', INSTRUCTION],
        ],
      )
      const receipt = await service.call('GET', `/v1/agents/keeper/invocations/${body.data.request_id}`)
      assert.deepEqual(
        receipt.body.data.steps.map(({ kind, unfit }: { kind: string; unfit?: { asked: boolean } }) => [
          kind,
          unfit?.asked,
        ]),
        [
          ['model', undefined],
          ['tool', undefined],
          ['model', false],
          ['model', undefined],
        ],
      )
    })

    test('an answer after tool calls that already fits is accepted', async () => {
      model.reset()
      model.reply(CALL, { text: ['{"stock":7}'] })
      const { body } = await invoke()
      assert.deepEqual([body.data.output, model.requests.length], [{ stock: 7 }, 2])
    })

    test('the answer in words is no retry: those count from the first ask for JSON', async () => {
      model.reset()
      const words = { text: ['seven'] }
      model.reply(words, words, words, { text: ['{"stock":7}'] })
      const { status, body } = await invoke({ output: { schema: SCHEMA, retries: 1 } })
      assert.deepEqual([status, body.error.code, model.requests.length], [500, 'output_invalid', 3])
    })

    test('a call in answer to the ask for JSON is not made', async () => {
      model.reset()
      model.reply({ text: ['seven'] }, { text: ['hm'], ...CALL }, { text: ['{"stock":7}'] })
      const { body } = await invoke()
      assert.deepEqual([body.data.output, model.requests.length], [{ stock: 7 }, 3])
      assert.equal(JSON.stringify(model.requests[2]?.body.messages).includes('tool_calls'), false)
    })

    test("requests for JSON are counted in the run's limits, and are in the ledger", async () => {
      model.reset()
      const limits = { max_tokens_per_run: 20 }
      await createAgent(service, 'short', { model: 'local/tiny', limits, output: { schema: SCHEMA } })
      model.reply({ text: ['no'] }, { text: ['no'] }, { text: ['no'] })
      const { status, body } = await service.call('POST', '/v1/agents/short/invoke', { body: { message: 'how many?' } })
      assert.deepEqual([status, model.requests.length], [500, 2])
      assert.match(body.error.message, /\b30 tokens.*\b20\b.*limits\.max_tokens_per_run/)
      const { id } = (await service.call('GET', '/v1/agents/short')).body.data
      const usage = await service.call('GET', `/v1/usage?group_by=agent&agent_id=${id}`)
      assert.equal(usage.body.data.totals.calls, 2, usage.text)
    })
  })
}
