import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { uploaded } from '../support/slices/files.ts'
import { newRemoteAgent, type RemoteServer, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'

const ASYNC = { Prefer: 'respond-async' }

for (const engine of ANY_ENGINE) {
  describe(`remote agents on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let tool: LocalServer
    let remote: RemoteServer
    let toolCalls: string[] = []
    before(async () => {
      tool = await startLocalServer((request, response) => {
        toolCalls.push(String(request.headers['idempotency-key']))
        response.end('calm')
      })
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      await setRemoteSecret(service)
      remote = await startRemote(() => service.now())
    })
    after(async () => {
      await stop()
      await remote.close()
      await tool.close()
    })
    beforeEach(() => {
      model.reset()
      toolCalls = []
    })

    const invoke = (agent: string, body: object = {}, headers: Record<string, string> = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?', ...body }, headers })
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const becomes = (agent: string, request_id: string, status: string) =>
      until(`the run to be ${status}`, async () => {
        const receipt = await receiptOf(agent, request_id)
        if (receipt.finished_at !== null) assert.equal(receipt.status, status, JSON.stringify(receipt.error))
        return receipt.status === status && receipt
      })
    const look = () => ({ type: 'http', name: 'look', url: tool.url, method: 'POST' })

    test('answer like any other agent, and get what a model would get', async () => {
      const agent = await newRemoteAgent(service, remote.url, { instructions: 'Be brief.' })
      const context = { user_id: 'ada', session_id: 'harbour' }
      remote.answer(() => 'It is calm.')
      await invoke(agent, { context })
      let told: unknown
      remote.answer((run) => {
        const { message, history, instructions, context: given, attempt } = run
        told = { message, history, instructions, context: given, attempt }
        run.say('It is ')
        run.log('info', 'looked out of the window')
        return 'rough.'
      })
      const { status, body } = await invoke(agent, { message: 'And now?', context })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.data.response, 'It is rough.')
      assert.deepEqual(told, {
        message: 'And now?',
        history: [
          { role: 'user', content: 'How is the sea?' },
          { role: 'assistant', content: 'It is calm.' },
        ],
        instructions: 'Be brief.',
        context,
        attempt: 1,
      })
      const receipt = await receiptOf(agent, body.data.request_id)
      assert.deepEqual(
        receipt.steps.map(({ kind, model: name }: Record<string, unknown>) => ({ kind, name })),
        [
          { kind: 'recall', name: undefined },
          { kind: 'model', name: 'remote' },
        ],
      )
      const logs = await service.call('GET', `/v1/agents/${agent}/logs?request_id=${body.data.request_id}`)
      assert.match(logs.text, /looked out of the window/)
    })

    test('get files up to 4 MiB in total with the call, and can read the others', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      const files = [3 << 20, 2 << 20, 5].map((size) => uploaded(service, 'x'.repeat(size)))
      let told: (number | undefined)[] = []
      const read: number[] = []
      remote.answer(async (run) => {
        told = run.attachments.map(({ data }) => data?.length)
        for (const file of run.attachments) read.push((await run.read(file)).length)
        return 'Seen.'
      })
      const attachments = (await Promise.all(files)).map((file_id) => ({ file_id }))
      const { status, body } = await invoke(agent, { attachments })
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(told, [4 << 20, undefined, 8])
      assert.deepEqual(read, [3 << 20, 2 << 20, 5])
    })

    test('can request steps from the service, which are in the receipt', async () => {
      const agent = await newRemoteAgent(service, remote.url, { tools: [look()], model: 'local/test-model' })
      model.reply({ text: ['Blue.'], usage: { prompt_tokens: 7, completion_tokens: 3 } })
      remote.answer(async (run) => {
        const [sea, once] = await Promise.all([
          run.tool('look', 'look', { where: 'west' }),
          run.keep('number', () => 42),
        ])
        const colour = await run.askModel('colour', { message: 'Which colour?' })
        await run.writeMemory('note', `The sea is ${sea}.`)
        const [found] = await run.searchMemory('search', 'sea')
        run.usage({ model: 'mine', input_tokens: 10, output_tokens: 5 })
        return `${sea} ${once} ${colour} ${found?.content}`
      })
      const { status, body } = await invoke(agent, { context: { user_id: 'bo' } })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.data.response, 'calm 42 Blue. The sea is calm.')
      const receipt = await receiptOf(agent, body.data.request_id)
      const taken = receipt.steps.filter(({ kind }: { kind: string }) => kind === 'tool')
      assert.deepEqual(taken.map(({ id, name }: Record<string, unknown>) => [id, name]).toSorted(), [
        ['colour', 'step.model'],
        ['look', 'look'],
        ['note', 'step.memory_write'],
        ['number', 'step.keep'],
        ['search', 'step.memory_search'],
      ])
      const { usage } = taken.find(({ id }: { id: string }) => id === 'colour')
      assert.deepEqual(usage, { input_tokens: 7, output_tokens: 3, total_tokens: 10 })
      assert.equal(receipt.tokens_used, 25)
      assert.equal(toolCalls.length, 1)
      assert.equal(remote.calls(), 1)
    })

    test("report usage of a model without a provider's name, which can have a price", async () => {
      const price = { input: 2, output: 4 }
      const set = await service.call('PUT', '/v1/prices/remote/own', { body: price })
      assert.equal(set.status, 200, set.text)
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer((run) => {
        run.usage({ model: 'own', input_tokens: 1_000_000, output_tokens: 500_000 })
        return 'Dear.'
      })
      const { body } = await invoke(agent)
      const receipt = await receiptOf(agent, body.data.request_id)
      assert.equal(receipt.cost_usd, 4)
    })

    test('fail like any agent if they request a model call that no budget allows', async () => {
      const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
      const budget = { name: 'drops', scope: { type: 'agent', id: agent }, limit: { tokens: 5 }, per: 'ever' }
      assert.equal((await service.call('POST', '/v1/budgets', { body: budget })).status, 201)
      remote.answer(async (run) => {
        await run.askModel('colour', { message: 'Which colour?' }).catch(() => {})
        return 'Grey.'
      })
      const { status, body } = await invoke(agent)
      assert.deepEqual([status, body.error?.code], [429, 'budget_exceeded'], JSON.stringify(body))
      assert.equal(model.requests.length, 0)
    })

    test('can wait for a person, and continue without repeating anything', async () => {
      const agent = await newRemoteAgent(service, remote.url, { tools: [look()], approvals: { self: true } })
      let made = 0
      remote.answer(async (run) => {
        run.say('Let me look. ')
        const sea = await run.tool('look', 'look')
        await run.keep('made', () => (made += 1))
        const answer = await run.askPerson('captain', 'Shall we sail?', ['yes', 'no'])
        return `The sea is ${sea}, the captain says ${answer}.`
      })
      const { status, body } = await invoke(agent)
      assert.equal(status, 202, JSON.stringify(body))
      const { request_id } = body.data
      assert.deepEqual(
        body.data.approvals.map(({ call_id, arguments: asked }: Record<string, unknown>) => ({ call_id, asked })),
        [{ call_id: 'captain', asked: { question: 'Shall we sail?', options: ['yes', 'no'] } }],
      )
      const decision = { decision: 'approve', answer: 'yes' }
      const path = `/v1/agents/${agent}/invocations/${request_id}/approvals/captain`
      const decided = await service.call('POST', path, { body: decision })
      assert.equal(decided.status, 200, decided.text)
      const receipt = await becomes(agent, request_id, 'completed')
      assert.equal(receipt.response, 'Let me look. The sea is calm, the captain says yes.')
      assert.deepEqual([toolCalls.length, made, remote.calls(), receipt.attempts.length], [1, 1, 2, 2])
    })

    test('are not called if an attached file was deleted before the run starts, whatever its size', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(() => 'Seen.')
      const file_id = await uploaded(service, 'x'.repeat((4 << 20) + 1))
      const schedule = { every: '24h', message: 'Look', attachments: [{ file_id }] }
      const path = `/v1/agents/${agent}/schedules`
      const { id } = (await service.call('POST', path, { body: schedule })).body.data
      await service.call('DELETE', `/v1/files/${file_id}`)
      const { request_id } = (await service.call('POST', `${path}/${id}/run`)).body.data
      const { error } = await becomes(agent, request_id, 'failed')
      assert.match(error.message, new RegExp(file_id))
      assert.equal(remote.calls(), 0)
    })

    test('can sleep without occupying a process, and continue even if a file is deleted meanwhile', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      const told: (string | null | undefined)[] = []
      remote.answer(async (run) => {
        told.push(run.attachments[0]?.data)
        await run.sleep('night', 8 * 3_600)
        return 'Good morning.'
      })
      const file_id = await uploaded(service, 'chart')
      const { body } = await invoke(agent, { attachments: [{ file_id }] }, ASYNC)
      const { request_id } = body.data
      await becomes(agent, request_id, 'waiting')
      await service.call('DELETE', `/v1/files/${file_id}`)
      service.advance(8 * 3_600_000)
      assert.equal((await becomes(agent, request_id, 'completed')).response, 'Good morning.')
      assert.deepEqual(told, [Buffer.from('chart').toString('base64'), null])
    })

    test('sleep at least as long as requested, even for a short time within the same process', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(async (run) => {
        await run.sleep('a moment', 1)
        return 'Awake.'
      })
      const { status, body } = await invoke(agent)
      assert.equal(status, 200, JSON.stringify(body))
      const { steps, attempts } = await receiptOf(agent, body.data.request_id)
      const { duration_ms } = steps.find(({ name }: { name: string }) => name === 'step.sleep')
      // A timer may be early by a millisecond of another clock.
      assert.ok(duration_ms >= 950, `it slept for ${duration_ms} ms`)
      assert.equal(attempts.length, 1)
    })

    test('find as many memories as they request', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(async (run) => {
        for (const at of ['noon', 'dusk', 'dawn']) await run.writeMemory(at, `The sea was calm at ${at}.`)
        const [two, all] = await Promise.all([
          run.searchMemory('two', 'calm sea', 2),
          run.searchMemory('all', 'calm sea'),
        ])
        return `${two.length} of ${all.length}`
      })
      const { body } = await invoke(agent, { context: { user_id: 'cy', session_id: 'watch' } })
      assert.equal(body.data?.response, '2 of 3', JSON.stringify(body))
      const notes = await service.call('GET', `/v1/agents/${agent}/memory?kind=note&user_id=cy&session_id=watch`)
      assert.equal(notes.body.pagination.total, 3, 'they are of the user and the session of its run')
    })

    test('can return an output that matches, and are told if it does not', async () => {
      const schema = { type: 'object', properties: { knots: { type: 'integer' } }, required: ['knots'] }
      const agent = await newRemoteAgent(service, remote.url, { output: { schema, retries: 1 } })
      remote.answer((run) => ({ output: run.unfit ? { knots: 12 } : { knots: 'many' } }))
      const { status, body } = await invoke(agent)
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body.data.output, { knots: 12 })
      remote.answer(() => ({ output: { knots: 'many' } }))
      const refused = await invoke(agent)
      assert.equal(refused.body.error.code, 'output_invalid', refused.text)
    })

    test('fail with the message of an error that the handler throws', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(() => {
        throw new Error('the pump is broken')
      })
      const { status, body } = await invoke(agent)
      assert.equal(status, 500)
      assert.match(body.error.message, /the pump is broken$/)
    })
  })
}
