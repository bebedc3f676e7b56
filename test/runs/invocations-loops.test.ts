import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const asking = (...orders: number[]) => ({
  calls: orders.map((order) => ({ name: 'look', arguments: { order } })),
  usage: { prompt_tokens: 90, completion_tokens: 10 },
})

/** Dollars for a million tokens. */
const PRICES = JSON.stringify([{ model: 'local/priced', input: 10, output: 100 }])

for (const engine of STORY_ENGINES) {
  describe(`a run that repeats itself, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tool: LocalServer
    let calls = 0
    before(async () => {
      tool = await startLocalServer((_request, response) => {
        calls += 1
        response.end('nothing new')
      })
      ;({ service, model, stop } = await startWithModel(engine, { ...LOCAL_TOOLS, MOORAGE_PRICES: PRICES }))
    })
    after(async () => {
      await stop()
      await tool.close()
    })

    async function run(limits: object, replies: object[], name = 'local/m') {
      calls = 0
      model.reset()
      model.reply(...replies)
      const input_schema = { type: 'object', properties: { order: { type: 'number' } } }
      const agent = await newAgent(service, {
        model: name,
        tools: [{ type: 'http', name: 'look', url: tool.url, input_schema }],
        limits: { max_steps: 20, ...limits },
      })
      const { status, body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
      const receipts = await service.call('GET', `/v1/agents/${agent}/invocations`)
      return { status, error: body.error, receipt: receipts.body.data[0], asked: model.requests.length, calls }
    }

    test('the third identical call in a row is not made and the model gets the reason; the fifth ends the run', async () => {
      const told = await run({}, [
        { text: ['Let me see'], ...asking(7) },
        ...Array.from({ length: 6 }, () => asking(7)),
      ])
      const message = 'The agent called look 5 times in a row with the same arguments.'
      assert.deepEqual([told.status, told.error], [500, { code: 'server_error', message }])
      assert.deepEqual([told.asked, told.calls], [5, 2])
      assert.deepEqual([told.receipt.status, told.receipt.response], ['failed', 'Let me see'])
      const results = model.requests.at(-1)?.body.messages.filter(({ role }) => role === 'tool')
      assert.equal(results?.length, 4)
      assert.match(results?.at(2)?.content ?? '', /This call was not made: you have made it twice already/)
    })

    test('a call with other arguments in between resets the count', async () => {
      const told = await run({}, [asking(7), asking(7), asking(8), asking(7, 7), { text: ['done'] }])
      assert.deepEqual([told.status, told.calls, told.receipt.response], [200, 5, 'done'])
    })

    test('limits.max_tool_calls and limits.max_tokens_per_run end the run and keep its text so far', async () => {
      const most = await run({ max_tool_calls: 2 }, [asking(1), asking(2), asking(3)])
      assert.deepEqual([most.status, most.calls], [500, 2])
      assert.match(most.error.message, /\b2 tool calls \(limits\.max_tool_calls\)/)
      const spent = await run({ max_tokens_per_run: 150 }, [asking(1), { ...asking(2), text: ['So far'] }, asking(3)])
      assert.deepEqual([spent.status, spent.asked, spent.calls], [500, 2, 1])
      assert.match(spent.error.message, /\b200 tokens.*\b150 \(limits\.max_tokens_per_run\)/)
      assert.deepEqual([spent.receipt.response, spent.receipt.tokens_used], ['So far', 200])
    })

    test('limits.max_cost_per_run ends the run after the model call that exceeded it', async () => {
      const replies = [asking(1), asking(2), { ...asking(3), text: ['So far'] }, asking(4)]
      const told = await run({ max_cost_per_run: 0.005 }, replies, 'local/priced')
      assert.deepEqual([told.status, told.asked, told.calls], [500, 3, 2])
      assert.match(told.error.message, /\$0\.0057.* limit of \$0\.005 /)
      assert.deepEqual([told.receipt.response, told.receipt.cost_usd], ['So far', 0.0057])
    })

    test('limits.max_cost_per_run ends a run whose model has no price', async () => {
      const told = await run({ max_cost_per_run: 0.01 }, [asking(1), asking(2)])
      assert.deepEqual([told.status, told.asked, told.calls], [500, 1, 0])
      assert.match(told.error.message, /an unknown amount .*limit of \$0\.01/)
    })
  })
}
