import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient, type InvocationEvent, type InvocationResult } from '../../sdk/client.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'

type Event = InvocationEvent<InvocationResult>

const SENTENCE = 'one two three four five six seven eight nine ten'

describe('the SDK and an agent that talks', () => {
  let service: Service
  let client: Client
  before(async () => {
    service = await startService('sqlite')
    client = createClient({ url: service.url, key: service.admin })
    const script = {
      rules: [
        { match: { equals: 'wait' }, reply: 'late', delay_ms: 60_000 },
        { match: { equals: 'fail' }, fail: 'on purpose' },
        { reply: SENTENCE, delay_ms: 300 },
      ],
    }
    await client.agents.create({ name: 'talker', model: 'builtin/script', script })
  })
  after(() => service.stop())
  const statusOf = async (request_id: string) => (await client.invocations.get('talker', request_id)).status
  const countRuns = async () => (await client.invocations.list('talker')).pagination.total

  test('invoke resolves with the answer', async () => {
    const { response, request_id, tokens_used } = await client.agents.invoke('hello', { message: 'hi' })
    assert.equal(response, 'hi')
    assert.ok(tokens_used > 0)
    assert.equal((await client.invocations.get('hello', request_id)).status, 'completed')
  })

  test('start runs in the background; follow streams it from the beginning', async () => {
    const { request_id, status } = await client.agents.start('talker', { message: 'go' })
    assert.equal(status, 'queued')
    const events = await collect(client.invocations.follow('talker', request_id))
    assert.equal(textOf(events), SENTENCE)
    assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['start', 'done'])
    const listed = await client.invocations.list('talker', { status: 'completed' })
    assert.ok(listed.data.some((invocation) => invocation.request_id === request_id))
  })

  test('stream yields the answer as it arrives, and the result', async () => {
    const events = await collect(client.agents.stream('talker', { message: 'go' }))
    assert.equal(textOf(events), SENTENCE)
    const last = events.at(-1)
    assert.ok(last?.type === 'done' && last.data.response === SENTENCE && last.data.tokens_used > 0)
    assert.ok(events.filter(({ type }) => type === 'delta').length > 1)
  })

  test('every character comes through, line separators too', async () => {
    const message = 'one\u2028two\u2029three\u0085four\r\nfive: six'
    assert.equal(textOf(await collect(client.agents.stream('hello', { message }))), message)
  })

  test('every character comes through, wherever the network cuts the stream', async () => {
    const message = 'Größe 12 €, 錨, 🚢'
    const byByte = () =>
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, pieces) {
          for (const byte of chunk) pieces.enqueue(Uint8Array.of(byte))
        },
      })
    const cut = createClient({
      url: service.url,
      key: service.admin,
      async fetch(url, init) {
        const reply = await fetch(url, init)
        return new Response(reply.body && reply.body.pipeThrough(byByte()), reply)
      },
    })
    assert.equal(textOf(await collect(cut.agents.stream('hello', { message }))), message)
  })

  test('an agent that fails, and one that is not there, throw', async () => {
    await assert.rejects(collect(client.agents.stream('talker', { message: 'fail' })), {
      code: 'server_error',
      status: 500,
    })
    await assert.rejects(collect(client.agents.stream('nobody', { message: 'x' })), { code: 'not_found', status: 404 })
  })

  test('leaving the loop cancels the run', async () => {
    let request_id = ''
    for await (const event of client.agents.stream('talker', { message: 'wait' })) {
      if (event.type === 'start') request_id = event.request_id
      break
    }
    assert.equal(await statusOf(request_id), 'cancelled')
  })

  test('an abort cancels the run', async () => {
    const abort = new AbortController()
    let request_id = ''
    const reading = (async () => {
      for await (const event of client.agents.stream('talker', { message: 'wait' }, { signal: abort.signal })) {
        if (event.type === 'start') request_id = event.request_id
        abort.abort()
      }
    })()
    await assert.rejects(reading, { name: 'AbortError' })
    await until('the cancelled run', async () => (await statusOf(request_id)) === 'cancelled')
  })

  test('an abort before the run is known cancels it, too', async () => {
    // The client waits two seconds for the run to start.
    await inOneAttempt(async () => {
      const runsBefore = await countRuns()
      const abort = new AbortController()
      const reading = collect(client.agents.stream('talker', { message: 'wait' }, { signal: abort.signal }))
      setImmediate(() => abort.abort())
      await assert.rejects(reading, { name: 'AbortError' })
      const { data, pagination } = await client.invocations.list('talker')
      assert.equal(pagination.total, runsBefore + 1)
      assert.equal(data[0]?.status, 'cancelled')
    })
  })

  test('an abort where no one answers is over soon', async () => {
    const silent = await startLocalServer(() => {})
    const abort = new AbortController()
    const reading = collect(
      createClient({ url: silent.url, key: 'mrg_x' }).agents.stream('a', { message: 'x' }, { signal: abort.signal }),
    )
    const started = performance.now()
    setTimeout(() => abort.abort(), 20)
    await assert.rejects(reading, { name: 'AbortError' })
    // A stream that waited for its idle time, or for the service to come back, would take much longer.
    assert.ok(performance.now() - started < 10_000 * PATIENCE)
    await silent.close()
  })

  test('leaving a stream that is only followed does not touch the run', async () => {
    const { request_id } = await client.agents.start('talker', { message: 'wait' })
    await until('the running run', async () => (await statusOf(request_id)) === 'running')
    for await (const event of client.invocations.follow('talker', request_id)) {
      assert.equal(event.type, 'start')
      break
    }
    assert.equal(await statusOf(request_id), 'running')
    assert.equal((await client.invocations.cancel('talker', request_id)).status, 'cancelled')
  })

  test('a connection that breaks, before or in the middle of the answer, loses and repeats nothing', async () => {
    const runsBefore = await countRuns()
    for (const cut of ['event: start', 'event: delta', 'event: done'] as const) {
      const proxy = await breakingProxy(service.url, cut)
      const through = createClient({ url: proxy.url, key: service.admin })
      const events = await collect(through.agents.stream('talker', { message: 'go' }))
      assert.equal(textOf(events), SENTENCE, cut)
      assert.equal(events.filter(({ type }) => type === 'done').length, 1)
      assert.ok(proxy.connections() >= 2, cut)
      await proxy.close()
    }
    assert.equal(await countRuns(), runsBefore + 3)
  })

  test('a stream that falls silent is taken up again where it stopped; pings keep it', async () => {
    const silent = await silentProxy(service.url)
    const through = createClient({ url: silent.url, key: service.admin, idleTimeoutMs: 300 })
    const events = await collect(through.agents.stream('talker', { message: 'go' }))
    await silent.close()
    assert.equal(textOf(events), SENTENCE)
    assert.ok(silent.connections() >= 2)

    let connections = 0
    const pinging = await startLocalServer((_request, response) => {
      connections++
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let pings = 0
      const timer = setInterval(() => {
        if (++pings < 10) return response.write(': ping\n\n')
        clearInterval(timer)
        response.end('id: 1\nevent: done\ndata: {"data":{}}\n\n')
      }, 50)
    })
    const patient = createClient({ url: pinging.url, key: 'mrg_x', idleTimeoutMs: 300 })
    await inOneAttempt(async () => {
      connections = 0
      assert.equal((await collect(patient.invocations.follow('talker', 'req_1'))).length, 1)
      assert.equal(connections, 1)
    })
    await pinging.close()
  })

  test('a service that goes away and comes back is found again, and the caller is notified', async () => {
    const answers = ['event: error\ndata: {"error":{"code":"unavailable","message":"stopping"}}', 503, 'cut', 'end']
    const asked: (string | undefined)[] = []
    const server = await startLocalServer((request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined)
      const answer = asked.length === 1 ? 'begin' : answers.shift()
      if (answer === 503) return response.writeHead(503, { 'retry-after': '0' }).end()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (answer === 'begin') return response.end('id: 7\nevent: start\ndata: {"request_id":"req_1"}\n\n')
      if (answer === 'end') return response.end('id: 9\nevent: done\ndata: {"data":{}}\n\n')
      response.end(answer === 'cut' ? 'id: 8\nevent: del' : `${answer}\n\n`)
    })
    const told: string[] = []
    const away = createClient({ url: server.url, key: 'mrg_x', onRetry: ({ code }) => told.push(code) })
    const events = await collect(away.agents.stream('talker', { message: 'go' }))
    assert.deepEqual(
      events.map(({ type }) => type),
      ['start', 'done'],
    )
    assert.deepEqual(asked, [undefined, '7', '7', '7', '7'])
    assert.deepEqual(told, ['unreachable', 'unavailable', 'unavailable', 'unreachable'])
    await server.close()
  })

  test('a run that its service gave up is reported as such, not asked for again and again', async () => {
    let connections = 0
    const server = await startLocalServer((_request, response) => {
      connections++
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('event: error\ndata: {"error":{"code":"unavailable","message":"The service stopped"}}\n\n')
    })
    const given = createClient({ url: server.url, key: 'mrg_x' })
    await assert.rejects(collect(given.invocations.follow('talker', 'req_1')), { code: 'unavailable' })
    assert.equal(connections, 2)
    await server.close()
  })

  test('a run that began again after a crash says so', async () => {
    const data = { response: 'new words', request_id: 'req_1', tokens_used: 2, duration_ms: 1 }
    const tellings = [
      [
        { id: '1.0.0', event: 'start', data: { request_id: 'req_1' } },
        { id: '1.4.0', event: 'delta', data: { text: 'old ' } },
      ],
      [
        { id: '2.0.0', event: 'restart', data: { request_id: 'req_1' } },
        { id: '2.9.0', event: 'delta', data: { text: 'new words' } },
        { id: 'done', event: 'done', data: { success: true, data } },
      ],
    ]
    const resumed: unknown[] = []
    const crashed = await startLocalServer((request, reply) => {
      resumed.push(request.headers['last-event-id'])
      reply.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Request-Id': 'req_1' })
      for (const { id, event, data: said } of tellings.shift() ?? []) {
        reply.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(said)}\n\n`)
      }
      reply.end()
    })
    const through = createClient({ url: crashed.url, key: service.admin })
    const events = await collect(through.invocations.follow('talker', 'req_1'))
    await crashed.close()
    assert.deepEqual(resumed, [undefined, '1.4.0'])
    assert.deepEqual(
      events.map(({ type }) => type),
      ['start', 'delta', 'restart', 'delta', 'done'],
    )
    assert.equal(textOf(events.slice(events.findIndex(({ type }) => type === 'restart'))), 'new words')
  })

  test('memory, logs and metrics of what was said', async () => {
    const context = { user_id: 'u1', session_id: 's1' }
    await client.agents.invoke('hello', { message: 'my cat is called Tom', context })
    await client.memory.write('hello', { items: [{ content: 'likes fish', context: { user_id: 'u1' } }] })
    const found: string[] = []
    const search = { query: 'cat Tom', context: { user_id: 'u1' }, limit: 1 }
    for await (const { content } of client.memory.search('hello', search, { idempotencyKey: 'once' })) {
      found.push(content)
    }
    assert.ok(found.length >= 2, found.join())
    assert.ok(
      found.some((content) => content.includes('my cat is called Tom')),
      found.join(),
    )
    assert.ok((await client.logs.list('hello', { level: 'info,warn,error,debug' })).pagination.total >= 0)
    const { values } = await client.metrics.get('hello', { metric: 'throughput' })
    assert.ok(values.some(({ value }) => value > 0))
    assert.ok((await client.memory.clear('hello', { user_id: 'u1' })).deleted >= 2)
  })
})

async function collect(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = []
  for await (const event of events) all.push(event)
  return all
}

function textOf(events: Event[]): string {
  return events.map((event) => (event.type === 'delta' ? event.text : '')).join('')
}

/** Passes everything on, but cuts the first stream where `cut` comes up, in the middle of an event. */
async function breakingProxy(target: string, cut: string) {
  let connections = 0
  const server = await startLocalServer((incoming, outgoing) => {
    const isFirst = ++connections === 1
    let isCut = false
    const { method, url = '/', headers } = incoming
    const forward = httpRequest(new URL(url, target), { method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.on('data', (chunk: Buffer) => {
        // More of the answer may come before the connection is closed.
        if (isCut) return
        const at = isFirst ? chunk.indexOf(cut) : -1
        isCut = at >= 0
        if (isCut) outgoing.write(chunk.subarray(0, at + 3), () => outgoing.destroy())
        else outgoing.write(chunk)
      })
      reply.on('end', () => isCut || outgoing.end())
    })
    forward.on('error', () => outgoing.destroy())
    incoming.pipe(forward)
  })
  return { ...server, connections: () => connections }
}

/** Passes everything on, but lets the first stream fall silent after its first piece of text. */
async function silentProxy(target: string) {
  let connections = 0
  const server = await startLocalServer((incoming, outgoing) => {
    const isFirst = ++connections === 1
    let isSilent = false
    const { method, url = '/', headers } = incoming
    const forward = httpRequest(new URL(url, target), { method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.on('data', (chunk: Buffer) => {
        if (isSilent) return
        const delta = isFirst ? chunk.indexOf('event: delta') : -1
        isSilent = delta >= 0
        // The rest of the answer might have arrived with the first words.
        outgoing.write(isSilent ? chunk.subarray(0, chunk.indexOf('\n\n', delta) + 2) : chunk)
      })
      reply.on('end', () => isSilent || outgoing.end())
    })
    forward.on('error', () => outgoing.destroy())
    incoming.pipe(forward)
  })
  return { ...server, connections: () => connections }
}
