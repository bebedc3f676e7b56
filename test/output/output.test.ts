import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { allEvents } from '../support/clients/sse.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'

const RECEIPT = {
  type: 'object',
  properties: { shop: { type: 'string' }, total: { type: 'number', minimum: 0 } },
  required: ['shop', 'total'],
  additionalProperties: false,
}
const OUTPUT = { schema: RECEIPT }
const FITS = '{"shop":"Chandler","total":12.5}'
const VALUE = { shop: 'Chandler', total: 12.5 }
const PROBLEM = { field: '/total', error: 'must be a number' }

for (const engine of ANY_ENGINE) {
  describe(`structured output on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
      await createAgent(service, 'clerk', { model: 'local/tiny', output: OUTPUT })
      await createAgent(service, 'talker', { model: 'local/tiny' })
    })
    after(() => stop())

    const invoke = (agent: string, body: object = {}, headers: Record<string, string> = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'read it', ...body }, headers })
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const latest = async (agent: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations?limit=1`)).body.data[0]
    const stepsOf = ({ steps }: { steps: { kind: string; unfit?: unknown }[] }) =>
      steps.map(({ kind, unfit }) => (unfit === undefined ? kind : { kind, unfit }))

    test("the agent's schema applies to every answer: the output is next to the text, in the reply and the receipt", async () => {
      model.reply({ text: ['```json\n', FITS, '\n```\n'] })
      const { status, body } = await invoke('clerk', { context: { session_id: 's1' } })
      assert.equal(status, 200)
      const { request_id, tokens_used, duration_ms, ...said } = body.data
      assert.deepEqual(said, { response: FITS, output: VALUE })
      assert.deepEqual([tokens_used, typeof duration_ms], [15, 'number'])
      const receipt = await receiptOf('clerk', request_id)
      assert.deepEqual([receipt.response, receipt.output, receipt.status], [FITS, VALUE, 'completed'])
      const memories = await service.call('GET', '/v1/agents/clerk/memory?session_id=s1')
      const remembered = memories.body.data.map(({ content }: { content: string }) => content).toSorted()
      assert.deepEqual(remembered, ['read it', FITS])
    })

    test('an invocation without a schema returns no output, and sends the provider no schema', async () => {
      model.reset()
      const { body } = await invoke('talker')
      assert.deepEqual(Object.keys(body.data), ['response', 'request_id', 'tokens_used', 'duration_ms'])
      assert.equal('output' in (await receiptOf('talker', body.data.request_id)), false)
      assert.deepEqual(Object.keys(model.requests[0]?.body ?? {}), ['model', 'messages', 'stream', 'stream_options'])
    })

    test("an invocation's own output settings replace the agent's", async () => {
      model.reply({ text: ['[1, 2]'] }, { text: ['null'] })
      const list = await invoke('clerk', { output: { schema: { type: 'array', items: { type: 'integer' } } } })
      assert.deepEqual([list.body.data.output, list.body.data.response], [[1, 2], '[1, 2]'])
      const nothing = await invoke('talker', { output: { schema: { type: 'null' } } })
      assert.deepEqual(['output' in nothing.body.data, nothing.body.data.output], [true, null])
      assert.equal((await receiptOf('talker', nothing.body.data.request_id)).output, null)
    })

    test('after an answer that does not match, the model gets the problems; each answer is a step', async () => {
      model.reset()
      model.reply({ text: ['Twelve and a half'] }, { text: ['{"shop":"Chandler","total":"12"}'] }, { text: [FITS] })
      const { status, body } = await invoke('clerk')
      assert.equal(status, 200)
      assert.deepEqual([body.data.output, body.data.response, body.data.tokens_used], [VALUE, FITS, 45])
      assert.deepEqual(stepsOf(await receiptOf('clerk', body.data.request_id)), [
        {
          kind: 'model',
          unfit: {
            answer: 'Twelve and a half',
            problems: [
              { field: '', error: `is not valid JSON: Unexpected token 'T', "Twelve and a half" is not valid JSON` },
            ],
            asked: true,
          },
        },
        {
          kind: 'model',
          unfit: { answer: '{"shop":"Chandler","total":"12"}', problems: [PROBLEM], asked: true },
        },
        'model',
      ])
      const shown = model.requests[2]?.body.messages ?? []
      assert.deepEqual(
        shown.map(({ role }) => role),
        ['system', 'user', 'assistant', 'user', 'assistant', 'user'],
      )
      assert.equal(shown[4]?.content, '{"shop":"Chandler","total":"12"}')
      assert.match(shown[5]?.content ?? '', /^This answer does not fit:\n- answer\.total: must be a number\n/)
      assert.equal(
        shown.some((message) => 'tool_calls' in message),
        false,
      )
    })

    test('a run fails if its answer still does not match after the retries, and names the field', async () => {
      model.reset()
      const wrong = { text: ['{"shop":"Chandler","total":"12"}'] }
      model.reply(wrong, wrong)
      const { status, body } = await invoke('clerk', { output: { ...OUTPUT, retries: 1 } })
      const error = {
        code: 'output_invalid',
        message:
          'The agent gave no answer that matches its output schema after 2 attempts: answer.total: must be a number',
        details: [PROBLEM],
      }
      assert.deepEqual([status, body.error], [500, error])
      assert.equal(model.requests.length, 2)
      const failed = await latest('clerk')
      assert.deepEqual(
        [failed.status, failed.error, failed.response, 'output' in failed],
        ['failed', error, null, false],
      )

      model.reply(wrong)
      const none = await invoke('clerk', { output: { ...OUTPUT, retries: 0 } })
      assert.deepEqual([none.status, none.body.error.code, model.requests.length], [500, 'output_invalid', 3])
      assert.match(none.body.error.message, /answer\.total\b/)
    })

    test("a number that can't be stored exactly does not match", async () => {
      model.reset()
      const exact = { output: { schema: { type: 'object' }, retries: 0 } }
      for (const number of ['12345678901234567890', '-9007199254740993', '1e400', '1e-400']) {
        model.reply({ text: [`{"order": ${number}}`] })
        const { status, body } = await invoke('talker', exact)
        const error = `contains the number ${number}, which can't be stored exactly`
        assert.deepEqual([status, body.error.code, body.error.details], [500, 'output_invalid', [{ field: '', error }]])
      }
      const kept = '{"order":"12345678901234567890","a":9007199254740992,"b":1.23456789012345678,"c":1e300}'
      model.reply({ text: [kept] })
      assert.deepEqual((await invoke('talker', exact)).body.data.output, JSON.parse(kept))
    })

    test('a model that declines is not asked again', async () => {
      model.reset()
      model.reply({ text: ['I would rather not'], finish_reason: 'content_filter' })
      const { status, body } = await invoke('clerk')
      assert.deepEqual([status, body.error.code, model.requests.length], [500, 'output_invalid', 1])
      assert.deepEqual(fieldsOf(body), [''])
    })

    test("a repeated request returns the output, and a background run's receipt contains it", async () => {
      model.reset()
      model.reply({ text: [FITS] }, { text: [FITS] })
      const headers = { 'Idempotency-Key': `receipt-${engine}` }
      const first = await invoke('clerk', {}, headers)
      const again = await invoke('clerk', {}, headers)
      assert.deepEqual([again.status, again.body.data], [200, first.body.data])
      assert.deepEqual([again.body.data.output, model.requests.length], [VALUE, 1])

      const queued = await invoke('clerk', {}, { Prefer: 'respond-async' })
      const { request_id } = queued.body.data
      await until('the end', async () => (await receiptOf('clerk', request_id)).status === 'completed')
      assert.deepEqual((await receiptOf('clerk', request_id)).output, VALUE)
    })

    test('erasing a receipt erases the output and the answers that did not match', async () => {
      model.reset()
      model.reply({ text: ['{"shop":7}'] }, { text: [FITS] })
      const { request_id } = (await invoke('clerk')).body.data
      const { status } = await service.call('DELETE', `/v1/agents/clerk/invocations/${request_id}`)
      assert.equal(status, 200)
      const erased = await receiptOf('clerk', request_id)
      assert.deepEqual([erased.response, 'output' in erased], ['', false])
      assert.deepEqual(stepsOf(erased), [{ kind: 'model', unfit: { answer: '', problems: [], asked: true } }, 'model'])
    })

    test('a stream contains each answer as it is written, then the one that matches, and finally the output', async () => {
      model.reset()
      model.reply({ text: ['{"shop":', '7}'] }, { text: ['{"shop":"Chandler",', '"total":12.5}'] })
      const response = await fetch(`${service.url}/v1/agents/clerk/invoke`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${service.admin}`,
          Accept: 'text/event-stream',
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ message: 'read it' }),
      })
      const events = await allEvents(response)
      const drafts = new Map<number, string>()
      for (const { event, data } of events) {
        if (event !== 'output.delta') continue
        const { answer, at, text } = data as { answer: number; at: number; text: string }
        drafts.set(answer, (drafts.get(answer) ?? '').slice(0, at) + text)
      }
      assert.deepEqual(
        [...drafts],
        [
          [1, '{"shop":7}'],
          [2, FITS],
        ],
      )
      const others = events.filter(({ event }) => event !== 'output.delta')
      assert.deepEqual(
        others.map(({ event }) => event),
        ['start', 'delta', 'done'],
      )
      assert.deepEqual(others[1]?.data, { text: FITS })
      const { data } = (others[2] as (typeof others)[number]).data as {
        data: { output: unknown; response: string; request_id: string }
      }
      assert.deepEqual([data.output, data.response], [VALUE, FITS])
      const told = await service
        .call('GET', `/v1/agents/clerk/invocations/${data.request_id}/stream`)
        .catch(() => undefined)
      assert.ok(told)
      assert.match(told.text, /event: delta\ndata: \{"text":"\{\\"shop\\":\\"Chandler\\",\\"total\\":12\.5\}"\}/)
      assert.match(told.text, /"output":\{"shop":"Chandler","total":12\.5\}/)
    })

    test('the schema is part of the definition: it is versioned, compared, and can be removed', async () => {
      await createAgent(service, 'changing', { output: OUTPUT })
      const agent = (await service.call('GET', '/v1/agents/changing')).body.data
      assert.deepEqual(agent.output, { schema: RECEIPT, retries: 2 })
      const deploy = (version: string) =>
        service.call('POST', '/v1/agents/changing/deployments', { body: { environment: 'production', version } })
      const deployed = await deploy('v1')
      assert.equal(deployed.status, 201)
      const patched = await service.call('PATCH', '/v1/agents/changing', { body: { output: null } })
      assert.deepEqual([patched.status, patched.body.data.output], [200, null])
      assert.notEqual(patched.body.data.digest, agent.digest)
      const { id } = deployed.body.data
      const compared = await service.call('GET', `/v1/agents/changing/deployments/${id}/diff?from=working_copy`)
      assert.deepEqual(compared.body.data.diff, [{ field: 'output', from: null, to: agent.output }])
    })

    const BAD: [string, unknown, field: string][] = [
      [
        'a type that does not exist',
        { type: 'object', properties: { total: { type: 'money' } } },
        'output.schema.properties.total.type',
      ],
      [
        'a reference to nowhere',
        { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } },
        'output.schema.properties.a.$ref',
      ],
      ['a pattern that is none', { type: 'string', pattern: '(' }, 'output.schema.pattern'],
      ['required that is no list', { type: 'object', required: 'shop' }, 'output.schema.required'],
      ['more than a schema may hold', { enum: Array.from({ length: 6_000 }, (_, i) => i) }, 'output.schema'],
    ]
    for (const [what, schema, field] of BAD) {
      test(`400 for ${what}, everywhere a schema can be given`, async () => {
        const output = { schema }
        const replies = [
          await service.call('POST', '/v1/agents', { body: { name: 'wrong', output } }),
          await service.call('PATCH', '/v1/agents/talker', { body: { output } }),
          await invoke('talker', { output }),
          await invoke('talker', { output }, { Prefer: 'respond-async' }),
        ]
        for (const { status, body } of replies) assert.deepEqual([status, ...fieldsOf(body)], [400, field])
      })
    }

    test('builtin/script can return an output; builtin/echo fails and says why', async () => {
      const script = { rules: [{ output: { shop: '{{message}}', total: 1 } }] }
      await createAgent(service, 'scripted', { model: 'builtin/script', script, output: OUTPUT })
      const { body } = await service.call('POST', '/v1/agents/scripted/invoke', { body: { message: 'Baker "B"' } })
      assert.deepEqual(body.data.output, { shop: 'Baker "B"', total: 1 })
      const echo = await invoke('hello', { output: OUTPUT })
      const error =
        "builtin/echo repeats the message and can't answer with JSON. Choose another model, or builtin/script."
      assert.deepEqual(
        [echo.status, echo.body.error],
        [500, { code: 'output_invalid', message: error, details: [{ field: '', error }] }],
      )
    })
  })
}
