import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'

type Rpc = { id: number; method: string; params: { id?: string; message?: { messageId: string } } }
type Reply = (response: ServerResponse, rpc: Rpc) => void | Promise<void>

const STREAM = { 'content-type': 'text/event-stream' }
const HIDDEN = 'of the server alone'

/** A card of A2A 1.0 that names this address, and what else it says. */
function cardAt(url: string, more: object = {}): object {
  const supportedInterfaces = [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
  return { name: 'far', supportedInterfaces, capabilities: { streaming: true }, ...more }
}

function json(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
}

function event({ id }: Rpc, result: unknown): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`
}

const task = (state: string, artifacts: object[] = []) => ({
  task: { id: 'task', contextId: 'context', status: { state }, artifacts },
})

function artifact(text: string, append = true) {
  const parts = [{ text }]
  return { artifactUpdate: { taskId: 'task', contextId: 'context', artifact: { artifactId: 'a', parts }, append } }
}

async function pour(response: ServerResponse, piece: string, times: number): Promise<void> {
  response.on('error', () => {}).setMaxListeners(0)
  for (let i = 0; i < times && !response.destroyed; i += 1) {
    if (response.write(piece)) continue
    await new Promise<void>((resolve) => {
      response.once('drain', resolve)
      response.once('close', resolve)
    })
  }
  response.end()
}

/** What a server may have for a card. */
const CARDS: Record<string, (response: ServerResponse, url: string) => void> = {
  'a redirect': (response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  'a page': (response) => void response.end('<html>Sign in</html>'),
  'a refusal in the words of JSON-RPC': (response) =>
    json(((response.statusCode = 401), response), {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32000, message: HIDDEN },
    }),
  'no card at all': (response) => json(response, { data: { id: 'agt_1' } }),
  'no JSON': (response) => void response.end('{"name": '),
  'a card of old that lacks the rest': (response, url) => json(response, { url }),
  'a card without an address': (response) => json(response, { name: 'far' }),
  'a card of 3 MiB': (response) => json(response, { name: 'x'.repeat(3 << 20) }),
  'a card with a million values': (response) => json(response, { skills: Array(500_000).fill(0) }),
  'an address of 3,000 characters': (response, url) => json(response, cardAt(`${url}/${'x'.repeat(3_000)}`)),
  'a version of 1.8 MB': (response, url) => {
    const protocolVersion = `1${'.1'.repeat(900_000)}`
    json(response, { supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion }] })
  },
  'an address that is not public': (response) => json(response, cardAt('http://169.254.169.254')),
  'an unknown version': (response, url) =>
    json(response, {
      supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '7.1' }],
    }),
  'another binding': (response, url) =>
    json(response, { supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion: '1.0' }] }),
}

/** What a server may answer to a message. */
const REPLIES: Record<string, Reply> = {
  'a refusal': (response) => void response.writeHead(403).end(HIDDEN),
  'a redirect': (response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  'an error of the protocol': (response, { id }) =>
    json(response, { jsonrpc: '2.0', id, error: { code: -32004, message: HIDDEN } }),
  'a stream of no JSON': (response) => void response.writeHead(200, STREAM).end('data: x\n\n'),
  'the reply to another request': (response) =>
    void response.writeHead(200, STREAM).end(event({ id: 99 } as Rpc, task('TASK_STATE_COMPLETED'))),
  'neither a message nor a task': (response, rpc) => void response.writeHead(200, STREAM).end(event(rpc, {})),
  'an event of 3 MiB': (response, rpc) =>
    void response.writeHead(200, STREAM).end(event(rpc, artifact('x'.repeat(3 << 20)))),
  'an answer that is too long': (response, rpc) => {
    response.writeHead(200, STREAM).write(event(rpc, task('TASK_STATE_WORKING')))
    return pour(response, event(rpc, artifact('x'.repeat(1 << 16))), 20)
  },
  'a stream of 40 MiB': (response) => pour(response.writeHead(200, STREAM), `: ${'x'.repeat(1 << 16)}\n\n`, 640),
  'an answer that begins again and again': (response, rpc) => {
    response.writeHead(200, STREAM).write(event(rpc, task('TASK_STATE_WORKING')))
    return pour(response, event(rpc, artifact('x', false)), 2_000)
  },
}

onAnyEngine(
  'agents that are reached by A2A and lie',
  (service) => {
    let server: LocalServer
    let card: (response: ServerResponse, url: string) => void
    let reply: Reply
    let seen: { path: string; headers: IncomingHttpHeaders }[] = []
    const honest = (response: ServerResponse, url: string) => json(response, cardAt(url))
    before(async () => {
      server = await startLocalServer(async (request, response) => {
        const { method, url: path = '', headers } = request
        seen.push({ path, headers })
        if (method === 'GET') card(response, server.url)
        else await reply(response, JSON.parse(await readBody(request)) as Rpc)
      })
    })
    after(() => server.close())

    const agentAt = (a2a: string, headers: object = {}) =>
      newAgent(service(), { kind: 'remote', remote: { a2a, headers } })
    const invoke = async (agent: string) =>
      (await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })).body

    const cancelOf = async (agent: string) => {
      const { data } = (await service().call('GET', `/v1/agents/${agent}/invocations?status=running`)).body
      return service().call('POST', `/v1/agents/${agent}/invocations/${data[0].request_id}/cancel`)
    }

    test('each is a failed run, in our words', async (t) => {
      const agent = await agentAt(`${server.url}/card`)
      const heard: string[] = []
      const hear = async (name: string) =>
        heard.push(`${name}: ${(await invoke(agent)).error?.message.split('): ')[0]}\n`)
      for (const [name, lie] of Object.entries(CARDS)) {
        card = lie
        await hear(`card: ${name}`)
      }
      card = honest
      for (const [name, lie] of Object.entries(REPLIES)) {
        reply = lie
        await hear(name)
      }
      approve(t, 'outside/a2a-lies.txt', heard.join(''))
    })

    test('another host is sent secrets that are for it, and nothing else of the headers', async () => {
      const elsewhere = server.url.replace('127.0.0.1', 'localhost')
      const other = { 'X-Own': 'mine', Authorization: 'Bearer {{secret.FAR}}' }
      const agent = await agentAt(`${server.url}/card`, other)
      card = (response) => json(response, cardAt(elsewhere))
      reply = (response, rpc) => {
        response
          .writeHead(200, STREAM)
          .end(event(rpc, task('TASK_STATE_COMPLETED', [{ artifactId: 'a', parts: [{ text: 'Hi.' }] }])))
      }
      const allow = (...hosts: string[]) =>
        service().call('PUT', '/v1/secrets/FAR', { body: { value: 'a secret of some length', hosts } })
      await allow('127.0.0.1')
      assert.match((await invoke(agent)).error.message, new RegExp(`\\bFAR\\b.*${new URL(elsewhere).host}`))
      await allow('127.0.0.1', 'localhost')
      seen = []
      assert.equal((await invoke(agent)).data.response, 'Hi.')
      const sent = seen.map(({ path, headers }) => [path, headers.authorization, headers['x-own']])
      assert.deepEqual(sent, [
        ['/card', 'Bearer a secret of some length', 'mine'],
        ['/a2a', 'Bearer a secret of some length', undefined],
      ])
    })

    test('an interrupted stream is resumed, and nothing is said twice', async () => {
      const agent = await agentAt(`${server.url}/card`)
      card = honest
      const methods: string[] = []
      const saying = (text: string) => [
        { artifactId: 'a', parts: [{ text: text.slice(0, 3) }, { text: text.slice(3) }] },
      ]
      reply = (response, rpc) => {
        methods.push(rpc.method)
        if (methods.length === 1) {
          response
            .writeHead(200, STREAM)
            .write(event(rpc, task('TASK_STATE_WORKING')) + event(rpc, artifact('It is', false)))
          return void setTimeout(() => response.destroy(), 20)
        }
        if (rpc.method === 'GetTask') {
          const { task: told } = task('TASK_STATE_WORKING', saying('It is ca'))
          return json(response, { jsonrpc: '2.0', id: rpc.id, result: told })
        }
        const pieces = [task('TASK_STATE_WORKING'), artifact('It is', false), artifact(' calm'), artifact('.')]
        const end = {
          statusUpdate: { taskId: 'task', contextId: 'context', status: { state: 'TASK_STATE_COMPLETED' } },
        }
        response.writeHead(200, STREAM).end([...pieces, end].map((one) => event(rpc, one)).join(''))
      }
      const { text } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'Go' },
        headers: { Accept: 'text/event-stream' },
      })
      const said = [...text.matchAll(/event: delta\ndata: (.*)/g)].map(([, data]) => JSON.parse(data ?? '').text)
      assert.equal(said.join(''), 'It is calm.', text)
      assert.deepEqual(methods, ['SendStreamingMessage', 'GetTask', 'SubscribeToTask'])
    })

    test('an agent that neither streams nor waits with its reply is asked until it has answered', async () => {
      const agent = await agentAt(`${server.url}/card`)
      card = (response, url) => json(response, cardAt(url, { capabilities: { streaming: false } }))
      const methods: string[] = []
      reply = (response, { id, method }) => {
        methods.push(method)
        const isDone = methods.length === 3
        const told = isDone
          ? task('TASK_STATE_COMPLETED', [{ artifactId: 'a', parts: [{ text: 'Calm.' }] }])
          : task('TASK_STATE_WORKING')
        json(response, { jsonrpc: '2.0', id, result: method === 'GetTask' ? told.task : told })
      }
      const { data, error } = await invoke(agent)
      assert.equal(data?.response, 'Calm.', JSON.stringify(error))
      assert.deepEqual(methods, ['SendMessage', 'GetTask', 'GetTask'])
    })

    test('an answer of a person that does not arrive is sent again, as the same message', async () => {
      card = honest
      const remote = { a2a: `${server.url}/card` }
      const agent = await newAgent(service(), { kind: 'remote', remote, approvals: { self: true } })
      const asking = { parts: [{ text: 'Which harbour?' }], messageId: 'asks', role: 'ROLE_AGENT' }
      const { task: told } = task('TASK_STATE_INPUT_REQUIRED')
      const asks = { task: { ...told, status: { ...told.status, message: asking } } }
      const sent: string[] = []
      reply = (response, rpc) => {
        if (rpc.method === 'GetTask') return json(response, { jsonrpc: '2.0', id: rpc.id, result: asks.task })
        // It never reports more about the task than this.
        if (rpc.method === 'SubscribeToTask') return void response.writeHead(200, STREAM).flushHeaders()
        sent.push(rpc.params.message?.messageId ?? '')
        if (sent.length === 2) return void response.writeHead(503).end()
        const ended = task('TASK_STATE_COMPLETED', [{ artifactId: 'a', parts: [{ text: 'Calm.' }] }])
        response.writeHead(200, STREAM).end(event(rpc, sent.length === 1 ? asks : ended))
      }
      const { request_id, approvals } = (await invoke(agent)).data
      const path = `/v1/agents/${agent}/invocations/${request_id}`
      const body = { decision: 'approve', answer: 'Kiel' }
      await service().call('POST', `${path}/approvals/${approvals[0].call_id}`, { body })
      const receipt = await until('the end', async () => {
        const { data } = (await service().call('GET', path)).body
        return data.finished_at !== null && data
      })
      assert.equal(receipt.response, 'Calm.', JSON.stringify(receipt.error))
      assert.equal(sent.length, 3)
      assert.equal(sent[1], sent[2])
    })

    test('a run that is cancelled before its task is named cancels the task once it is', async () => {
      card = honest
      const agent = await agentAt(`${server.url}/card`)
      const heard = Promise.withResolvers<void>()
      const cancelled: string[] = []
      reply = async (response, rpc) => {
        const { task: told } = task('TASK_STATE_CANCELED')
        if (rpc.method === 'CancelTask') {
          cancelled.push(rpc.params.id ?? '')
          return json(response, { jsonrpc: '2.0', id: rpc.id, result: told })
        }
        await cancelOf(agent)
        await heard.promise
        response.writeHead(200, STREAM).write(event(rpc, task('TASK_STATE_WORKING')))
      }
      assert.equal((await invoke(agent)).error.code, 'conflict')
      heard.resolve()
      await until('the task is cancelled', () => cancelled.length > 0)
      assert.deepEqual(cancelled, ['task'])
    })

    test('a run that is cancelled before it repeats its message does not send it', async () => {
      const agent = await agentAt(`${server.url}/card`)
      const asked: string[] = []
      card = async (response, url) => {
        asked.push('card')
        if (asked.length > 1) await cancelOf(agent)
        honest(response, url)
      }
      reply = (response, { method }) => {
        asked.push(method)
        response.writeHead(200, STREAM).end()
      }
      assert.equal((await invoke(agent)).error.code, 'conflict')
      // A message of this run would arrive before the next run ends.
      card = honest
      reply = (response, rpc) => {
        asked.push(rpc.method)
        response.writeHead(200, STREAM).end(event(rpc, task('TASK_STATE_COMPLETED')))
      }
      await invoke(agent)
      assert.deepEqual(asked, ['card', 'SendStreamingMessage', 'card', 'SendStreamingMessage'])
    })

    test('an agent that never names its task is not listened to for long when the run is over', async () => {
      card = honest
      const agent = await agentAt(`${server.url}/card`)
      const left = Promise.withResolvers<void>()
      reply = async (response) => {
        response.writeHead(200, STREAM).flushHeaders()
        response.once('close', left.resolve)
        await cancelOf(agent)
      }
      assert.equal((await invoke(agent)).error.code, 'conflict')
      await left.promise
    })

    test('an agent of A2A 0.3 is understood', async () => {
      const agent = await agentAt(`${server.url}/card`)
      card = (response, url) =>
        json(response, {
          name: 'old',
          description: 'An agent of old',
          version: '1',
          url: `${url}/a2a`,
          protocolVersion: '0.3.0',
          preferredTransport: 'JSONRPC',
          capabilities: { streaming: true },
          defaultInputModes: ['text/plain'],
          defaultOutputModes: ['text/plain'],
          skills: [],
        })
      const methods: string[] = []
      reply = (response, rpc) => {
        methods.push(rpc.method)
        const message = {
          kind: 'message',
          messageId: 'm',
          role: 'agent',
          parts: [{ kind: 'text', text: 'Ahoy of old.' }],
        }
        response.writeHead(200, STREAM).end(event(rpc, message))
      }
      const { data, error } = await invoke(agent)
      assert.equal(data?.response, 'Ahoy of old.', JSON.stringify(error))
      assert.deepEqual(methods, ['message/stream'])
    })
  },
  LOCAL_TOOLS,
)
