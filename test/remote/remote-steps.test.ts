import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { callerOf } from '../support/slices/agent-tools.ts'
import { newRemoteAgent, type RemoteServer, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'

for (const engine of STORY_ENGINES) {
  describe(`steps of remote agents on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let remote: RemoteServer
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      await setRemoteSecret(service)
      remote = await startRemote(() => service.now())
    })
    after(async () => {
      await stop()
      await remote.close()
    })
    beforeEach(() => model.reset())

    const invoke = (agent: string, body: object = {}, headers: Record<string, string> = {}) =>
      service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go', ...body }, headers })
    const receiptOf = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data

    test("memory_search finds what the run can see: the user's memories, or the session's if there is no user", async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(async (run) => {
        if (run.message.startsWith('Note')) {
          await run.writeMemory('note', 'The code of the safe is 1234.')
          return 'Noted.'
        }
        const found = await run.searchMemory('search', 'What is the code of the safe?', 50)
        return JSON.stringify(found.map(({ content }) => content).toSorted())
      })
      const said = (message: string, context: object) => invoke(agent, { message, context })
      await said('The code of my safe is 4711', { session_id: 'first' })
      await said('The code of my safe is 0815', { user_id: 'ada', session_id: 'first' })
      await said('Note it', {})
      const found = async (context: object) => {
        const { body } = await said('What is the code of the safe?', context)
        return (JSON.parse(body.data.response) as string[]).filter(
          (text) => /\d{4}/.test(text) && !text.startsWith('['),
        )
      }
      assert.deepEqual(await found({ session_id: 'first' }), ['The code of my safe is 4711'])
      assert.deepEqual(await found({ session_id: 'second' }), [])
      assert.deepEqual(await found({ user_id: 'bo', session_id: 'first' }), [])
      assert.deepEqual(await found({ user_id: 'ada', session_id: 'third' }), ['The code of my safe is 0815'])
      assert.deepEqual(await found({}), [])
    })

    test('a step is not a tool: its arguments must be those of its type', async () => {
      const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
      const named: [string, Record<string, unknown>][] = [
        ['step.model', { message: 'x', history: [], max_output_tokens: -1_000_000_000 }],
        ['step.memory_search', { query: 7, limit: 100_000 }],
        ['step.sleep', { until: 1e300 }],
        ['step.none', {}],
      ]
      const told: string[] = []
      remote.answer(async (run) => {
        for (const [name, args] of named) {
          await run.tool(name, name, args).catch((error: Error) => told.push(error.message))
        }
        return 'done'
      })
      const { status, text } = await invoke(agent)
      assert.equal(status, 200, text)
      assert.deepEqual(
        told,
        named.map(() => 'Validation failed'),
      )
      assert.equal(model.requests.length, 0)
    })

    test("a model step is limited to the agent's max_output_tokens", async () => {
      const limits = { max_output_tokens: 50 }
      const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model', limits })
      remote.answer(async (run) => {
        await run.askModel('more', { message: 'x', max_output_tokens: 5_000 })
        await run.askModel('less', { message: 'x', max_output_tokens: 20 })
        await run.askModel('none', { message: 'x' })
        return 'done'
      })
      assert.equal((await invoke(agent)).status, 200)
      assert.deepEqual(
        model.requests.map(({ body }) => body.max_tokens),
        [50, 20, 50],
      )
    })

    test('memory_write fails if the project is full', async () => {
      const path = '/v1/projects/default'
      const limit = (stored_bytes: number | null) => service.call('PATCH', path, { body: { limits: { stored_bytes } } })
      const agent = await newRemoteAgent(service, remote.url)
      await limit(2 ** 40)
      await ranAgain(service, 'project sizes', 61_000)
      remote.answer(async (run) => {
        await limit(1)
        const written = run.writeMemory('note', 'The sea is calm.')
        return written.then(
          () => 'written',
          (error: Error) => error.message,
        )
      })
      const { body } = await invoke(agent, { context: { user_id: 'eve' } })
      await limit(null)
      assert.match(body.data.response, /limits\.stored_bytes/)
      const { body: notes } = await service.call('GET', `/v1/agents/${agent}/memory?kind=note`)
      assert.equal(notes.pagination.total, 0)
    })

    test("memory_write writes to the agent's own memory, even if it reads its caller's", async () => {
      const agent = await newRemoteAgent(service, remote.url)
      const context = { user_id: 'fay' }
      const notesOf = async (id: string) => {
        const { body } = await service.call('GET', `/v1/agents/${id}/memory?kind=note&user_id=fay`)
        return body.data.map(({ content }: { content: string }) => content)
      }
      for (const [memory, said, own] of [
        ['none', /has no memory/, []],
        ['shared', /written/, ['The tide turns.']],
        ['own', /written/, ['The tide turns.', 'The tide turns.']],
      ] as const) {
        remote.answer((run) => run.writeMemory('note', 'The tide turns.').then(() => 'written', String))
        const caller = await newAgent(service, callerOf(agent, { memory }))
        assert.match((await invoke(caller, { context })).body.data.response, said, memory)
        assert.deepEqual([await notesOf(caller), await notesOf(agent)], [[], own], memory)
      }
    })

    test('a sleep can be a fraction of a millisecond', async () => {
      const agent = await newRemoteAgent(service, remote.url)
      remote.answer(async (run) => {
        await run.sleep('night', 3_600.0001)
        return 'Good morning.'
      })
      const { body } = await invoke(agent, {}, { Prefer: 'respond-async' })
      const { request_id } = body.data
      await until('it sleeps', async () => (await receiptOf(agent, request_id)).status === 'waiting')
      service.advance(3_601_000)
      await until('it is awake', async () => (await receiptOf(agent, request_id)).response === 'Good morning.')
    })

    test('the usage of a model step is counted, even if its result is too large', async () => {
      const agent = await newRemoteAgent(service, remote.url, { model: 'local/test-model' })
      const usage = { prompt_tokens: 10, completion_tokens: 5 }
      model.replyBy(() => ({ text: ['x'.repeat(900_000)], usage }))
      remote.answer(async (run) => {
        const told: string[] = []
        for (let i = 0; i < 5; i += 1) {
          await run.askModel(`model ${i}`, { message: 'x' }).catch((error: Error) => told.push(error.message))
        }
        return told.join()
      })
      const { body } = await invoke(agent)
      assert.equal(body.data.response, 'The tool results of this run exceed 4 MiB in total.')
      assert.equal((await receiptOf(agent, body.data.request_id)).tokens_used, 75)
    })
  })
}
