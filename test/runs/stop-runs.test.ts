import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { allEvents } from '../support/clients/sse.ts'
import { liveRuns, partsOf, stopApp } from '../support/inside.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import {
  betweenNodes,
  type Engine,
  MANY_NODES,
  type Reply,
  type Service,
  type Settings,
  withService,
} from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent } from '../support/slices/resources.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'

const SOON = { MOORAGE_SERVER__DRAIN_TIMEOUT: '200ms' }
const IN_BACKGROUND = { Prefer: 'respond-async' }

type ReceiptStepTold = { kind: string; attempt: number; reason?: string; usage: { total_tokens: number } }

type Invoke = (message: string, headers?: Record<string, string>) => Promise<Reply>

/** A service with an agent that would answer in a minute. */
function withSlowAgent(
  engine: Engine,
  story: (service: Service, invoke: Invoke) => Promise<void>,
  settings: Settings = {},
) {
  const begin = async (service: Service) => {
    const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
    await createAgent(service, 'slow', { model: 'builtin/script', script })
    await story(service, invokes(service))
  }
  return withService(engine, begin, settings)
}

/** A service whose agent has asked its model and waits for the answer, as it does in `run`. */
async function withHeldAgent(
  engine: Engine,
  run: { headers: Record<string, string> },
  story: (service: Service, invoke: Invoke, begun: { reply: Promise<Reply>; answer(): void }) => Promise<void>,
) {
  const { service, model, stop } = await startWithModel(engine, { MOORAGE_SERVER__DRAIN_TIMEOUT: '60s' })
  try {
    await createAgent(service, 'slow', { model: 'local/test' })
    const { promise, resolve } = Promise.withResolvers<void>()
    model.holdNext(promise)
    const reply = invokes(service)('late', run.headers)
    await until('the model is asked', () => model.requests.length === 1)
    await story(service, invokes(service), { reply, answer: resolve })
  } finally {
    await stop()
  }
}

const invokes =
  (service: Service): Invoke =>
  (message, headers = {}) =>
    service.call('POST', '/v1/agents/slow/invoke', { body: { message }, headers })

const runs = (service: Service, count: number) => until(`${count} run`, () => liveRuns(service).length === count)

/** After these replies, everything that was sent before has arrived. */
async function arrived(service: Service): Promise<void> {
  for (let i = 0; i < 3; i++) await service.call('GET', '/v1/agents')
}

for (const engine of MANY_NODES) {
  describe(`runs that are ended by stopping the service, on ${engine}`, () => {
    test('503 for a run that takes longer than the drain timeout, and its receipt says why', () =>
      withSlowAgent(
        engine,
        async (service, invoke) => {
          const running = invoke('endless')
          await runs(service, 1)
          const started = performance.now()
          await service.restart()
          assert.ok(performance.now() - started < 15_000 * PATIENCE, 'it waited for the run')
          assertUnavailable(await running)
          const { body } = await service.call('GET', '/v1/agents/slow/invocations')
          const { status, error } = body.data[0]
          assert.deepEqual([status, error.code], ['cancelled', 'unavailable'])
        },
        SOON,
      ))

    test('503 for a retry that waits for such a run, without starting a new run', () =>
      withSlowAgent(
        engine,
        async (service, invoke) => {
          const headers = { 'Idempotency-Key': 'once' }
          const first = invoke('endless', headers)
          await runs(service, 1)
          const retries = [invoke('endless', headers), invoke('endless', headers)]
          await arrived(service)
          await service.restart()
          assertUnavailable(await first)
          for (const retry of retries) assertUnavailable(await retry)
          const { body } = await service.call('GET', '/v1/agents/slow/invocations')
          assert.equal(body.pagination.total, 1)
        },
        SOON,
      ))

    test('a retry that waits for a run that ends in time gets its answer', () => {
      const headers = { 'Idempotency-Key': 'once' }
      return withHeldAgent(engine, { headers }, async (service, invoke, { reply, answer }) => {
        const retry = invoke('late', headers)
        await arrived(service)
        const stopped = stopApp(service)
        answer()
        await stopped
        assert.deepEqual([(await reply).status, (await reply).text], [200, (await retry).text])
        assert.equal((await retry).headers.get('idempotent-replayed'), 'true')
      })
    })

    betweenNodes(engine)('a background run continues immediately on another node', () =>
      withHeldAgent(engine, { headers: IN_BACKGROUND }, async (service, _invoke, { reply }) => {
        const { body } = await reply
        const other = await service.beside()
        try {
          await stopApp(service)
          const path = `/v1/agents/slow/invocations/${body.data.request_id}`
          const isDone = async () => (await other.call('GET', path)).body.data.status === 'completed'
          await until('it has completed', isDone)
        } finally {
          await other.stop()
        }
      }),
    )

    test('the receipt of a run that continues includes the usage of the interrupted call, as the usage records do', () =>
      withHeldAgent(engine, { headers: IN_BACKGROUND }, async (service, _invoke, { reply }) => {
        const { body } = await reply
        await service.restart()
        const path = `/v1/agents/slow/invocations/${body.data.request_id}`
        const receipt = await until('it has completed', async () => {
          const { data } = (await service.call('GET', path)).body
          return data.status === 'completed' && data
        })
        const all = await service.call('GET', `/v1/usage?request_id=${body.data.request_id}`)
        const { calls, input_tokens, output_tokens } = all.body.data.totals
        const steps = receipt.steps.map(({ kind, attempt, reason, usage }: ReceiptStepTold) => {
          return [kind, attempt, reason, usage.total_tokens > 0]
        })
        const interrupted = ['wait', 1, 'The service stopped', true]
        assert.deepEqual(steps, [interrupted, ['model', 2, undefined, true]])
        assert.deepEqual([calls, input_tokens + output_tokens], [2, receipt.tokens_used])
      }))

    test('clients that follow a background run are told to reconnect immediately; the run continues later', () =>
      withHeldAgent(engine, { headers: IN_BACKGROUND }, async (service, _invoke, { reply }) => {
        const { body } = await reply
        const path = `/v1/agents/slow/invocations/${body.data.request_id}`
        const headers = { Authorization: `Bearer ${service.admin}` }
        const following = await fetch(`${service.url}${path}/stream`, { headers })
        const started = performance.now()
        await service.restart()
        assert.ok(performance.now() - started < 15_000 * PATIENCE, 'the time to drain is over')
        const heard = await following.text()
        const { error } = lastEvent(heard, 'error')
        const message = 'The service is shutting down. Follow the invocation again.'
        assert.deepEqual(error, { code: 'unavailable', message, retry_after: 1 })
        await until('it has completed', async () => (await service.call('GET', path)).body.data.status === 'completed')
        // A client that continues from the last event ID gets the rest of the answer.
        const last = [...heard.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? ''
        const again = { ...headers, 'Last-Event-ID': last }
        const events = await allEvents(await fetch(`${service.url}${path}/stream`, { headers: again }))
        const said = events.filter(({ event }) => event === 'delta').map(({ data }) => (data as { text: string }).text)
        assert.equal(said.join(''), (await service.call('GET', path)).body.data.response)
      }))
  })
}

// No query decides these.
describe('an endless run', () => {
  test('ends its stream with the same error', () =>
    withSlowAgent(
      'sqlite',
      async (service, invoke) => {
        const streaming = invoke('endless', { Accept: 'text/event-stream' })
        await runs(service, 1)
        await stopApp(service)
        const { error } = lastEvent((await streaming).text, 'error')
        assert.deepEqual([error.code, error.retry_after], ['unavailable', 1])
      },
      SOON,
    ))

  test('still gets 409 if a client cancels it', () =>
    withSlowAgent('sqlite', async (service, invoke) => {
      const running = invoke('endless')
      const run = await until('the run is listed', async () => {
        const { body } = await service.call('GET', '/v1/agents/slow/invocations')
        return body.data[0]
      })
      const cancelled = await service.call('POST', `/v1/agents/slow/invocations/${run.request_id}/cancel`)
      assert.equal(cancelled.status, 200, cancelled.text)
      const { status, body } = await running
      assert.deepEqual([status, body.error.code], [409, 'conflict'])
    }))
})

describe('a run that was only taken when the service stopped', () => {
  test('has not begun: it begins with the next service', () =>
    withService('postgres', async (service) => {
      await createAgent(service, 'slow', { limits: { max_concurrency: 1 } })
      const parts = partsOf(service)
      const held = new Client({ connectionString: parts.config.database.url })
      await held.connect()
      try {
        // A node that takes a run of this agent waits for the agent's row.
        await held.query('begin')
        await held.query('select 1 from agents for no key update')
        const { body } = await invokes(service)('later', IN_BACKGROUND)
        await until('the run is being taken', () => lockWaiters(held, 'waiting as materialized'))
        const restarting = service.restart()
        await until('the service is stopping', () => parts.stopping.aborted)
        const stopped = parts.now()
        await held.query('rollback')
        await restarting
        const receipt = await until('its end', async () => {
          const found = await service.call('GET', `/v1/agents/slow/invocations/${body.data.request_id}`)
          return found.body.data.status === 'completed' && found.body.data
        })
        assert.equal(receipt.attempts.length, 1)
        assert.ok(Date.parse(receipt.started_at) >= stopped, receipt.started_at)
      } finally {
        await held.end()
      }
    }))
})

function assertUnavailable({ status, headers, body, text }: Reply): void {
  const { code, retry_after } = body.error
  assert.deepEqual([status, code, retry_after, headers.get('retry-after')], [503, 'unavailable', 1, '1'], text)
}

/** What the last event of a stream carries; it must be of this kind. */
function lastEvent(text: string, kind: string) {
  const [, event, json = 'null'] = /event: (\w+)\ndata: (.*)\n\n$/.exec(text) ?? []
  assert.equal(event, kind, text)
  return JSON.parse(json)
}
