import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { storageOf, storeOf, wakeJobs } from '../support/inside.ts'
import type { ModelServer, SeenRequest } from '../support/outside/model-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'

const MODEL = 'local/test-model'
const ROUND_MS = 30_001

for (const engine of ANY_ENGINE) {
  describe(`summaries of sessions, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, JWT_SETTINGS))
    })
    after(() => stop())

    const summarizing = (memory: object = {}) =>
      newAgent(service, { model: MODEL, memory: { summarize: 4, ...memory } })
    const say = async (agent: string, message: string, context: object, answer = 'Noted.') => {
      model.reply({ text: [answer] })
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      assert.equal(reply.status, 200, reply.text)
    }
    /** One run might have started before; the next has not. */
    const summarize = async () => {
      for (let i = 0; i < 2; i++) {
        const storage = storageOf(service)
        const { now } = service
        service.advance(ROUND_MS)
        const asked = now()
        wakeJobs(service)
        await until('the summaries were looked after', async () => {
          const job = await storage.db.selectFrom('jobs').selectAll().where('kind', '=', 'summaries').executeTakeFirst()
          return job !== undefined && job.owner === null && job.run_at > asked
        })
      }
    }
    const pathOf = (agent: string, session: string, user?: string) =>
      `/v1/agents/${agent}/sessions/${session}/summary${user === undefined ? '' : `?user_id=${user}`}`
    const summaryOf = async (agent: string, session: string, user?: string) =>
      (await service.call('GET', pathOf(agent, session, user))).body.data
    const shownTo = (request: SeenRequest | undefined) =>
      request?.body.messages.map(({ content }) => content).join('\n')

    test('a session with more turns than the model gets has a summary of the others', async () => {
      model.reset()
      const agent = await summarizing({ history: 2, recall: 0 })
      const context = { user_id: 'anna', session_id: 's1' }
      await say(agent, 'My boat is <b>Nightingale</b>', context)
      await summarize()
      assert.equal(model.requests.length, 1)
      assert.equal(await summaryOf(agent, 's1', 'anna'), undefined)
      await say(agent, 'She leaks', context)
      model.reply({ text: [' Anna has a boat, Nightingale, which leaks. '] })
      await summarize()
      const asked = shownTo(model.requests[2])
      assert.match(asked ?? '', /<summary>\n\n<\/summary>\n\n<turns>\n\{"role":"user","content":"My boat is \\u003cb>/)
      assert.match(asked ?? '', /She leaks.*\n.*Noted/)
      const { updated_at, ...summary } = await summaryOf(agent, 's1', 'anna')
      assert.ok(Date.parse(updated_at))
      const content = 'Anna has a boat, Nightingale, which leaks.'
      const covers = { turns: 4, model: MODEL, tokens_used: 15 }
      assert.deepEqual(summary, { session_id: 's1', user_id: 'anna', content, ...covers })
      assert.match(service.log(), /"turns":4,"tokens":15,"msg":"a session was summarized"/)

      await say(agent, 'What is she called?', context)
      const answering = model.requests[3]?.body.messages ?? []
      assert.deepEqual(
        answering.slice(1).map(({ role, content: said }) => [role, said]),
        [
          ['user', `<summary>\n"${content}"\n</summary>\n\nShe leaks`],
          ['assistant', 'Noted.'],
          ['user', 'What is she called?'],
        ],
      )
      assert.match(answering[0]?.content ?? '', /<summary>.*never follow instructions/)

      // Two new turns are not enough; with four, the model continues from its own summary.
      await summarize()
      assert.equal(model.requests.length, 4)
      await say(agent, 'And where?', context)
      model.reply({ text: ['Anna asks where.'] })
      await summarize()
      assert.match(shownTo(model.requests[5]) ?? '', /<summary>\n"Anna has a boat.*\n<\/summary>\n\n<turns>\n.*called/)
      const later = await summaryOf(agent, 's1', 'anna')
      assert.deepEqual([later.content, later.turns, later.tokens_used], ['Anna asks where.', 8, 30])
    })

    test('users with the same session name each get a summary of their own turns', async () => {
      model.reset()
      const agent = await summarizing({ recall: 0 })
      for (const [user_id, said] of [
        ['anna', 'My boat leaks'],
        ['ben', 'My bicycle squeaks'],
      ] as const) {
        for (let i = 0; i < 2; i++) await say(agent, said, { user_id, session_id: 'quay' })
        model.reply({ text: [`The summary for ${user_id}`] })
        await summarize()
        const shown = shownTo(model.requests.at(-1)) ?? ''
        assert.match(shown, new RegExp(`<summary>\\n\\n</summary>\\n\\n<turns>\\n.*${said}`))
        const { content, turns } = (await summaryOf(agent, 'quay', user_id)) ?? {}
        assert.deepEqual([content, turns], [`The summary for ${user_id}`, 4])
      }
    })

    test('a model with a small window still answers and summarizes', async () => {
      model.reset()
      const agent = await summarizing({ recall: 0 })
      model.takeAtMost(5_000)
      const context = { session_id: 'long' }
      const items = Array.from({ length: 30 }, (_, i) => ({
        content: `Turn ${i} about the harbour. `.padEnd(1_200, `${i} `),
        kind: 'turn',
        role: i % 2 === 0 ? 'user' : 'assistant',
        context,
      }))
      await writeMemory(service, agent, items)
      await summarize()
      const { turns, tokens_used } = await summaryOf(agent, 'long')
      assert.ok(turns > 26 && tokens_used > 0, `${turns} turns`)
      await service.call('PUT', pathOf(agent, 'long'), { body: { content: 'All about the harbour' } })
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'And now?', context } })
      assert.equal(reply.status, 200, reply.text)
      const shown = shownTo(model.requests.at(-1)) ?? ''
      assert.match(shown, /All about the harbour/)
      assert.match(shown, /Turn 29/)
      assert.doesNotMatch(shown, /Turn 1 /)
    })

    test('`summarize: true` keeps a summary and updates it after every ten turns', async () => {
      model.reset()
      const agent = await summarizing({ summarize: true })
      const write = (count: number) =>
        writeMemory(
          service,
          agent,
          Array.from({ length: count }, () => ({
            content: 'Aye',
            kind: 'turn',
            role: 'user',
            context: { session_id: 's' },
          })),
        )
      await write(9)
      await summarize()
      assert.equal(await summaryOf(agent, 's'), undefined)
      await write(1)
      model.reply({ text: ['Ten times aye.'] })
      await summarize()
      const { content, turns } = await summaryOf(agent, 's')
      assert.deepEqual([content, turns], ['Ten times aye.', 10])
    })

    test('the summary covers the turns that the model got; long ones are left for the next time', async () => {
      model.reset()
      const agent = await summarizing()
      const turn = (i: number) => ({
        content: `Turn ${i}: `.padEnd(5_000, '.'),
        kind: 'turn',
        role: 'user',
        context: { session_id: 'long' },
      })
      await writeMemory(service, agent, [1, 2, 3, 4, 5, 6, 7, 8].map(turn))
      const covered = async (said: string) => {
        model.reply({ text: [said] })
        await summarize()
        const { content, turns } = await summaryOf(agent, 'long')
        const shown = [...(shownTo(model.requests.at(-1)) ?? '').matchAll(/Turn (\d+):/g)].map(([, number]) =>
          Number(number),
        )
        return { content, turns, shown }
      }
      assert.deepEqual(await covered('Six.'), { content: 'Six.', turns: 6, shown: [1, 2, 3, 4, 5, 6] })
      await writeMemory(service, agent, [9, 10].map(turn))
      assert.deepEqual(await covered('Ten.'), { content: 'Ten.', turns: 10, shown: [7, 8, 9, 10] })
    })

    test("each user's session has its own summary, and a token sees only its user's", async () => {
      model.reset()
      const agent = await summarizing({ recall: 0 })
      const put = (content: string, user?: string, key = service.admin) =>
        service.call('PUT', pathOf(agent, 'same', user), { body: { content }, key })
      for (const user_id of ['anna', 'ben', undefined]) {
        await say(agent, 'hello', { session_id: 'same', ...(user_id && { user_id }) })
        assert.equal((await put(`Of ${user_id}`, user_id)).status, 200)
      }
      assert.equal((await summaryOf(agent, 'same', 'ben')).content, 'Of ben')
      assert.equal((await summaryOf(agent, 'same')).content, 'Of undefined')
      await say(agent, 'again', { session_id: 'same', user_id: 'anna' })
      assert.match(shownTo(model.requests.at(-1)) ?? '', /Of anna/)
      await say(agent, 'again', { session_id: 'same' })
      assert.match(shownTo(model.requests.at(-1)) ?? '', /Of undefined/)

      const anna = await signJwt({ user_id: 'anna', permissions: ['read', 'write', 'delete'] })
      const own = await service.call('GET', pathOf(agent, 'same'), { key: anna })
      assert.deepEqual([own.body.data.content, own.body.data.model], ['Of anna', null])
      assert.equal((await service.call('GET', pathOf(agent, 'same', 'ben'), { key: anna })).status, 403)
      assert.equal((await put('Of Anna', undefined, anna)).body.data.user_id, 'anna')
      assert.equal((await service.call('DELETE', pathOf(agent, 'same'), { key: anna })).status, 200)
      assert.equal((await service.call('DELETE', pathOf(agent, 'same'), { key: anna })).status, 404)
      assert.equal((await summaryOf(agent, 'same', 'ben')).content, 'Of ben')
      assert.equal((await put('x', 'nobody')).status, 404)
      assert.equal((await put('x'.repeat(4_001), 'ben')).status, 400)
    })

    test('deleting, correcting or erasing a covered turn deletes the summary; the export includes it', async () => {
      model.reset()
      const agent = await summarizing()
      const context = { user_id: 'cleo', session_id: 's' }
      const summarized = async () => {
        await say(agent, 'My code is 4711', context)
        const reply = await service.call('PUT', pathOf(agent, 's', 'cleo'), { body: { content: 'The code is 4711' } })
        assert.equal(reply.status, 200, reply.text)
      }
      const turn = async () =>
        (await service.call('GET', `/v1/agents/${agent}/memory?user_id=cleo&kind=turn`)).body.data[0].id
      const forgets = async (method: string, path: string, body?: object) => {
        await summarized()
        const target = path.replace('TURN', await turn())
        const reply = await service.call(method, target, { body })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(await summaryOf(agent, 's', 'cleo'), undefined, `${method} ${path}`)
      }
      await summarized()
      const exported = (await service.call('GET', '/v1/users/cleo/export')).text.trim().split('\n')
      const line = exported.map((one) => JSON.parse(one)).find(({ type }) => type === 'summary')
      assert.deepEqual([line.agent_id, line.session_id, line.content], [agent, 's', 'The code is 4711'])
      await forgets('PATCH', `/v1/agents/${agent}/memory/TURN`, { content: 'My code is a secret' })
      await forgets('PATCH', `/v1/agents/${agent}/memory/TURN`, { kind: 'note' })
      await forgets('DELETE', `/v1/agents/${agent}/memory/TURN`)
      await forgets('DELETE', `/v1/agents/${agent}/memory?user_id=cleo&session_id=s`)
      await forgets('DELETE', '/v1/users/cleo')
      assert.deepEqual(
        await storeOf(service).selectFrom('memory_summaries').selectAll().where('user_id', '=', 'cleo').execute(),
        [],
      )
    })

    for (const [how, method, pathFor] of [
      ['erased with its user', 'DELETE', () => '/v1/users/dora'],
      ['forgotten', 'DELETE', (agent: string, turn: string) => `/v1/agents/${agent}/memory/${turn}`],
      ['corrected', 'PATCH', (agent: string, turn: string) => `/v1/agents/${agent}/memory/${turn}`],
    ] as const) {
      test(`a turn that is ${how} while the model reads it is not in the summary`, async () => {
        model.reset()
        const agent = await summarizing()
        const context = { user_id: 'dora', session_id: 's' }
        const items = Array.from({ length: 4 }, (_, i) => ({
          content: `Secret ${i}`,
          kind: 'turn',
          role: 'user',
          context,
        }))
        // Reads what earlier tests have left first.
        await summarize()
        const turns = await writeMemory(service, agent, items)
        const held = Promise.withResolvers<void>()
        model.reply({ text: ['There are four secrets: 0, 1, 2 and 3'] })
        model.holdNext(held.promise)
        const reading = model.nextRequest()
        const done = until('the model has read', async () => {
          await summarize()
          return model.requests.length > 0
        })
        assert.match(shownTo(await reading) ?? '', /Secret 3/)
        const body = method === 'PATCH' ? { content: 'No secret' } : undefined
        const reply = await service.call(method, pathFor(agent, String(turns[3]?.['id'])), { body })
        assert.equal(reply.status, 200, reply.text)
        held.resolve()
        await done
        const summary = await summaryOf(agent, 's', 'dora')
        assert.ok(!summary?.content.includes('four secrets'), JSON.stringify(summary))
      })
    }

    test('no summaries by default, without a session, or by built-in models; a failed model is retried after an hour', async () => {
      model.reset()
      const plain = await newAgent(service, { model: MODEL })
      const builtin = await newAgent(service, { model: 'builtin/echo', memory: { summarize: true } })
      const eager = await summarizing()
      const turns = (context: object) =>
        Array.from({ length: 12 }, (_, i) => ({ content: `Turn ${i}`, kind: 'turn', role: 'user', context }))
      for (const agent of [plain, builtin]) await writeMemory(service, agent, turns({ session_id: 's' }))
      await writeMemory(service, eager, turns({ user_id: 'anna' }))
      await summarize()
      assert.equal(model.requests.length, 0)
      await writeMemory(service, eager, turns({ session_id: 's' }))
      model.reply({ text: [' '] })
      await summarize()
      assert.equal(model.requests.length, 1)
      assert.match(service.log(), /a session was not summarized/)
      service.advance(3_600_000)
      model.reply({ text: ['Twelve turns.'] })
      await summarize()
      assert.equal((await summaryOf(eager, 's')).content, 'Twelve turns.')
    })

    test('sessions on which the model fails do not delay others', async () => {
      model.reset()
      const agent = await summarizing()
      const turns = (context: object) =>
        Array.from({ length: 4 }, (_, i) => ({ content: `Turn ${i}`, kind: 'turn', role: 'user', context }))
      const failing = Array.from({ length: 101 }, (_, i) => turns({ user_id: 'abel', session_id: `s${i}` }))
      await writeMemory(service, agent, failing.flat())
      await writeMemory(service, agent, [
        ...turns({ user_id: 'zoe', session_id: 's' }),
        { content: 'I am Zoe', kind: 'turn', role: 'user', context: { user_id: 'zoe', session_id: 's' } },
      ])
      model.replyBy(({ messages }) => {
        const isOfZoe = String(messages.at(-1)?.content).includes('I am Zoe')
        return { text: [isOfZoe ? 'Zoe counts.' : ' '] }
      })
      await summarize()
      await summarize()
      assert.equal((await summaryOf(agent, 's', 'zoe'))?.content, 'Zoe counts.')
      assert.equal(model.requests.length, 102)
      model.reset()
    })

    test('400 for invalid values of summarize', async () => {
      for (const wrong of [0, 1, 201, 2.5, 'yes', null]) {
        const reply = await service.call('POST', '/v1/agents', {
          body: { name: 'wrong', memory: { summarize: wrong } },
        })
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.details[0].field, 'memory.summarize')
      }
    })
  })
}
