import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { agUiClient, type ClientRun, typesOf } from '../support/clients/ag-ui-client.ts'
import { loseRun } from '../support/inside.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { refundingAgent, startTill, type Till } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const PAINT = {
  name: 'paint',
  description: 'Paints the page',
  parameters: { type: 'object', properties: { color: { type: 'string' } } },
}
const QUESTION = { call: { tool: 'ask_person', arguments: { question: 'Which berth?', options: ['six', 'seven'] } } }

type Interrupt = { id: string; reason: string; message: string; toolCallId?: string; metadata: Record<string, unknown> }
type Outcome = { type: string; interrupts?: Interrupt[]; pendingToolCallIds?: string[] }

const lastOutcome = (events: readonly Record<string, unknown>[]) => (events.at(-1) ?? {})['outcome'] as Outcome
const outcomeOf = ({ events }: ClientRun) => lastOutcome(events)
const interruptsOf = (run: ClientRun) => {
  const { type, interrupts = [] } = outcomeOf(run)
  assert.equal(type, 'interrupt')
  return interrupts
}
const answer = (run: ClientRun, payload: unknown, status: 'resolved' | 'cancelled' = 'resolved') => ({
  resume: interruptsOf(run).map(({ id }) => ({ interruptId: id, status, ...(payload !== undefined && { payload }) })),
})

for (const engine of ANY_ENGINE) {
  describe(`AG-UI on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let till: Till
    let stop: () => Promise<void>

    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      till = await startTill()
      await createAgent(service, 'tiny', { model: 'local/tiny', instructions: 'Be brief.' })
      await createAgent(service, 'refunds', { ...refundingAgent(till), approvals: { self: true } })
      await createAgent(service, 'strict', refundingAgent(till))
      const script = { rules: [{ ...QUESTION, reply: 'Berth {{result}}' }] }
      const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }], script }
      await createAgent(service, 'asking', { ...asking, approvals: { self: true } })
    })
    after(async () => {
      await stop()
      await till.close()
    })

    const receipts = async (agent: string, session_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations?session_id=${session_id}&sort=created_at`)).body.data
    const post = (agent: string, body: object, headers: Record<string, string> = {}, key?: string) =>
      service.call('POST', `/v1/agents/${agent}/ag-ui`, { body, headers, ...(key && { key }) })
    const input = (content: unknown, more: object = {}) => ({
      threadId: 'quay',
      runId: 'run-1',
      messages: [{ id: '1', role: 'user', content }],
      ...more,
    })
    const eventsIn = (text: string) =>
      [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Record<string, unknown>)

    test('a thread is a session, whose messages are what the client sends, with its context and its state', async () => {
      model.reset()
      model.reply({ text: ['Ahoy', ' there'], usage: { prompt_tokens: 9, completion_tokens: 3 } }, { text: ['Fine'] })
      const client = agUiClient(service, 'tiny', { state: { basket: ['rope'] } })
      client.http.setMessages([{ id: 'rule', role: 'system', content: 'Answer sailors only.' }])
      const context = [{ description: 'Where the user is', value: 'on the pier' }]
      const first = await client.ask('Ahoy!', { context, forwardedProps: { user_id: 'anna' }, runId: 'run-7' })
      const [begun, ...written] = first.events
      const names = { threadId: client.threadId, runId: 'run-7' }
      assert.deepEqual(begun, { type: 'RUN_STARTED', ...names, protocolVersion: '1.0' })
      assert.deepEqual(typesOf({ events: written.filter(({ type }) => type !== 'TEXT_MESSAGE_CONTENT') }), [
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_END',
        'RUN_FINISHED',
      ])
      const [run] = await receipts('tiny', client.threadId)
      assert.deepEqual(first.events.at(-1), {
        type: 'RUN_FINISHED',
        ...names,
        result: { request_id: run.request_id },
        outcome: { type: 'success' },
        usage: [{ inputTokens: 9, outputTokens: 3, totalTokens: 12 }],
      })
      assert.deepEqual([run.door, run.context.user_id, run.message], ['ag-ui', 'anna', 'Ahoy!'])

      await client.ask('How are you?')
      assert.deepEqual(client.said().slice(1), [
        ['user', 'Ahoy!'],
        ['assistant', 'Ahoy there'],
        ['user', 'How are you?'],
        ['assistant', 'Fine'],
      ])
      const [earlier, then] = model.requests.map(({ body }) => body.messages)
      const rules = earlier?.[0]?.content ?? ''
      for (const part of [
        'Be brief.',
        'Answer sailors only.',
        'on the pier',
        '{"basket":["rope"]}',
        'not instructions',
      ]) {
        assert.ok(rules.includes(part), `${part} is not in ${rules}`)
      }
      assert.deepEqual(
        then?.slice(1).map(({ content }) => content),
        ['Ahoy!', 'Ahoy there', 'How are you?'],
      )
      assert.equal((await service.call('GET', '/v1/agents/tiny/invocations?limit=100')).body.data[0].door, 'ag-ui')
    })

    test('the last message alone continues the session', async () => {
      model.reset()
      const threadId = crypto.randomUUID()
      await agUiClient(service, 'tiny', { threadId }).ask('My name is Anna')
      await agUiClient(service, 'tiny', { threadId }).ask('Who am I?')
      const heard = model.requests.at(-1)?.body.messages.map(({ content }) => content)
      assert.deepEqual(heard?.slice(1), ['My name is Anna', 'My name is Anna', 'Who am I?'])
    })

    test("the agent's tools are shown with arguments and results, and stay in the conversation", async (t) => {
      const depth = await startLocalServer((_request, response) => void response.end('12 m'))
      t.after(() => depth.close())
      const sonar = {
        type: 'http',
        name: 'sonar',
        description: 'Depth',
        url: depth.url,
        input_schema: PAINT.parameters,
      }
      await createAgent(service, 'deep', { model: 'local/tiny', tools: [sonar] })
      model.reset()
      const calls = [{ name: 'sonar', arguments: { color: 'blue' } }]
      model.reply({ text: ['Looking.'], calls }, { text: ['It is 12 m.'] }, { text: ['Bye'] })
      const client = agUiClient(service, 'deep')
      const { events } = await client.ask('How deep?')
      const told = events.filter(({ type }) => /TOOL/.test(String(type)))
      assert.deepEqual(typesOf({ events: told }), [
        'TOOL_CALL_START',
        'TOOL_CALL_ARGS',
        'TOOL_CALL_END',
        'TOOL_CALL_RESULT',
      ])
      assert.deepEqual([told[1]?.['delta'], told[3]?.['content']], ['{"color":"blue"}', '12 m'])
      assert.deepEqual(client.said(), [
        ['user', 'How deep?'],
        ['assistant', ['sonar']],
        ['tool', '12 m'],
        ['assistant', 'It is 12 m.'],
      ])
      // A call that a stopped run left without a result doesn't end the thread.
      client.http.setMessages(client.http.messages.filter(({ role }) => role !== 'tool'))
      await client.ask('Bye')
      const heard = model.requests.at(-1)?.body.messages.map(({ role, content }) => [role, content])
      assert.deepEqual(heard, [
        ['user', 'How deep?'],
        ['assistant', 'Looking.'],
        ['tool', '(no result)'],
        ['assistant', 'It is 12 m.'],
        ['user', 'Bye'],
      ])
    })

    test("the page's tools end the run, and their results start the next one", async () => {
      model.reset()
      model.reply({ calls: [{ name: 'paint', arguments: { color: 'red' } }] }, { text: ['It is red now.'] })
      const client = agUiClient(service, 'tiny')
      const asked = await client.ask('Paint it red', { tools: [PAINT] })
      const { pendingToolCallIds = [] } = outcomeOf(asked)
      const call = asked.events.find(({ type }) => type === 'TOOL_CALL_START')
      assert.deepEqual([pendingToolCallIds, call?.['toolCallName']], [[call?.['toolCallId']], 'paint'])
      assert.deepEqual(
        model.requests[0]?.body.tools?.map((tool) => tool.function.name),
        ['paint'],
      )

      client.http.addMessage({ id: 'r', role: 'tool', toolCallId: pendingToolCallIds[0] ?? '', content: 'painted' })
      await client.run({ tools: [PAINT] })
      assert.deepEqual(client.said().slice(2), [
        ['tool', 'painted'],
        ['assistant', 'It is red now.'],
      ])
      assert.deepEqual(model.requests[1]?.body.messages.at(-1)?.content, 'painted')
      const statuses = (await receipts('tiny', client.threadId)).map(({ status }: { status: string }) => status)
      assert.deepEqual(statuses, ['completed', 'completed'])
    })

    test('files come with a message', async () => {
      model.reset()
      const source = { type: 'data', value: Buffer.from('moor here').toString('base64'), mimeType: 'text/plain' }
      const parts = [
        { type: 'text', text: 'Read it' },
        { type: 'document', source },
        { type: 'document', source: { type: 'file', value: 'elsewhere', provider: 'openai' } },
      ]
      assert.equal((await post('tiny', input(parts))).status, 200)
      assert.match(JSON.stringify(model.requests[0]?.body.messages), /moor here/)
      const old = [{ type: 'binary', mimeType: 'text/plain', data: source.value, filename: 'old.txt' }]
      assert.equal((await post('tiny', input(old))).status, 200)
      assert.match(JSON.stringify(model.requests[1]?.body.messages), /old\.txt/)
    })

    test('structured output becomes state', async () => {
      const schema = { type: 'object', properties: { berth: { type: 'integer' } }, required: ['berth'] }
      await createAgent(service, 'planner', { model: 'local/tiny', output: { schema } })
      model.reset()
      model.reply({ text: ['{"berth": 7}'] })
      const client = agUiClient(service, 'planner', { state: { berth: 1, boat: 'Nixe' } })
      const { result } = await client.ask('Where?')
      assert.deepEqual((result as { output: unknown }).output, { berth: 7 })
      assert.deepEqual(client.http.state, { berth: 7, boat: 'Nixe' })
    })

    test('a waiting run ends with an interrupt, and is resumed with the thread and the decision', async () => {
      const client = agUiClient(service, 'refunds')
      const asked = await client.ask('order-1')
      const [interrupt] = interruptsOf(asked)
      const call = asked.events.find(({ type }) => type === 'TOOL_CALL_START')
      assert.equal(interrupt?.reason, 'tool_call')
      assert.equal(interrupt?.toolCallId, call?.['toolCallId'])
      assert.deepEqual([interrupt?.metadata['tool'], interrupt?.metadata['kind']], ['refund', 'tool'])
      assert.equal(till.of('order-1').length, 0)

      const resumed = await client.run(answer(asked, { approved: true, arguments: { order: 'order-1', amount: 5 } }))
      assert.deepEqual(typesOf(resumed).slice(0, 2), ['RUN_STARTED', 'TOOL_CALL_RESULT'])
      assert.deepEqual(client.said(), [
        ['user', 'order-1'],
        ['assistant', ['refund']],
        ['tool', 'refunded 5'],
        ['assistant', 'Said: refunded 5'],
      ])
      assert.deepEqual(client.http.pendingInterrupts, [])
      assert.equal((await receipts('refunds', client.threadId)).length, 1)
      // The reply was lost, so another client of the thread asks again.
      const again = agUiClient(service, 'refunds', { threadId: client.threadId })
      const repeated = await again.run(answer(asked, { approved: false }))
      assert.equal(outcomeOf(repeated).type, 'success')
      assert.deepEqual(again.said().at(-1), ['assistant', 'Said: refunded 5'])
      assert.equal(till.of('order-1').length, 1)
    })

    test('a decision can be a rejection, an answer, or another message', async () => {
      const refusing = agUiClient(service, 'refunds')
      const asked = await refusing.ask('order-2')
      await refusing.run(answer(asked, { approved: false, note: 'too old' }))
      assert.match(String(refusing.said().at(-1)?.[1]), /too old/)
      assert.equal(till.of('order-2').length, 0)

      const answering = agUiClient(service, 'asking')
      const question = await answering.ask('ahoy')
      const [{ reason, message } = { reason: '', message: '' }] = interruptsOf(question)
      assert.deepEqual([reason, message], ['input_required', 'Which berth?'])
      await answering.run(answer(question, { answer: 'seven' }))
      assert.deepEqual(answering.said().at(-1), ['assistant', 'Berth seven'])

      const leaving = agUiClient(service, 'asking')
      const left = await leaving.ask('ahoy')
      leaving.say('never mind')
      const next = await leaving.run(answer(left, undefined, 'cancelled'))
      assert.equal(interruptsOf(next).length, 1)
      const runs = await receipts('asking', leaving.threadId)
      assert.deepEqual(
        runs.map((one: Record<string, string>) => [one['status'], one['message']]),
        [
          ['cancelled', 'ahoy'],
          ['waiting', 'never mind'],
        ],
      )
    })

    test('a run that asks several things waits until all are answered', async () => {
      const asking = { model: 'local/tiny', tools: [{ type: 'ask_person' }], approvals: { self: true } }
      await createAgent(service, 'curious', asking)
      model.reset()
      const ask = (question: string) => ({ name: 'ask_person', arguments: { question } })
      model.reply({ calls: [ask('Which berth?'), ask('Which day?')] }, { calls: [ask('Sure?')] }, { text: ['Done'] })
      const client = agUiClient(service, 'curious')
      const asked = await client.ask('A berth, please')
      const [berth, day] = interruptsOf(asked)
      const resumed = async (entries: (Interrupt | undefined)[], payload: string) => {
        const resume = entries.map((one) => ({ interruptId: one?.id, status: 'resolved', payload }))
        const { text } = await post('curious', { threadId: client.threadId, runId: 'r', messages: [], resume })
        return lastOutcome(eventsIn(text))
      }
      const half = await resumed([berth], 'seven')
      assert.deepEqual(
        half.interrupts?.map(({ message }) => message),
        ['Which day?'],
      )
      const next = await resumed([berth, day], 'Monday')
      assert.deepEqual(
        next.interrupts?.map(({ message }) => message),
        ['Sure?'],
      )
      assert.deepEqual(await resumed(next.interrupts ?? [], 'yes'), { type: 'success' })
      const told = model.requests
        .at(-1)
        ?.body.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
      assert.deepEqual(told, ['seven', 'Monday', 'yes'])
    })

    test('only those may decide who could with the API, on the thread that was interrupted', async () => {
      const client = agUiClient(service, 'strict')
      const asked = await client.ask('order-3')
      const { resume } = answer(asked, true)
      const sent = (more: object) => ({ threadId: client.threadId, runId: 'r', messages: [], resume, ...more })
      const refused = async (body: object, key?: string) => {
        const { status, body: said } = await post('strict', body, {}, key)
        return [status, said.error.code, said.error.details?.[0]?.field]
      }
      const { secret: caller } = await createKey(service, { permissions: ['invoke'] })
      assert.deepEqual(await refused(sent({})), [403, 'forbidden', undefined])
      assert.deepEqual((await refused(sent({}), caller)).slice(0, 2), [404, 'not_found'])
      const field = 'resume.0.interruptId'
      assert.deepEqual(await refused(sent({ threadId: 'another' })), [400, 'invalid_request', field])
      const another = { forwardedProps: { user_id: 'bob' } }
      assert.deepEqual(await refused(sent(another)), [400, 'invalid_request', field])
      const forged = [{ ...resume[0], interruptId: 'int_bm9uc2Vuc2U' }]
      assert.deepEqual(await refused(sent({ resume: forged })), [400, 'invalid_request', field])
      const vague = [{ interruptId: resume[0]?.interruptId, status: 'resolved' }]
      assert.deepEqual(await refused(sent({ resume: vague })), [400, 'invalid_request', 'resume.0.payload'])
      assert.equal(till.of('order-3').length, 0)
    })

    test('errors before the run are HTTP errors, and later ones are events', async () => {
      for (const [body, status, field] of [
        [input(''), 400, 'messages'],
        [{ ...input('x'), threadId: '' }, 400, 'threadId'],
        [{ ...input('x'), forwardedProps: { environment: 'Nowhere!' } }, 400, 'forwardedProps.environment'],
        [input([{ type: 'hologram' }]), 400, 'messages.0.content.0.type'],
        [{ ...input('x'), tools: [PAINT, PAINT] }, 400, 'tools'],
        [{ ...input('x'), messages: [] }, 400, 'messages'],
      ] as const) {
        const reply = await post('tiny', body)
        assert.deepEqual([reply.status, reply.body.error.details[0].field], [status, field], reply.text)
      }
      assert.equal((await post('nobody', input('x'))).status, 404)
      const { failure } = await agUiClient(service, 'tiny', { key: 'mrg_wrong' }).ask('x')
      assert.equal((failure as Error & { status?: number }).status, 401)

      model.reset()
      model.reply({ text: ['Half an'], breaks: 'reset' })
      const broken = await agUiClient(service, 'tiny').ask('x')
      assert.deepEqual(broken.events.at(-1)?.['type'], 'RUN_ERROR')
      assert.equal(broken.events.at(-1)?.['code'], 'server_error')
    })

    test('a client before 1.0 gets no field and no outcome that it would refuse', async () => {
      model.reset()
      model.reply({ calls: [{ name: 'paint', arguments: {} }] })
      const { text } = await post('tiny', input('x', { tools: [PAINT], state: null, forwardedProps: null }))
      const events = eventsIn(text)
      assert.equal('protocolVersion' in (events[0] ?? {}), false)
      assert.deepEqual(lastOutcome(events), { type: 'success' })
      assert.equal(events.filter(({ type }) => type === 'TOOL_CALL_END').length, 1)
    })

    test('a run that its node loses is never told as cancelled, and a stream follows one that continues', async () => {
      for (const keyed of [true, false]) {
        model.reset()
        const held = Promise.withResolvers<void>()
        model.holdNext(held.promise)
        model.reply({ text: ['First'] }, { text: ['Second'] })
        const threadId = `lost-${keyed}`
        const body = input('wait', { threadId, protocolVersion: '1.0' })
        const posted = post('tiny', body, keyed ? { 'Idempotency-Key': threadId } : {})
        await model.nextRequest()
        const [{ request_id }] = await until('the run', async () => {
          const found = await receipts('tiny', threadId)
          return found.length > 0 && found
        })
        await loseRun(service, request_id)
        await until('another attempt or the end', async () => {
          const [{ status, attempts }] = await receipts('tiny', threadId)
          return status !== 'running' || attempts.length > 1
        })
        held.resolve()
        const events = eventsIn((await posted).text)
        const { type, code, outcome } = events.at(-1) as { type: string; code?: string; outcome?: Outcome }
        const [{ status }] = await receipts('tiny', threadId)
        if (keyed) assert.deepEqual([status, type, outcome], ['completed', 'RUN_FINISHED', { type: 'success' }])
        else assert.deepEqual([status, type, code], ['failed', 'RUN_ERROR', 'server_error'])
        assert.equal(events.filter((event) => ['RUN_ERROR', 'RUN_FINISHED'].includes(String(event['type']))).length, 1)
      }
    })

    test('a run ends with its client, and can be repeated with an Idempotency-Key', async () => {
      model.reset()
      const never = new Promise<void>(() => {})
      model.holdNext(never)
      const client = agUiClient(service, 'tiny')
      const running = client.ask('wait')
      await model.nextRequest()
      client.http.abortRun()
      await running
      await until('the cancelled run', async () => (await receipts('tiny', client.threadId))[0]?.status === 'cancelled')

      const headers = { 'Idempotency-Key': 'once' }
      const body = input('again', { threadId: 'keyed', tools: [PAINT] })
      model.reply({ text: ['Painting.'], calls: [{ name: 'paint', arguments: { color: 'red' } }] })
      const [first, second] = [await post('tiny', body, headers), await post('tiny', body, headers)]
      const brief = ({ text }: { text: string }) =>
        eventsIn(text).filter(({ type }) => !['TEXT_MESSAGE_CONTENT', 'TOOL_CALL_ARGS'].includes(String(type)))
      assert.deepEqual(brief(second), brief(first))
      assert.equal(second.headers.get('Idempotency-Replayed') ?? 'true', 'true')
      assert.equal((await receipts('tiny', 'keyed')).length, 1)

      const waiting = input('order-9', { threadId: 'keyed-2' })
      const asked = [await post('refunds', waiting, { 'Idempotency-Key': 'two' })]
      asked.push(await post('refunds', waiting, { 'Idempotency-Key': 'two' }))
      const outcomes = asked.map(({ text }) => lastOutcome(eventsIn(text)).type)
      assert.deepEqual(outcomes, ['interrupt', 'interrupt'])
      const { interrupts = [] } = lastOutcome(eventsIn(asked[1]?.text ?? ''))
      const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: true }))
      const decided = { ...waiting, runId: 'run-2', resume }
      for (let i = 0; i < 2; i++) {
        const { text } = await post('refunds', decided, { 'Idempotency-Key': 'three' })
        assert.deepEqual(lastOutcome(eventsIn(text)), { type: 'success' })
      }
      assert.equal(till.of('order-9').length, 1)
    })
  })
}
