import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { createLog } from '../../src/lib/log.ts'
import { LiveRuns } from '../../src/runtime/following/live-runs.ts'
import type { NodeWire } from '../../src/runtime/following/node-message.ts'
import { RemoteRuns } from '../../src/runtime/following/remote-runs.ts'
import { readEvents, type SseEvent } from '../support/clients/sse.ts'
import { liveRun, partsOf, storageOf, wireOf } from '../support/inside.ts'
import { type SpeakingModel, startSpeakingModel } from '../support/outside/speaking-model.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { type Reply, type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const LONG = 'ö🚢 '.repeat(3_000)

/** Polling stops until the test lets time pass: anything received before that was pushed. */
function stopClock(t: TestContext) {
  let passed = 0
  const clock = performance.now.bind(performance)
  t.mock.timers.enable({ apis: ['setInterval'] })
  t.mock.method(performance, 'now', () => clock() + passed)
  return {
    pass(ms: number) {
      passed += ms
      t.mock.timers.tick(ms)
    },
  }
}

/** Reads a stream: `heard` grows until it has `ended`. */
function hear(response: Response) {
  const heard: SseEvent[] = []
  const read = async () => {
    for await (const event of readEvents(response)) heard.push(event)
  }
  return { heard, ended: read() }
}

describe('a run of another node', () => {
  let here: Service
  let there: Service
  let model: SpeakingModel
  /** Sends a piece of the answer; without one the answer ends. */
  let say: (text?: string) => void

  before(async () => {
    model = await startSpeakingModel()
    here = await startService('postgres', localProvider(model.url))
    there = await here.beside()
    const { status, text } = await here.call('POST', '/v1/agents', { body: { name: 'teller', model: 'local/tiny' } })
    assert.equal(status, 201, text)
  })
  after(async () => {
    await there.stop()
    await here.stop()
    await model.close()
  })

  const begin = async () => {
    const headers = { Prefer: 'respond-async' }
    const { body } = await here.call('POST', '/v1/agents/teller/invoke', { body: { message: 'go' }, headers })
    const speech = await model.next()
    say = (text) => (text === undefined ? speech.finish() : speech.say(text))
    const { request_id } = body.data
    const [runner, follower] = liveRun(here, request_id) ? [here, there] : [there, here]
    return { request_id, runner, follower, path: `/v1/agents/teller/invocations/${request_id}/stream` }
  }
  const open = ({ url, admin }: Service, path: string, headers: Record<string, string> = {}) =>
    fetch(url + path, { headers: { Authorization: `Bearer ${admin}`, ...headers } })

  test('is followed: each chunk as it is sent, also long ones, and the end', async (t) => {
    const { path, runner, follower } = await begin()
    const clock = stopClock(t)
    const { heard, ended } = hear(await open(follower, path))
    const hears = async (text: string) => {
      say(text)
      await until(`it hears ${text.slice(0, 10)}`, () => (heard.at(-1)?.data as { text?: string })?.text === text)
    }
    await hears('Once ')
    await hears('upon ')
    await hears(LONG)
    // This is longer than the other node assumes that it is followed, unless it is told so again.
    const repeated: string[] = []
    wireOf(runner)?.onMessage((message) => message.includes('"follow"') && repeated.push(message))
    for (let said = 1; said <= 4; said++) {
      clock.pass(5_000)
      await until('the other node is told so', () => repeated.length === said)
    }
    clock.pass(4_900)
    await hears('a time')
    say()
    await until('it hears the end', () => heard.at(-1)?.event === 'done')
    await ended
    assert.deepEqual(
      heard.map(({ event }) => event),
      ['start', 'delta', 'delta', 'delta', 'delta', 'done'],
    )
  })

  test('is followed from its first word by clients that connected before it began', async (t) => {
    await here.call('POST', '/v1/agents', {
      body: { name: 'single', model: 'local/tiny', limits: { max_concurrency: 1 } },
    })
    const queue = async (message: string): Promise<string> => {
      const headers = { Prefer: 'respond-async' }
      const { body } = await here.call('POST', '/v1/agents/single/invoke', { body: { message }, headers })
      return `/v1/agents/single/invocations/${body.data.request_id}/stream`
    }
    await queue('first')
    const first = await model.next()
    const path = await queue('second')
    stopClock(t)
    // One of them is on the node that will run it.
    const clients = [hear(await open(here, path)), hear(await open(there, path))]
    const all = (event: string) =>
      until(`all hear ${event}`, () => clients.every(({ heard }) => heard.at(-1)?.event === event))
    first.finish()
    const second = await model.next()
    await all('start')
    second.say('Now')
    await all('delta')
    second.finish()
    await all('done')
    await Promise.all(clients.map(({ ended }) => ended))
  })

  test('is followed from where a client was, and costs no query for each follower', async () => {
    const { path, follower } = await begin()
    say('Once ')
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => open(follower, path, { 'Last-Event-ID': '1.5.0' })),
    )
    say('upon')
    const reading = responses.map(async (response) => {
      const told: unknown[] = []
      for await (const { event, data } of readEvents(response)) {
        told.push([event, (data as { text?: string }).text])
        if (event === 'delta') say()
      }
      return told
    })
    for (const told of await Promise.all(reading)) {
      assert.deepEqual(told, [
        ['delta', 'upon'],
        ['done', undefined],
      ])
    }
  })

  test('continues here when its node has died and this one has taken the run over', async () => {
    const { path, follower, request_id } = await begin()
    const storage = storageOf(follower)
    const { live } = partsOf(follower)
    const agents = storage.db.selectFrom('agents').select('id').where('name', '=', 'teller')
    const agent = await agents.executeTakeFirstOrThrow()
    say('Once ')
    const heard: string[] = []
    const events = readEvents(await open(follower, path))
    const next = async () => heard.push((await events.next()).value?.event ?? 'nothing')
    await next()
    await next()
    const run = live.start(request_id, agent.id)
    run.begin({ attempt: 2, milestones: [], user_id: undefined, created_by: 'key_1' })
    await Promise.race([next(), delay(5_000 * PATIENCE, undefined, { ref: false })])
    run.end()
    say()
    assert.deepEqual(heard, ['start', 'delta', 'restart'])
  })

  test('has the status cancelled only once it has really stopped, not when its node is notified', async () => {
    const { request_id, runner, follower } = await begin()
    const storage = storageOf(runner)
    const { live } = partsOf(runner)
    const askedAt = async () => {
      const asked = storage.db.selectFrom('runs').select('cancel_requested_at').where('id', '=', request_id)
      return (await asked.executeTakeFirst())?.cancel_requested_at
    }
    const replies: Reply[] = []
    const cancel = async () => {
      replies.push(await follower.call('POST', `/v1/agents/teller/invocations/${request_id}/cancel`))
    }
    let cancelling: Promise<void> | undefined
    await storage.transaction(async (db) => {
      // The run can't end, because its log can't be written.
      await sql`lock table logs in share mode`.execute(db)
      cancelling = cancel()
      const first = await until('its node is asked to cancel it', askedAt)
      await until('it is asked again', async () => replies.length > 0 || (await askedAt()) !== first)
      await until('its node stops it', () => live.find(request_id)?.cancellation.cancelled)
      assert.deepEqual(replies, [])
    })
    await cancelling
    assert.deepEqual([replies[0]?.status, replies[0]?.body.data.status], [200, 'cancelled'])
    await until('its node has left it', () => !live.find(request_id))
  })
})

describe("nodes that follow each other's runs", () => {
  test('send everything once, and after that only what is new or was lost', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    let passed = 0
    const clock = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => clock() + passed)
    const listeners: ((message: string) => void)[] = []
    const sent: string[] = []
    let isCut = false
    const wire: NodeWire = {
      onMessage: (listener) => listeners.push(listener),
      async publish(message) {
        sent.push(JSON.parse(message).kind)
        if (!isCut) for (const listener of listeners) listener(message)
      },
    }
    const log = createLog({ level: 'silent', format: 'json' })
    const nodeOf = (node: string, live: LiveRuns) =>
      new RemoteRuns({ node, live, wire, findEnded: async () => [], log })
    const live = new LiveRuns()
    nodeOf('speaks', live)
    const follower = nodeOf('follows', new LiveRuns())
    const follows = async () => {
      const count = sent.length
      passed += 5_000
      t.mock.timers.tick(5_000)
      await until('it says again what it follows', async () => sent.slice(count).includes('follow'))
    }

    const run = live.start('req_1', 'agt_1')
    run.begin({ attempt: 1, milestones: [], user_id: undefined, created_by: 'key_1' })
    run.record({ type: 'delta', text: 'Once ' })
    const watch = follower.watch('req_1')
    await until('the first words are there', async () => watch.copy()?.told.characters === 5)
    let told = ''
    watch.copy()?.follow({ characters: 0, tools: 0 }, ({ data }) => {
      told += (data as { text?: string }).text ?? ''
    })
    run.record({ type: 'delta', text: 'upon ' })
    await until('the next words are there', async () => told === 'Once upon ')
    // Another client of the same node comes and goes. The first one hears what follows all the same.
    follower.watch('req_1').close()
    await follows()
    await follows()
    assert.deepEqual(sent, ['follow', 'all', 'more', 'follow', 'follow'])

    isCut = true
    run.record({ type: 'delta', text: 'a time' })
    await until('the last words are lost', async () => sent.length === 6)
    isCut = false
    // The words might still be in transit when the node repeats what it follows. Then they count as lost.
    await follows()
    await follows()
    await until('the last words are there', async () => told === 'Once upon a time')
    await follows()
    assert.deepEqual(sent.slice(6), ['follow', 'follow', 'all', 'follow'])

    isCut = true
    run.record({ type: 'tool_call', id: 'call_1', name: 'tide', arguments: {} })
    await until('the call of a tool is lost', async () => sent.length === 11)
    isCut = false
    await follows()
    await follows()
    await until('the call is there', async () => watch.copy()?.told.tools === 1)
    assert.equal(told, 'Once upon a time')
    watch.close()
    follower.close()
  })
})
