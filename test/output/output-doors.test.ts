import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Part, Task } from '@a2a-js/sdk'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { connectMcp, REVISIONS } from '../support/clients/mcp-client.ts'
import { openaiClient } from '../support/clients/openai.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'

const Receipt = z.object({ shop: z.string(), total: z.int() })
const SCHEMA = z.toJSONSchema(Receipt)
const FITS = { text: ['{"shop":', '"Chandler","total":12}'] }
const VALUE = { shop: 'Chandler', total: 12 }
const WRONG = { text: ['{"shop":"Chandler"}'] }
const SAID = '{"shop":"Chandler","total":12}'

for (const engine of ANY_ENGINE) {
  describe(`structured output on every channel, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
      await createAgent(service, 'clerk', { model: 'local/tiny', output: { schema: SCHEMA } })
      await createAgent(service, 'talker', { model: 'local/tiny' })
    })
    after(() => stop())

    describe('OpenAI', () => {
      const messages = [{ role: 'user' as const, content: 'read it' }]

      test('chat.completions.parse with a zod shape, after an answer that did not fit', async () => {
        model.reset()
        model.reply(WRONG, FITS)
        const completion = await openaiClient(service).chat.completions.parse({
          model: 'talker',
          messages,
          response_format: zodResponseFormat(Receipt, 'receipt'),
        })
        assert.deepEqual(completion.choices[0]?.message.parsed, VALUE)
        assert.equal(completion.choices[0]?.message.content, SAID)
        const sent = model.requests[0]?.body['response_format']
        const { name, strict } = (sent as { json_schema: { name: string; strict: boolean } }).json_schema
        assert.deepEqual([name, strict, model.requests.length], ['receipt', true, 2])
      })

      test('chat.completions.stream: only the answer that matches is sent', async () => {
        model.reset()
        model.reply(WRONG, FITS)
        const stream = openaiClient(service).chat.completions.stream({
          model: 'talker',
          messages,
          response_format: zodResponseFormat(Receipt, 'receipt'),
        })
        const done = await stream.finalChatCompletion()
        assert.deepEqual(done.choices[0]?.message.parsed, VALUE)
        assert.equal(done.choices[0]?.message.content, SAID)
      })

      test('responses.parse and responses.stream, and the response as it is read later', async () => {
        model.reset()
        model.reply(FITS, WRONG, FITS)
        const openai = openaiClient(service)
        const asked = { model: 'talker', input: 'read it', text: { format: zodTextFormat(Receipt, 'receipt') } }
        const parsed = await openai.responses.parse(asked)
        assert.deepEqual(parsed.output_parsed, VALUE)
        const streamed = await openai.responses.stream(asked).finalResponse()
        assert.deepEqual([streamed.output_parsed, streamed.output_text], [VALUE, SAID])
        assert.equal((await openai.responses.retrieve(streamed.id)).output_text, SAID)
      })

      test('json_object is any object', async () => {
        model.reset()
        model.reply({ text: ['[1]'] }, { text: ['{"a":1}'] })
        const completion = await openaiClient(service).chat.completions.create({
          model: 'talker',
          messages,
          response_format: { type: 'json_object' },
        })
        assert.deepEqual([completion.choices[0]?.message.content, model.requests.length], ['{"a":1}', 2])
        assert.deepEqual(model.requests[0]?.body['response_format'], { type: 'json_object' })
      })

      test("the agent's schema applies if the caller sends none", async () => {
        model.reset()
        model.reply(FITS)
        const completion = await openaiClient(service).chat.completions.create({ model: 'clerk', messages })
        assert.equal(completion.choices[0]?.message.content, SAID)
      })

      test("an answer that does not match and an invalid schema are errors in OpenAI's words", async () => {
        model.reset()
        model.reply(WRONG, WRONG, WRONG)
        const body = { model: 'clerk', messages }
        const unfit = await service.call('POST', '/v1/chat/completions', { body })
        assert.deepEqual(
          [unfit.status, unfit.body.error],
          [
            500,
            {
              message:
                'The agent gave no answer that matches its output schema after 3 attempts: answer: must have the property "total"',
              type: 'server_error',
              param: null,
              code: 'output_invalid',
            },
          ],
        )
        const json_schema = { name: 'x', schema: { type: 'object', required: 'all' } }
        const wrong = await service.call('POST', '/v1/chat/completions', {
          body: { ...body, response_format: { type: 'json_schema', json_schema } },
        })
        assert.deepEqual(
          [wrong.status, wrong.body.error.param, wrong.body.error.type],
          [400, 'schema.required', 'invalid_request_error'],
        )
      })
    })

    describe('MCP', () => {
      for (const revision of REVISIONS) {
        for (const path of ['/v1/mcp', '/v1/agents/clerk/mcp']) {
          test(`${revision} on ${path}: the tool has an outputSchema, and the result structuredContent`, async (t) => {
            model.reset()
            model.reply(FITS)
            const client = await connectMcp(t, service, revision, { path })
            const { tools } = await client.listTools()
            const clerk = tools.find(({ name }) => name === 'clerk')
            assert.deepEqual(clerk?.outputSchema?.required, ['shop', 'total'])
            assert.equal(tools.find(({ name }) => name === 'talker')?.outputSchema, undefined)
            const result = await client.callTool({ name: 'clerk', arguments: { message: 'read it' } })
            assert.deepEqual(result.structuredContent, VALUE)
            assert.deepEqual(result.content, [{ type: 'text', text: SAID }])
          })
        }
      }

      test('the schema is that of the version which production serves', async (t) => {
        await createAgent(service, 'deployed', { model: 'local/tiny', output: { schema: SCHEMA } })
        const client = await connectMcp(t, service, REVISIONS[0])
        const outputSchema = async () =>
          (await client.listTools()).tools.find(({ name }) => name === 'deployed')?.outputSchema?.required
        assert.deepEqual(await outputSchema(), ['shop', 'total'])
        const deploy = (version: string) =>
          service.call('POST', '/v1/agents/deployed/deployments', { body: { environment: 'production', version } })
        await deploy('v1')
        await service.call('PATCH', '/v1/agents/deployed', { body: { output: null } })
        assert.deepEqual(await outputSchema(), ['shop', 'total'])
        await deploy('v2')
        assert.equal(await outputSchema(), undefined)
        await service.call('PATCH', '/v1/agents/deployed', { body: { output: { schema: SCHEMA } } })
        assert.equal(await outputSchema(), undefined)
      })

      test('a run without an answer that fits is an error of the tool', async (t) => {
        model.reset()
        model.reply(WRONG, WRONG, WRONG)
        const client = await connectMcp(t, service, REVISIONS[0])
        const result = await client.callTool({ name: 'clerk', arguments: { message: 'read it' } })
        assert.deepEqual([result.isError, result.structuredContent], [true, undefined])
      })
    })

    describe('A2A', () => {
      const partsOf = (parts: readonly Part[] = []) => parts.map(({ content }) => [content?.$case, content?.value])
      const BOTH = [
        ['text', SAID],
        ['data', VALUE],
      ]

      test('a task has the value as a data part beside the text', async () => {
        model.reset()
        model.reply(FITS)
        const client = await connectA2a(service, 'clerk')
        const task = (await client.sendMessage(saying('read it'))) as Task
        assert.deepEqual(partsOf(task.artifacts[0]?.parts), BOTH)
        const later = await client.getTask({ tenant: '', id: task.id, historyLength: 0 })
        assert.deepEqual(partsOf(later.artifacts[0]?.parts), BOTH)
      })

      test('a stream ends with it', async () => {
        model.reset()
        model.reply(WRONG, FITS)
        const client = await connectA2a(service, 'clerk')
        const parts: Part[] = []
        for await (const { payload } of client.sendMessageStream(saying('read it'))) {
          if (payload?.$case === 'artifactUpdate') parts.push(...(payload.value.artifact?.parts ?? []))
        }
        assert.deepEqual(partsOf(parts), BOTH)
      })
    })
  })
}
