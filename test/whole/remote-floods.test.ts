import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { newAgent } from '../support/service/agents.ts'
import { onOneEngine } from '../support/service/service.ts'
import { startRawRemote } from '../support/slices/remote-agents.ts'

type Call = { steps_url: string; steps_token: string }

const MOST_MS = 50
const GIGABYTE = 1024 ** 3

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

/** What does not end. */
const FLOODS: [name: string, piece: string][] = [
  ['comments', `: ${'x'.repeat(16_000)}\n\n`],
  ['empty lines', '\n'.repeat(16_000)],
  ['words', event('delta', { text: 'x' })],
  ['events of no name', event('what', {})],
  ['log lines', event('log', { message: 'x' })],
  ['spendings', event('usage', { input_tokens: 1, output_tokens: 1 })],
]

/** Writes until the other side has had enough. */
async function flood(response: ServerResponse, piece: string): Promise<void> {
  const pieces = Buffer.from(piece.repeat(Math.ceil(16_000 / piece.length)))
  response.on('error', () => {}).writeHead(200, { 'content-type': 'text/event-stream' })
  const gone = new Promise<void>((resolve) => response.once('close', resolve))
  for (let sent = 0; sent < GIGABYTE && !response.destroyed; sent += pieces.length) {
    const isFull = !response.write(pieces)
    if (isFull) await Promise.race([gone, new Promise<void>((resolve) => response.once('drain', resolve))])
  }
  response.end(event('done', {}))
}

onOneEngine(
  'remote agents that send endless data',
  (service) => {
    let server: LocalServer
    let answer: (response: ServerResponse, call: Call) => Promise<void>
    let agent: string
    before(async () => {
      const raw = await startRawRemote<Call>(service(), (response, call) => answer(response, call))
      ;({ server, agent } = raw)
    })
    after(() => server.close())
    const invoke = () => service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })

    for (const [name, piece] of FLOODS) {
      test(`a gigabyte of ${name} makes the run fail, without blocking the service`, async (t) => {
        answer = (response) => flood(response, piece)
        const longest = await leastLongestPass(async () => {
          const { status, body, text } = await invoke()
          assert.deepEqual([status, body.error?.code], [500, 'server_error'], text)
        })
        t.diagnostic(`the longest pass took ${longest.toFixed(1)} ms`)
        assert.ok(longest <= MOST_MS, `a pass of the event loop took ${longest.toFixed(1)} ms`)
      })
    }

    test('the first thousand log lines are stored, with a note if there were more', async () => {
      const kept = []
      for (const lines of [1_000, 1_001]) {
        answer = async (response) => {
          const log = Array.from({ length: lines }, (_none, i) =>
            event('log', { level: 'debug', message: `line ${i}` }),
          )
          response.writeHead(200, { 'content-type': 'text/event-stream' }).end(log.join('') + event('done', {}))
        }
        const { request_id } = (await invoke()).body.data
        const path = `/v1/agents/${agent}/logs?request_id=${request_id}`
        const { pagination } = (await service().call('GET', `${path}&level=debug&limit=1`)).body
        const warned = (await service().call('GET', `${path}&level=warn`)).body.data
        kept.push([pagination.total, ...warned.map(({ message }: { message: string }) => message)])
      }
      assert.deepEqual(kept, [[1_000], [1_000, 'The agent wrote more than 1000 log entries. The rest is left out.']])
    })

    const ask = async ({ steps_url, steps_token }: Call, steps: object[]) =>
      service().call('POST', new URL(steps_url).pathname, { key: steps_token, body: { steps } })

    test('endless steps make the run fail', async () => {
      let asked = 0
      let last = 0
      answer = async (response, call) => {
        while (last !== 409 && asked < 1_000_000) {
          asked += 1
          last = (await ask(call, [{ id: `step ${asked}`, type: 'keep', value: asked }])).status
        }
        response.end('{"response": "never"}')
      }
      const { body } = await invoke()
      assert.match(body.error.message, /\b1000\b.*limits\.max_steps/)
      assert.ok(asked <= 1_001, String(asked))
    })

    test('steps that are too large in total make the run fail', async () => {
      const value = 'x'.repeat(60_000)
      answer = async (response, call) => {
        for (let asked = 0; asked < 1_000; asked += 1) {
          const steps = Array.from({ length: 16 }, (_none, i) => ({ id: `${asked} ${i}`, type: 'keep', value }))
          const { status } = await ask(call, steps)
          if (status !== 200) break
        }
        response.end('{"response": "never"}')
      }
      const { body } = await invoke()
      assert.match(body.error.message, /\b16 MiB\b/)
    })
  },
  LOCAL_TOOLS,
)

/** What an agent says by A2A of its task, and the same as an event. */
const said = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result })
const told = (result: object) => `data: ${said(result)}\n\n`
const of = { taskId: 'task', contextId: 'context' }
const working = told({ statusUpdate: { ...of, status: { state: 'TASK_STATE_WORKING' } } })

const LONG_LINE = Buffer.from(`data: ${'x'.repeat(1_900_000)}`)
const BYTE = Buffer.from('x')

/** In few bytes a pass: to send them is work of this process too. */
async function* oneLineInBytes(): AsyncGenerator<Buffer> {
  yield LONG_LINE
  for (let sent = 0; sent < 5_000; sent += 1) {
    if (sent % 20 === 0) await nextPass()
    yield BYTE
  }
}

/** Some readers of events take this end of a line for an empty line, and some do not. */
function* oddLines(): Generator<string> {
  const [head, tail] = said({ task: { id: 'task', artifacts: [{ artifactId: 'a', parts: [{}, 'more'] }] } }).split(
    ',"more"',
  )
  yield `data: ${head}\n\r\r\n`
  for (let sent = 0; sent < 100; sent += 1) yield `data: ${',{}'.repeat(5_000)}\n\r\r\n`
  yield `data: ${tail}\n\n`
}

function* repeated(piece: string, bytes: number): Generator<string> {
  const pieces = piece.repeat(Math.ceil(16_000 / piece.length))
  for (let sent = 0; sent < bytes; sent += pieces.length) yield pieces
}

/** Values up to where a stream is too long, and then the end of the task. */
function* values(): Generator<string> {
  const parts = [{ data: Array.from({ length: 9_500 }, () => ({})) }]
  yield* repeated(told({ artifactUpdate: { ...of, artifact: { artifactId: 'a', parts }, append: true } }), 31_000_000)
  yield told({ statusUpdate: { ...of, status: { state: 'TASK_STATE_COMPLETED' } } })
}

type Pieces = Iterable<string> | AsyncIterable<string | Buffer>

const A2A_FLOODS: [name: string, pieces: () => Pieces][] = [
  ['a long line that goes on byte by byte', oneLineInBytes],
  ['a task between odd ends of lines', oddLines],
  ['empty lines', () => repeated('\n', GIGABYTE)],
  ['values', values],
  ['states of the task', () => repeated(working, GIGABYTE)],
]

onOneEngine(
  'A2A agents that send endless data',
  (service) => {
    let server: LocalServer
    let pieces: () => Pieces
    before(async () => {
      server = await startLocalServer(async (request, response) => {
        if (request.method === 'GET') {
          const supportedInterfaces = [{ url: server.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
          return void response.end(JSON.stringify({ supportedInterfaces, capabilities: { streaming: true } }))
        }
        await readBody(request)
        response.on('error', () => {}).writeHead(200, { 'content-type': 'text/event-stream' })
        const gone = new Promise<void>((resolve) => response.once('close', resolve))
        for await (const piece of pieces()) {
          if (response.destroyed) return
          if (response.write(piece)) continue
          await Promise.race([gone, new Promise<void>((resolve) => response.once('drain', resolve))])
        }
        response.end()
      })
    })
    after(() => server.close())

    for (const [name, piecesOf] of A2A_FLOODS) {
      test(`${name}: the run fails, without blocking the service`, async (t) => {
        pieces = piecesOf
        const agent = await newAgent(service(), { kind: 'remote', remote: { a2a: server.url } })
        const longest = await leastLongestPass(async () => {
          const { body, text } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })
          assert.equal(body.error?.code, 'server_error', text)
        })
        t.diagnostic(`the longest pass took ${longest.toFixed(1)} ms`)
        assert.ok(longest <= MOST_MS, `a pass of the event loop took ${longest.toFixed(1)} ms`)
      })
    }
  },
  LOCAL_TOOLS,
)
