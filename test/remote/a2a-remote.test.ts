import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type A2aServer, startA2aServer } from '../support/outside/a2a-server.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'

for (const engine of ANY_ENGINE) {
  describe(`agents called with A2A, on ${engine}`, () => {
    let service: Service
    let far: A2aServer
    let whole: A2aServer
    before(async () => {
      service = await startService(engine, LOCAL_TOOLS)
      far = await startA2aServer()
      whole = await startA2aServer({ streaming: false })
    })
    after(async () => {
      await service.stop()
      await far.close()
      await whole.close()
    })

    const agentAt = (a2a: string, fields: object = {}) =>
      newAgent(service, { kind: 'remote', remote: { a2a }, ...fields })
    const invoke = (agent: string, body: object = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?', ...body } })
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data

    test('need a card or a URL, and get errors for the one that is set', async () => {
      const errors = []
      for (const remote of [
        { a2a: 'ftp://far' },
        { a2a: far.card, secret: 'REMOTE' },
        { a2a: far.card, timeout_ms: 1 },
        { url: 'ftp://far', secret: 'REMOTE' },
        { url: far.url },
        { url: far.url, secret: 'REMOTE', a2a: far.card },
        {},
      ]) {
        const { status, body } = await service.call('POST', '/v1/agents', {
          body: { name: 'wrong', kind: 'remote', remote },
        })
        assert.equal(status, 400)
        errors.push(
          body.error.details.map(({ field, error }: Record<string, string>) => `${field} ${error}`).join(', '),
        )
      }
      assert.deepEqual(errors, [
        'remote.a2a must start with https:// or http://',
        'remote.secret unknown field',
        'remote.timeout_ms must be at least 100',
        'remote.url must start with https:// or http://',
        'remote.secret is required',
        'remote must have either `url` or `a2a`, not both',
        'remote.url is required, remote.secret is required',
      ])
      const agent = await agentAt(far.card)
      const { remote } = (await service.call('GET', `/v1/agents/${agent}`)).body.data
      assert.deepEqual(remote, { a2a: far.card, headers: {}, timeout_ms: null })
    })

    test('the answer is streamed, and what the agent says about its work is logged', async () => {
      const agent = await agentAt(far.card, { remote: { a2a: far.card, headers: { 'X-Berth': '7' } } })
      far.answer(async (task) => {
        task.work('Looking out of the window')
        task.say('It is ', { append: false })
        task.say('calm')
        task.say('.')
        task.say('Bring a hat.', { artifact: 'advice' })
        task.give(
          { $case: 'url', value: 'https://example.com/sea.png' },
          { filename: 'sea.png', mediaType: 'image/png' },
        )
        task.end('TASK_STATE_COMPLETED')
      })
      const { text } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'How is the sea?' },
        headers: { Accept: 'text/event-stream' },
      })
      const said = [...text.matchAll(/event: delta\ndata: (.*)/g)].map(([, data]) => JSON.parse(data ?? '').text)
      const answer = 'It is calm.\n\nBring a hat.\n\n[file sea.png: image/png, https://example.com/sea.png]'
      assert.equal(said.join(''), answer)
      assert.deepEqual(far.methods(), ['card', 'SendStreamingMessage'])
      const [, sent] = far.seen
      const request_id = /"request_id":"([^"]+)"/.exec(text)?.[1] ?? ''
      assert.equal(sent?.headers['x-berth'], '7')
      assert.equal(sent?.headers['idempotency-key'], sent?.message?.messageId)
      assert.equal(sent?.message?.messageId, `${request_id}-1`)
      const receipt = await receiptOf(agent, request_id)
      assert.equal(receipt.response, answer)
      assert.deepEqual(
        receipt.steps.map(({ kind, name }: Record<string, unknown>) => name ?? kind),
        ['model', 'step.keep', 'model'],
      )
      const logs = await service.call('GET', `/v1/agents/${agent}/logs?request_id=${request_id}`)
      assert.match(logs.text, /Looking out of the window/)
    })

    test('the answer of an agent that does not stream is sent at once', async () => {
      const agent = await agentAt(whole.card)
      whole.answer(async (task) => {
        task.say('Calm.')
        task.end('TASK_STATE_COMPLETED')
      })
      assert.equal((await invoke(agent)).body.data.response, 'Calm.')
      assert.deepEqual(whole.methods(), ['card', 'SendMessage'])
      const message = await startA2aServer({ only: 'Just calm.' })
      assert.equal((await invoke(await agentAt(message.card))).body.data.response, 'Just calm.')
      await message.close()
    })

    test('a session is one conversation there, for one user', async () => {
      const agent = await agentAt(far.card)
      const contexts: string[] = []
      far.answer((task) => {
        contexts.push(task.contextId)
        task.end('TASK_STATE_COMPLETED', 'Noted.')
      })
      for (const user_id of ['ada', 'ada', 'bo']) {
        const { body } = await invoke(agent, { context: { user_id, session_id: 'harbour' } })
        assert.equal(body.data.response, 'Noted.')
      }
      assert.equal(contexts[0], contexts[1])
      assert.notEqual(contexts[0], contexts[2])
      assert.equal(new Set(contexts).size, 2)
    })

    test('a data part becomes the output; an answer that does not match is requested again in the same conversation', async () => {
      const schema = { type: 'object', properties: { knots: { type: 'integer' } }, required: ['knots'] }
      const agent = await agentAt(far.card, { output: { schema, retries: 1 } })
      far.answer((task) => {
        task.give({ $case: 'data', value: { knots: 12 } })
        task.say('About twelve.')
        task.end('TASK_STATE_COMPLETED')
      })
      assert.deepEqual((await invoke(agent)).body.data.output, { knots: 12 })
      const told: { text: string; contextId: string }[] = []
      far.answer((task) => {
        told.push(task)
        task.say(told.length === 1 ? 'Twelve.' : '{"knots": 13}')
        task.end('TASK_STATE_COMPLETED')
      })
      assert.deepEqual((await invoke(agent)).body.data.output, { knots: 13 })
      const [first, second] = told
      assert.match(first?.text ?? '', /^How is the sea\?\nAnswer with JSON/)
      assert.match(second?.text ?? '', /^This answer does not fit/)
      assert.equal(first?.contextId, second?.contextId)
    })

    test('a data part is the answer if there is no text, even if the last status has some', async () => {
      const agent = await agentAt(far.card)
      far.answer((task) => {
        task.give({ $case: 'data', value: { knots: 12 } })
        task.end('TASK_STATE_COMPLETED', 'Done.')
      })
      assert.equal((await invoke(agent)).body.data.response, '{"knots":12}')
    })

    test('a data part that is false, zero or empty is an answer, too', async () => {
      const agent = await agentAt(far.card, {
        output: { schema: { type: ['boolean', 'integer', 'string'] }, retries: 0 },
      })
      for (const value of [false, 0, '']) {
        far.answer((task) => {
          task.give({ $case: 'data', value })
          task.end('TASK_STATE_COMPLETED')
        })
        const { body } = await invoke(agent)
        assert.equal(body.data?.output, value, JSON.stringify(body))
      }
    })

    test("the agent's question is put to a person, and the task continues with the answer", async () => {
      const agent = await agentAt(far.card, { approvals: { self: true } })
      far.answer((task) => {
        if (task.turn === 1) {
          task.say('Let me ask. ')
          return task.end('TASK_STATE_INPUT_REQUIRED', 'Which harbour?')
        }
        task.say(`In ${task.text} it is calm.`)
        task.end('TASK_STATE_COMPLETED')
      })
      const { status, body } = await invoke(agent)
      assert.equal(status, 202, JSON.stringify(body))
      const [asked] = body.data.approvals
      assert.deepEqual(asked.arguments, { question: 'Which harbour?' })
      const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
      const decision = { decision: 'approve', answer: 'Kiel' }
      const decided = await service.call('POST', `${path}/approvals/${asked.call_id}`, { body: decision })
      assert.equal(decided.status, 200, decided.text)
      const receipt = await until('the end', async () => {
        const found = await receiptOf(agent, body.data.request_id)
        return found.finished_at !== null && found
      })
      assert.equal(receipt.response, 'Let me ask. In Kiel it is calm.', JSON.stringify(receipt.error))
      assert.deepEqual(far.methods(), ['card', 'SendStreamingMessage', 'card', 'GetTask', 'SendStreamingMessage'])
    })

    test("if the agent's task fails, the run fails with our own message, and only an active task is cancelled", async () => {
      const agent = await agentAt(far.card)
      const messages = []
      const ends = [
        ['TASK_STATE_FAILED', 'The mast is broken'],
        ['TASK_STATE_REJECTED', undefined],
        ['TASK_STATE_CANCELED', undefined],
        ['TASK_STATE_AUTH_REQUIRED', 'Sign in at the pier'],
      ] as const
      far.answer((task) => {
        const [state, words] = ends[messages.length] ?? assert.fail()
        task.end(state, words)
      })
      while (messages.length < ends.length) {
        const { status, body } = await invoke(agent)
        assert.equal(status, 500)
        messages.push(body.error.message)
      }
      assert.deepEqual(messages, [
        'The remote agent failed: The mast is broken',
        'The remote agent rejected the message.',
        'The remote agent cancelled its task.',
        "The remote agent requires its caller to sign in, which this service doesn't support: Sign in at the pier",
      ])
      const cancelled = () => far.methods().filter((method) => method === 'CancelTask')
      await until('the last task is cancelled', () => cancelled().length > 0)
      assert.equal(cancelled().length, 1)
    })

    test('a run that is cancelled or out of time cancels the task', async () => {
      const agent = await agentAt(far.card)
      let isCancelled = false
      far.answer(async (task) => {
        task.work('Waiting')
        const { data } = (await service.call('GET', `/v1/agents/${agent}/invocations?status=running`)).body
        void service.call('POST', `/v1/agents/${agent}/invocations/${data[0].request_id}/cancel`)
        await task.cancelled
        isCancelled = true
      })
      const { body } = await invoke(agent)
      assert.equal(body.error.code, 'conflict')
      await until('the task is cancelled', () => isCancelled)
      isCancelled = false
      let isBegun = false
      far.answer(async (task) => {
        isBegun = true
        await task.cancelled
        isCancelled = true
      })
      const hasty = await agentAt(far.card, { remote: { a2a: far.card, timeout_ms: 300 } })
      // The machine may be so busy that the time is over before the message is sent.
      await until('a task that was begun in time', async () => {
        const late = await invoke(hasty)
        assert.match(late.body.error.message, /\b300 ms\b/)
        return isBegun
      })
      await until('the task is cancelled', () => isCancelled)
    })
  })
}
