import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Invocation, rankOf } from '../../src/invocations/invocation.ts'
import { announce } from '../../src/storage/database.ts'
import { readEvents } from '../support/clients/sse.ts'
import { inTransaction, liveRun, partsOf, storeOf } from '../support/inside.ts'
import { type PatientModel, startPatientModel } from '../support/outside/patient-model.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import {
  type CallOptions,
  NODE_STORY_ENGINES,
  type Reply,
  type Service,
  startService,
} from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const AGENT = { model: 'local/patient', memory: { recall: 0 } }
const IN_BACKGROUND = { Prefer: 'respond-async' }
const ANSWER_MS = 400

for (const engine of NODE_STORY_ENGINES) {
  describe(`runs of one session, on ${engine}`, () => {
    let model: PatientModel
    /** What an answer waits for, by the message. */
    const gates = new Map<string, () => Promise<void>>()
    let service: Service
    /** On SQLite a store has one service at a time. */
    let other: Service
    before(async () => {
      model = await startPatientModel(
        (message) => gates.get(message)?.() ?? delay(Number(/ (\d+) ms/.exec(message)?.[1] ?? ANSWER_MS)),
      )
      service = await startService(engine, localProvider(model.url))
      other = engine === 'postgres' ? await service.beside() : service
    })
    after(async () => {
      if (other !== service) await other.stop()
      await service.stop()
      await model.close()
    })

    /** The answer to this message waits until the returned function is called. */
    const hold = (message: string) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gates.set(message, () => promise)
      return resolve
    }

    let sessions = 0
    const newSession = () => ({ user_id: 'ann', session_id: `s-${++sessions}` })
    const invoke = (agent: string, message: string, context: object, { headers, ...more }: Extra = {}) =>
      (more.node ?? service).call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message, context, ...more.body },
        ...(headers && { headers }),
      })
    type Extra = { headers?: NonNullable<CallOptions['headers']>; body?: object; node?: Service }
    const receipt = async (agent: string, id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${id}`)).body.data
    const receipts = async (agent: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations?sort=created_at&limit=100`)).body.data
    const isStored = (agent: string, count: number) =>
      until(`${count} runs`, async () => (await receipts(agent)).length === count)
    const ended = (agent: string, id: string) =>
      until('the end of the run', async () => {
        const found = await receipt(agent, id)
        return found.finished_at && found
      })
    const promptsOf = (first: string) =>
      model.prompts.filter((said) => said[0]?.startsWith(first)).map((said) => said.map((text) => text.split(' ')[0]))

    test('five messages in 50 ms, through different channels and nodes, get answers in order, each with the history before it', async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const { body: made } = await service.call('POST', `/v1/agents/${agent}/schedules`, {
        body: { every: '24h', message: 'E4', context },
      })
      const allStored = Promise.withResolvers<void>()
      gates.set('E1', () => allStored.promise)
      const idempotency = { 'Idempotency-Key': `five-${engine}` }
      const chat = { model: agent, messages: [{ role: 'user', content: 'E3' }], user: 'ann' }
      const openai = { ...chat, metadata: { session_id: context.session_id } }
      const replies = [invoke(agent, 'E1', context)]
      await isStored(agent, 1)
      for (const send of [
        () => invoke(agent, 'E2', context, { headers: IN_BACKGROUND, node: other }),
        () => other.call('POST', '/v1/chat/completions', { body: openai }),
        () => service.call('POST', `/v1/agents/${agent}/schedules/${made.data.id}/run`),
        () => invoke(agent, 'E5', context, { headers: idempotency }),
      ]) {
        replies.push(send())
        await delay(10)
      }
      await isStored(agent, 5)
      allStored.resolve()

      const answered = await Promise.all(replies)
      assert.deepEqual(
        answered.map(({ status }) => status),
        [200, 202, 200, 202, 200],
        answered.map(({ text }) => text).join('\n'),
      )
      assert.equal(answered[4]?.body.data.response, 'Re: E5')
      // In the order of arrival, which is the order of their IDs: each prompt has those before, and the message.
      const arrived: string[] = (await receipts(agent)).map(({ message }: Receipt) => message)
      assert.deepEqual(arrived.toSorted(), ['E1', 'E2', 'E3', 'E4', 'E5'])
      await until('the last is asked', () => promptsOf('E1').length === 5)
      assert.deepEqual(
        promptsOf('E1'),
        arrived.map((_, i) => arrived.slice(0, i + 1)),
      )
      await until('all have ended', async () =>
        (await receipts(agent)).every(({ finished_at }: Receipt) => finished_at),
      )
      const left = await sql`select id from runs where session_key is not null`.execute(storeOf(service))
      assert.deepEqual(left.rows, [])
    })

    test('simultaneous messages are answered one after the other', async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const nodes = [service, other, service, other, service]
      const asked = model.prompts.length
      const replies = await Promise.all(nodes.map((node, n) => invoke(agent, `M${n} 50 ms`, context, { node })))
      for (const { status, text } of replies) assert.equal(status, 200, text)
      const lengths = model.prompts.slice(asked).map(({ length }) => length)
      assert.deepEqual(lengths, [1, 2, 3, 4, 5])
    })

    test('a new message does not overtake waiting ones while the turn is passed on', async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const answer = hold('O1')
      const first = invoke(agent, 'O1', context)
      await isStored(agent, 1)
      const second = await invoke(agent, 'O2 10 ms', context, { headers: IN_BACKGROUND })
      // The turn is free, but neither node has been notified.
      await sql`update runs set session_key = null where message = 'O1'`.execute(storeOf(service))
      assert.equal((await invoke(agent, 'O3 10 ms', context, { node: other })).status, 200)
      const [, overtaken, last] = await receipts(agent)
      assert.equal(overtaken.request_id, second.body.data.request_id)
      assert.ok(overtaken.finished_at <= last.started_at, `${overtaken.finished_at} ${last.started_at}`)
      answer()
      assert.equal((await first).status, 200)
    })

    test('a run that was taken just as another one got in line is told that its turn is awaited', async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const answer = hold('held')
      const queue = async (message: string) =>
        (await invoke(agent, message, context, { headers: IN_BACKGROUND })).body.data.request_id as string
      const first = await queue('held')
      const session = await until('it runs', async () => (liveRun(service, first) ?? liveRun(other, first))?.session)
      await queue('next 10 ms')
      await until('it is told', async () => session.isAwaited)
      // As if the node had looked too early who was in line. Then nobody knew the holder's node yet.
      session.isAwaited = false
      const announced = performance.now()
      await inTransaction(service, (db) => announce(db, 'turns', session.key))
      await until('it is told again', async () => session.isAwaited)
      const took = performance.now() - announced
      assert.ok(took < 3_000, `${took} ms: it was told when the node looked for free turns`)
      answer()
      await until('both have ended', async () =>
        (await receipts(agent)).every(({ finished_at }: Invocation) => finished_at),
      )
    })

    test('`cancel`: one answer, four cancelled, and nothing is counted twice', async () => {
      const agent = await newAgent(service, { ...AGENT, sessions: { while_busy: 'cancel' } })
      const context = newSession()
      const replies: Promise<Reply>[] = []
      for (let n = 1; n <= 5; n++) {
        replies.push(invoke(agent, `C${n} ${n < 5 ? 9000 : 100} ms`, context, { node: n % 2 ? service : other }))
        await isStored(agent, n)
      }
      const answered = await Promise.all(replies)
      assert.deepEqual(
        answered.map(({ status }) => status),
        [409, 409, 409, 409, 200],
      )
      const { body } = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      const stored: Receipt[] = await receipts(agent)
      assert.deepEqual(
        stored.map(({ status }) => status),
        ['cancelled', 'cancelled', 'cancelled', 'cancelled', 'completed'],
      )
      assert.equal(
        body.data.totals.total_tokens,
        stored.reduce((sum, { tokens_used }) => sum + tokens_used, 0),
      )
      const asked = model.prompts.filter((said) => said.at(-1)?.startsWith('C')).map((said) => said.at(-1))
      assert.equal(new Set(asked).size, asked.length, `asked once: ${asked.join()}`)
    })

    test('`cancel`: a message for which there is no room cancels nothing', async () => {
      const fields = { sessions: { while_busy: 'cancel' }, limits: { max_concurrency: 1 } }
      const agent = await newAgent(service, { ...AGENT, ...fields })
      const release = hold('The only one')
      const only = invoke(agent, 'The only one', newSession())
      await isStored(agent, 1)
      const context = newSession()
      const queued = await invoke(agent, 'Waits', context, { headers: IN_BACKGROUND })
      assert.equal(queued.status, 202, queued.text)
      const refused = await invoke(agent, 'Too many', context, { node: other })
      assert.equal(refused.status, 429, refused.text)
      release()
      assert.equal((await only).status, 200)
      assert.equal((await ended(agent, queued.body.data.request_id)).status, 'completed')
    })

    test('`reject`: 409 session_busy with retry_after and no receipt, including for background runs', async () => {
      const agent = await newAgent(service, { ...AGENT, sessions: { while_busy: 'reject' } })
      const context = newSession()
      const answer = hold('R1')
      const first = invoke(agent, 'R1', context)
      await isStored(agent, 1)
      for (const [node, headers] of [
        [service, {}],
        [other, {}],
        [service, IN_BACKGROUND],
        [other, IN_BACKGROUND],
      ] as const) {
        const refused = await invoke(agent, 'R2', context, { node, headers })
        assert.equal(refused.status, 409, refused.text)
        assert.equal(refused.body.error.code, 'session_busy')
        assert.equal(refused.headers.get('retry-after'), '1')
      }
      answer()
      assert.equal((await first).status, 200)
      assert.equal((await invoke(agent, 'R3', context)).status, 200)
      assert.equal((await receipts(agent)).length, 2)
    })

    test('`parallel`, and runs without a session, do not wait', async () => {
      const parallel = await newAgent(service, { ...AGENT, sessions: { while_busy: 'parallel' } })
      const queue = await newAgent(service, AGENT)
      const context = newSession()
      for (const [agent, whose] of [
        [parallel, context],
        [queue, { user_id: 'ann' }],
      ] as const) {
        const asked = model.prompts.length
        const answers = ['P1', 'P2'].map(hold)
        const replies = [invoke(agent, 'P1', whose), invoke(agent, 'P2', whose)]
        await until('both are asked', () => model.prompts.length === asked + 2)
        for (const answer of answers) answer()
        for (const { status } of await Promise.all(replies)) assert.equal(status, 200)
      }
    })

    test('sessions do not wait for each other', async () => {
      const agent = await newAgent(service, AGENT)
      const COUNT = 120
      const contexts = Array.from({ length: COUNT }, newSession)
      // The second answers of all sessions start before one of them ends.
      let asked = 0
      gates.set('N2', () => {
        asked++
        if (asked === COUNT) gates.get('all asked')?.()
        return allAsked
      })
      const allAsked = new Promise<void>((resolve) => gates.set('all asked', resolve as () => Promise<void>))
      const both = (context: object) => [invoke(agent, 'N1 300 ms', context), invoke(agent, 'N2', context)]
      const replies = await Promise.all(contexts.flatMap(both))
      for (const { status, text } of replies) assert.equal(status, 200, text)
      assert.equal(asked, COUNT)
    })

    test('a stream reports the position while it waits; a client that disconnects leaves the queue', async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const answer = hold('T1')
      const first = invoke(agent, 'T1', context)
      await isStored(agent, 1)
      const stream = (message: string, signal?: AbortSignal) =>
        fetch(`${other.url}/v1/agents/${agent}/invoke`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${service.admin}`,
            'content-type': 'application/json',
            accept: 'text/event-stream',
          },
          body: JSON.stringify({ message, context }),
          ...(signal && { signal }),
        })
      const hangUp = new AbortController()
      const gone = stream('T2', hangUp.signal)
      await isStored(agent, 2)
      const told: string[] = []
      const heard = stream('T3').then(async (response) => {
        for await (const { event, data } of readEvents(response)) {
          told.push(event === 'queued' ? `queued ${(data as { position: number }).position}` : event)
        }
      })
      await isStored(agent, 3)
      const [, second, third] = await receipts(agent)
      const waits = await receipt(agent, third.request_id)
      assert.deepEqual([waits.status, waits.queue.reason, waits.queue.position], ['queued', 'session', 2])
      hangUp.abort()
      await gone.then(({ body }) => body?.cancel()).catch(() => {})
      assert.equal((await ended(agent, second.request_id)).status, 'cancelled')
      await until('it moves up', () => told.includes('queued 1'))
      answer()
      await heard
      assert.deepEqual(
        told.filter((event) => event !== 'delta'),
        ['start', 'queued 2', 'queued 1', 'done'],
      )
      assert.equal((await first).status, 200)
    })

    test("a synchronous client waits at most the run's timeout, and its receipt says so; a background run stays queued", async () => {
      const agent = await newAgent(service, AGENT)
      const context = newSession()
      const answer = hold('W1')
      const first = invoke(agent, 'W1', context)
      await isStored(agent, 1)
      await service.call('PATCH', `/v1/agents/${agent}`, { body: { limits: { timeout_ms: 1_000 } } })
      const queued = await invoke(agent, 'W2 10 ms', context, { headers: IN_BACKGROUND })
      const late = await invoke(agent, 'W3', context)
      assert.deepEqual([late.status, late.body.error.code], [409, 'session_busy'], late.text)
      const failed = (await receipts(agent)).find(({ message }: Receipt) => message === 'W3')
      assert.deepEqual([failed.status, failed.error.code], ['failed', 'session_busy'])
      answer()
      assert.equal((await first).status, 200)
      assert.equal((await ended(agent, queued.body.data.request_id)).status, 'completed')
    })

    test('a run that waits for a person passes its turn on, and resumes before runs that have not started', async () => {
      const tool = { type: 'ask_person' }
      const agent = await newAgent(service, { ...AGENT, tools: [tool], approvals: { self: true } })
      const context = newSession()
      const waiting = await invoke(agent, 'ask leave', context)
      assert.equal(waiting.status, 202, waiting.text)
      const { request_id, approvals } = waiting.body.data
      assert.equal((await invoke(agent, 'Q2 10 ms', context)).status, 200, 'its turn is free')

      const answer = hold('Q3')
      const third = invoke(agent, 'Q3', context)
      await isStored(agent, 3)
      const fourth = invoke(agent, 'Q4 10 ms', context)
      await isStored(agent, 4)
      const decision = { decision: 'approve', answer: 'granted' }
      const path = `/v1/agents/${agent}/invocations/${request_id}/approvals/${approvals[0].call_id}`
      assert.equal((await other.call('POST', path, { body: decision })).status, 200)
      answer()
      for (const reply of [third, fourth]) assert.equal((await reply).status, 200)
      const done = await ended(agent, request_id)
      assert.equal(done.status, 'completed', JSON.stringify(done.error))
      const last = (await receipts(agent)).find(({ message }: Receipt) => message.startsWith('Q4'))
      assert.ok(done.finished_at <= last.finished_at, 'it went on before the fourth')
    })

    test('a called agent waits for its turn, too', async () => {
      const context = newSession()
      const name = `callee-${engine}`
      const callee = await newAgent(service, { ...AGENT, name })
      const caller = await newAgent(service, { ...AGENT, tools: [{ type: 'agent', name: 'callee', agent: name }] })
      const answer = hold('B1')
      const busy = invoke(callee, 'B1', context)
      await isStored(callee, 1)
      const calling = invoke(caller, 'ask B2', context, { node: other })
      await isStored(callee, 2)
      answer()
      const called = await calling
      assert.equal(called.status, 200, called.text)
      assert.equal((await busy).status, 200)
      assert.deepEqual(promptsOf('B1'), [['B1'], ['B1', 'B2']])
    })

    test('agents that call each other or themselves in one session do not wait for their own callers', async () => {
      const context = newSession()
      const [left, right] = [`left-${engine}`, `right-${engine}`]
      const tool = { tools: [{ type: 'agent', name: 'next', agent: 'hello' }] }
      const ids = [
        await newAgent(service, { ...AGENT, name: left, ...tool }),
        await newAgent(service, { ...AGENT, name: right, ...tool }),
      ]
      // Clients can't create a loop, but renaming an agent can.
      const callInstead = (id: string | undefined, name: string) =>
        partsOf(service).storage.transaction(async (db) => {
          await sql`update agents set definition = replace(definition, '"hello"', ${`"${name}"`}) where id = ${id}`.execute(
            db,
          )
          await announce(db, 'agents', id)
        })
      await callInstead(ids[0], right)
      await callInstead(ids[1], left)
      const replies = await Promise.all([
        invoke(left, 'ask hello', context),
        invoke(right, 'ask hello', context, { node: other }),
      ])
      for (const { status, text } of replies) assert.equal(status, 200, text)
      await callInstead(ids[0], left)
      const own = await invoke(left, 'ask ask hello', context)
      assert.equal(own.status, 200, own.text)
    })

    test('an interactive run starts within a second despite many others, also when it gets the turn, and batch runs start after normal ones', async () => {
      const agent = await newAgent(service, AGENT)
      const queue = (message: string, priority?: string, context = {}) =>
        invoke(agent, message, context, { headers: IN_BACKGROUND, body: { ...(priority && { priority }) } })
      // More than both nodes have places for.
      const COUNT = 80
      const answer = hold('busy')
      await Promise.all(Array.from({ length: COUNT }, () => queue('busy', 'batch')))
      const batch = await queue('late 10 ms', 'batch')
      const normal = await queue('soon 10 ms')
      const sent = performance.now()
      const context = newSession()
      await queue('now 300 ms', 'interactive', context)
      const { body } = await queue('next 10 ms', 'interactive', context)
      await ended(agent, body.data.request_id)
      const took = performance.now() - sent
      assert.ok(took < 5_000, `${took} ms`)
      const waits = await receipt(agent, batch.body.data.request_id)
      assert.equal(waits.status, 'queued')
      assert.equal(waits.queue.reason, 'order')
      answer()
      const [early, late] = await Promise.all([normal, batch].map((reply) => ended(agent, reply.body.data.request_id)))
      assert.ok(early.started_at <= late.started_at)
    })

    test('with max_concurrency 1, an interactive run starts before older ones', async () => {
      const agent = await newAgent(service, { ...AGENT, limits: { max_concurrency: 1 } })
      const queue = async (message: string, priority: string) =>
        (await invoke(agent, message, {}, { headers: IN_BACKGROUND, body: { priority } })).body.data.request_id
      const answer = hold('L1')
      const first = await queue('L1', 'normal')
      await until('the first runs', async () => (await receipt(agent, first)).status === 'running')
      const [normal, interactive] = [await queue('L2 10 ms', 'normal'), await queue('L3 10 ms', 'interactive')]
      const waits = await receipt(agent, normal)
      assert.deepEqual([waits.queue.reason, waits.queue.position], ['limit', 2])
      answer()
      const [late, early] = [await ended(agent, normal), await ended(agent, interactive)]
      assert.ok(early.finished_at <= late.started_at, `${early.finished_at} ${late.started_at}`)
    })

    test('a run in a free session needs no additional commit or row', async () => {
      const agent = await newAgent(service, { model: 'builtin/echo' })
      const { journal } = partsOf(service)
      const { commit } = journal
      const writes: number[] = []
      journal.commit = (entry) => {
        if (entry.writes.some(({ row }) => row.message === 'free')) writes.push(entry.writes.length)
        return commit(entry)
      }
      try {
        await invoke(agent, 'free', { session_id: 'free' })
        assert.equal(writes.length, 2)
        const withTurn = writes.splice(0)
        await service.call('PATCH', `/v1/agents/${agent}`, { body: { sessions: { while_busy: 'parallel' } } })
        await invoke(agent, 'free', { session_id: 'free' })
        assert.deepEqual(withTurn, writes)
      } finally {
        journal.commit = commit
      }
    })

    test('`priority` is only allowed for background runs', async () => {
      const agent = await newAgent(service, AGENT)
      const { status, body } = await invoke(agent, 'hello', {}, { body: { priority: 'batch' } })
      assert.deepEqual([status, body.error.details[0].field], [400, 'priority'])
    })
  })
}

test('waiting makes up for a lower priority', () => {
  const at = (minutes: number) => ({ created_at: minutes * 60_000 }) as Invocation
  assert.ok(rankOf(at(0), 'batch') < rankOf(at(16), 'normal'))
  assert.ok(rankOf(at(0), 'normal') < rankOf(at(16), 'interactive'))
  assert.ok(rankOf(at(0), 'batch') > rankOf(at(29), 'interactive'))
  assert.ok(rankOf(at(1), 'normal') > rankOf(at(0), 'normal'))
})

// The shape is the test's to assert.
// oxlint-disable-next-line typescript/no-explicit-any
type Receipt = any
