import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { allEvents, readEvents } from '../support/clients/sse.ts'
import { liveRun, liveRuns } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'

const SLOW = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }

async function deploy(service: Service, agent: string, version: string, environment = 'production') {
  const { status } = await service.call('POST', `/v1/agents/${agent}/deployments`, { body: { environment, version } })
  assert.equal(status, 201)
}

function stream(
  service: Service,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(service.url + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      Authorization: `Bearer ${service.admin}`,
      Accept: 'text/event-stream',
      ...(body && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** A background run of an agent that will not answer soon, once it is really running. */
async function startSlowRun(service: Service): Promise<{ agent: string; request_id: string }> {
  const agent = await newAgent(service, SLOW)
  const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
    body: { message: 'hi' },
    headers: { Prefer: 'respond-async' },
  })
  const { request_id } = body.data
  await until('the run', async () => (await receipt(service, agent, request_id)).status === 'running')
  return { agent, request_id }
}

async function receipt(service: Service, agent: string, request_id: string) {
  const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
  return body.data
}

onAnyEngine(
  'invocations',
  (service) => {
    describe('POST /v1/agents/{agent_id}/invoke', () => {
      test('200 with the four fields, and a receipt with the rest', async () => {
        const { status, headers, body } = await service().call('POST', '/v1/agents/hello/invoke', {
          body: { message: 'Ahoy', context: { user_id: 'u1', session_id: 's1', channel: 'web' } },
        })
        assert.equal(status, 200)
        const { request_id, duration_ms, ...rest } = body.data
        assert.deepEqual(rest, { response: 'Ahoy', tokens_used: rest.tokens_used })
        assert.ok(rest.tokens_used > 0)
        assert.ok(Number.isInteger(duration_ms))
        assert.equal(headers.get('x-request-id'), request_id)

        const { created_at, started_at, finished_at, created_by, created_by_name, agent_id, usage, steps, ...found } =
          await receipt(service(), 'hello', request_id)
        const [{ started_at: asked_at, finished_at: answered_at, duration_ms: step_ms, ...step }] = steps
        assert.deepEqual(
          [step, steps.length],
          [{ kind: 'model', attempt: 1, model: 'builtin/echo', usage, cost_usd: 0, characters: 4 }, 1],
        )
        assert.ok(started_at <= asked_at && asked_at <= answered_at && answered_at <= finished_at)
        assert.equal(step_ms, Date.parse(answered_at) - Date.parse(asked_at))
        assert.match(agent_id, /^agt_/)
        assert.match(created_by, /^key_/)
        assert.equal(created_by_name, 'first admin key')
        assert.ok(created_at <= started_at && started_at <= finished_at)
        assert.equal(usage.input_tokens + usage.output_tokens, usage.total_tokens)
        assert.deepEqual(found, {
          request_id,
          status: 'completed',
          door: 'api',
          background: false,
          environment: 'production',
          version: null,
          deployment_id: null,
          message: 'Ahoy',
          context: { user_id: 'u1', session_id: 's1', channel: 'web' },
          response: 'Ahoy',
          calls: [],
          error: null,
          model: 'builtin/echo',
          tokens_used: rest.tokens_used,
          cost_usd: 0,
          attempts: [{ number: 1, began_at: started_at, after: 'start' }],
          duration_ms,
          schedule_id: null,
          scheduled_at: null,
          parent_request_id: null,
          attachments: [],
          erased_at: null,
        })
      })

      test('400 if the message is missing', async () => {
        const { status, body } = await service().call('POST', '/v1/agents/hello/invoke', { body: {} })
        assert.equal(status, 400)
        assert.deepEqual(fieldsOf(body), ['message'])
      })

      test('its receipt, logs, metrics and memories exist as soon as the reply is sent', async () => {
        const agent = await newAgent(service())
        const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message: 'remember the lighthouse', context: { user_id: 'ada' } },
        })
        const { request_id } = body.data
        const logs = await service().call('GET', `/v1/agents/${agent}/logs`)
        assert.deepEqual(
          logs.body.data.map(
            ({ level, message, metadata }: { level: string; message: string; metadata: { request_id: string } }) => [
              level,
              message,
              metadata.request_id,
            ],
          ),
          [['info', 'Invocation completed', request_id]],
        )
        const metrics = await service().call('GET', `/v1/agents/${agent}/metrics?metric=throughput&granularity=1m`)
        const counted = metrics.body.data.values.reduce((sum: number, { value }: { value: number }) => sum + value, 0)
        assert.equal(counted, 1)
        const memory = await service().call('POST', `/v1/agents/${agent}/memory/search`, {
          body: { query: 'lighthouse' },
        })
        assert.ok(memory.body.data.length > 0, memory.text)
        const list = await service().call('GET', `/v1/agents/${agent}/invocations`)
        assert.deepEqual(
          list.body.data.map((row: { request_id: string }) => row.request_id),
          [request_id],
        )
      })

      test('500 for a failing agent, with the reason in the receipt and the log', async () => {
        const agent = await newAgent(service(), {
          model: 'builtin/script',
          script: { rules: [{ fail: 'no coal left' }] },
        })
        const { status, body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        assert.equal(status, 500)
        assert.equal(body.error.code, 'server_error')
        const found = await receipt(service(), agent, body.request_id)
        assert.equal(found.status, 'failed')
        assert.match(found.error.message, /no coal left/)
        const logs = await service().call('GET', `/v1/agents/${agent}/logs?level=error`)
        assert.match(logs.body.data[0].message, /no coal left/)
        const metrics = await service().call('GET', `/v1/agents/${agent}/metrics?metric=error_rate&granularity=1m`)
        assert.deepEqual(metrics.body.data.values.map(({ value }: { value: number }) => value).filter(Boolean), [100])
      })

      test('504 if the agent takes too long', async () => {
        const agent = await newAgent(service(), { ...SLOW, limits: { timeout_ms: 1000 } })
        const { status, body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        assert.equal(status, 504)
        assert.equal(body.error.code, 'timeout')
        assert.equal((await receipt(service(), agent, body.request_id)).status, 'failed')
      })

      test('409 while the agent is paused; pausing cancels active runs', async () => {
        const { agent, request_id } = await startSlowRun(service())
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
        await until(
          'the cancelled run',
          async () => (await receipt(service(), agent, request_id)).status === 'cancelled',
        )
        const { status, body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        assert.equal(status, 409)
        assert.equal(body.error.code, 'agent_paused')
      })

      test('429 above max_concurrency', async (t) => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), { ...held.agent, limits: { max_concurrency: 1 } })
        const invoke = () => service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
        const first = invoke()
        await until('it runs', () => held.count() === 1)
        const { status, body, headers } = await invoke()
        assert.deepEqual([status, body.error.code], [429, 'rate_limited'])
        assert.equal(String(body.error.retry_after), headers.get('retry-after'))
        held.release()
        assert.equal((await first).status, 200)
      })

      test('of simultaneous requests, exactly max_concurrency run', async (t) => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), { ...held.agent, limits: { max_concurrency: 2 } })
        let refused = 0
        const invoke = async () => {
          const { status } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
          if (status === 429) refused += 1
          return status
        }
        const replies = Array.from({ length: 6 }, invoke)
        await until('four to be turned away', () => refused === 4)
        held.release()
        assert.deepEqual((await Promise.all(replies)).toSorted(), [200, 200, 429, 429, 429, 429])
      })

      test('a client that disconnects cancels its run; with an Idempotency-Key, the run continues', async (t) => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), held.agent)
        let begun = 0
        const invoke = async (headers: Record<string, string>) => {
          const hangUp = new AbortController()
          const reply = fetch(`${service().url}/v1/agents/${agent}/invoke`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${service().admin}`, 'Content-Type': 'application/json', ...headers },
            body: '{"message":"go"}',
            signal: hangUp.signal,
          })
          begun += 1
          await until('the run', () => held.count() === begun)
          hangUp.abort()
          await assert.rejects(reply)
          if (begun === 2) held.release()
          await until('its end', async () => liveRuns(service(), agent).length === 0)
          const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?limit=1`)
          return body.data[0].status
        }
        assert.equal(await invoke({}), 'cancelled')
        assert.equal(await invoke({ 'Idempotency-Key': randomUUID() }), 'completed')
      })

      test('50 simultaneous requests with one Idempotency-Key run the agent once and get the same body', async () => {
        const agent = await newAgent(service(), {
          model: 'builtin/script',
          script: { rules: [{ reply: 'once', delay_ms: 100 }] },
        })
        const headers = { 'Idempotency-Key': randomUUID() }
        const replies = await Promise.all(
          Array.from({ length: 50 }, () =>
            service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers }),
          ),
        )
        assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
        assert.equal(new Set(replies.map(({ text }) => text)).size, 1)
        assert.equal(replies.filter(({ headers: sent }) => sent.get('idempotent-replayed') === 'true').length, 49)
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations`)
        assert.equal(body.pagination.total, 1)
        const metrics = await service().call('GET', `/v1/agents/${agent}/metrics?metric=throughput&granularity=1m`)
        assert.equal(
          metrics.body.data.values.reduce((sum: number, { value }: { value: number }) => sum + value, 0),
          1,
        )
      })
    })

    describe('versions', () => {
      test('a deployed environment serves its version, however the draft changes', async () => {
        const say = (reply: string) => ({ model: 'builtin/script', script: { rules: [], fallback: reply } })
        const agent = await newAgent(service(), say('one'))
        await deploy(service(), agent, 'v1')
        await service().call('PATCH', `/v1/agents/${agent}`, { body: say('two') })
        const ask = async (environment: string) => {
          const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
            body: { message: 'hi', environment },
          })
          const { version } = await receipt(service(), agent, body.data.request_id)
          return [body.data.response, version]
        }
        assert.deepEqual(await ask('production'), ['one', 'v1'])
        assert.deepEqual(await ask('staging'), ['two', null])
        await deploy(service(), agent, 'v2')
        assert.deepEqual(await ask('production'), ['two', 'v2'])
      })

      test('during a burst with a rollback every receipt names the version that really answered', async () => {
        const say = (reply: string) => ({ model: 'builtin/script', script: { rules: [], fallback: reply } })
        const agent = await newAgent(service(), say('v1'))
        await deploy(service(), agent, 'v1')
        await service().call('PATCH', `/v1/agents/${agent}`, { body: say('v2') })
        const { body } = await service().call('POST', `/v1/agents/${agent}/deployments`, {
          body: { environment: 'production', version: 'v2' },
        })
        const burst = Array.from({ length: 60 }, (_, i) =>
          i === 30
            ? service().call('POST', `/v1/agents/${agent}/deployments/${body.data.id}/rollback`)
            : service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hi' } }),
        )
        const replies = (await Promise.all(burst)).filter((_, i) => i !== 30)
        const { body: list } = await service().call('GET', `/v1/agents/${agent}/invocations?limit=100`)
        const versions = new Map(
          list.data.map((row: { request_id: string; version: string }) => [row.request_id, row.version]),
        )
        for (const { body: reply } of replies) assert.equal(versions.get(reply.data.request_id), reply.data.response)
        const after = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hi' } })
        assert.equal(after.body.data.response, 'v1')
      })
    })

    describe('Accept: text/event-stream', () => {
      test('start, deltas that join to the response, done with the body of a plain reply', async () => {
        const response = await stream(service(), '/v1/agents/hello/invoke', { message: 'one two three' })
        assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
        const events = await allEvents(response)
        const request_id = response.headers.get('x-request-id')
        assert.deepEqual(events[0], { id: '1.0.0', event: 'start', data: { request_id } })
        const deltas = events.filter(({ event }) => event === 'delta')
        assert.ok(deltas.length > 0)
        assert.equal(deltas.map(({ data }) => (data as { text: string }).text).join(''), 'one two three')
        const done = events.at(-1) as { event: string; data: { success: boolean; data: { response: string } } }
        assert.equal(done.event, 'done')
        assert.equal(done.data.success, true)
        assert.equal(done.data.data.response, 'one two three')
      })

      test('an error before the stream is a plain reply, one within it an event', async () => {
        const refused = await stream(service(), '/v1/agents/hello/invoke', { message: '' })
        assert.equal(refused.status, 400)
        await refused.text()
        const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ fail: 'broken' }] } })
        const events = await allEvents(await stream(service(), `/v1/agents/${agent}/invoke`, { message: 'go' }))
        const last = events.at(-1) as { event: string; data: { success: boolean; error: { code: string } } }
        assert.equal(last.event, 'error')
        assert.equal(last.data.error.code, 'server_error')
      })

      test('a repeated request streams the stored answer', async () => {
        const headers = { 'Idempotency-Key': randomUUID() }
        const first = await allEvents(await stream(service(), '/v1/agents/hello/invoke', { message: 'a b' }, headers))
        const again = await allEvents(await stream(service(), '/v1/agents/hello/invoke', { message: 'a b' }, headers))
        assert.deepEqual(again.at(-1), first.at(-1))
        assert.deepEqual(
          again.map(({ event }) => event),
          ['start', 'delta', 'done'],
        )
      })

      test('GET …/stream takes up after any event, while it runs and afterwards', async () => {
        const agent = await newAgent(service(), {
          model: 'builtin/script',
          script: { rules: [{ reply: 'a b c d', delay_ms: 300 }] },
        })
        const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message: 'go' },
          headers: { Prefer: 'respond-async' },
        })
        const path = `/v1/agents/${agent}/invocations/${body.data.request_id}/stream`
        const live = await allEvents(await stream(service(), path))
        const textOf = (events: { event: string; data: unknown }[]) =>
          events.filter(({ event }) => event === 'delta').map(({ data }) => (data as { text: string }).text)
        assert.equal(textOf(live).join(''), 'a b c d')
        assert.equal(live.at(-1)?.event, 'done')
        for (const [index, { id, event }] of live.entries()) {
          if (event !== 'delta') continue
          const rest = await allEvents(await stream(service(), path, undefined, { 'Last-Event-ID': id }))
          const already = textOf(live.slice(0, index + 1)).join('')
          assert.equal(already + textOf(rest).join(''), 'a b c d')
          assert.equal(
            rest.some(({ event: name }) => name === 'start'),
            false,
          )
        }
      })
    })

    describe('Prefer: respond-async', () => {
      test('202 at once, completed later', async () => {
        const { status, headers, body } = await service().call('POST', '/v1/agents/hello/invoke', {
          body: { message: 'later' },
          headers: { Prefer: 'respond-async' },
        })
        assert.equal(status, 202)
        assert.equal(body.data.status, 'queued')
        const location = headers.get('location') as string
        await until('the answer', async () => (await service().call('GET', location)).body.data.status === 'completed')
        const { body: done } = await service().call('GET', location)
        assert.equal(done.data.response, 'later')
        assert.equal(done.data.background, true)
      })

      test('runs after a restart', async () => {
        const agent = await newAgent(service(), {
          model: 'builtin/script',
          script: { rules: [{ reply: 'ok', delay_ms: 400 }] },
        })
        const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message: 'go' },
          headers: { Prefer: 'respond-async' },
        })
        await service().restart()
        await until(
          'the answer',
          async () => (await receipt(service(), agent, body.data.request_id)).status === 'completed',
        )
      })
    })

    describe('POST …/invocations/{request_id}/cancel', () => {
      test('replies once the run has stopped; 409 for a completed run', async () => {
        const { agent, request_id } = await startSlowRun(service())
        const { status, body } = await service().call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
        assert.equal(status, 200)
        assert.equal(body.data.status, 'cancelled')
        assert.equal(liveRuns(service(), agent).length, 0)
        const again = await service().call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
        assert.equal(again.body.data.status, 'cancelled')

        const done = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'x' } })
        const late = await service().call('POST', `/v1/agents/hello/invocations/${done.body.data.request_id}/cancel`)
        assert.equal(late.status, 409)
      })

      test('a run is shown, listed and cancelled from the moment at which its stream begins', async () => {
        const agent = await newAgent(service(), SLOW)
        const events = readEvents(await stream(service(), `/v1/agents/${agent}/invoke`, { message: 'go' }))
        const start = (await events.next()).value
        assert.ok(start)
        const { request_id } = start.data as { request_id: string }
        const path = `/v1/agents/${agent}/invocations`
        const shown = await service().call('GET', `${path}/${request_id}`)
        assert.deepEqual([shown.status, shown.body.data.status], [200, 'running'], shown.text)
        const { body: listed } = await service().call('GET', `${path}?status=running`)
        assert.deepEqual(
          listed.data.map((run: { request_id: string }) => run.request_id),
          [request_id],
        )
        const { status, body } = await service().call('POST', `${path}/${request_id}/cancel`)
        assert.deepEqual([status, body.data?.status], [200, 'cancelled'])
        assert.equal((await events.next()).value?.event, 'error')
      })

      test('404 for the invocation of another agent', async () => {
        const { body } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'x' } })
        const agent = await newAgent(service())
        const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
        assert.equal((await service().call('GET', path)).status, 404)
        assert.equal((await service().call('POST', `${path}/cancel`)).status, 404)
        assert.equal((await service().call('GET', `${path}/stream`)).status, 404)
      })
    })

    describe('GET /v1/agents/{agent_id}/invocations', () => {
      test('filters by status, user and session', async () => {
        const agent = await newAgent(service())
        for (const context of [
          { user_id: 'a', session_id: '1' },
          { user_id: 'a', session_id: '2' },
          { user_id: 'b' },
        ]) {
          await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hi', context } })
        }
        const total = async (query: string) => {
          const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?${query}`)
          return body.pagination.total
        }
        assert.equal(await total('user_id=a'), 2)
        assert.equal(await total('user_id=a&session_id=2'), 1)
        assert.equal(await total('status=failed'), 0)
        assert.equal(await total('status=completed'), 3)
      })

      test('sorting by finished_at puts runs without an end last, or first in the other direction', async () => {
        const rules = [{ match: { equals: 'running' }, reply: 'late', delay_ms: 60_000 }, { reply: 'aye' }]
        const path = `/v1/agents/${await newAgent(service(), { model: 'builtin/script', script: { rules } })}`
        for (const message of ['one', 'running', 'two']) {
          const headers = message === 'running' ? { Prefer: 'respond-async' } : {}
          const reply = await service().call('POST', `${path}/invoke`, { body: { message }, headers })
          assert.ok(reply.status < 300, reply.text)
        }
        const listed = async (sort: string) => {
          const { body } = await service().call('GET', `${path}/invocations?sort=${sort}`)
          return body.data.map(({ message }: { message: string }) => message)
        }
        assert.deepEqual(await listed('finished_at'), ['one', 'two', 'running'])
        assert.deepEqual(await listed('-finished_at'), ['running', 'two', 'one'])
        await service().call('DELETE', path)
      })
    })

    test('deleting an agent cancels its runs', async () => {
      const { agent, request_id } = await startSlowRun(service())
      assert.equal((await service().call('DELETE', `/v1/agents/${agent}`)).status, 200)
      await until('the end of the run', async () => liveRun(service(), request_id) === undefined)
      assert.equal((await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).status, 404)
    })
  },
  LOCAL_TOOLS,
)
