import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { LOCAL_TOOLS, type LocalServer } from '../support/outside/local-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { uploaded } from '../support/slices/files.ts'
import { newRemoteAgent, startRawRemote } from '../support/slices/remote-agents.ts'

type Call = {
  steps_url: string
  steps_token: string
  request_id: string
  attachments: { file_id: string; url: string | null }[]
}
type Answer = (response: ServerResponse, call: Call) => void | Promise<void>

const STREAM = { 'content-type': 'text/event-stream' }

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What a server may answer. */
const LIES: Record<string, Answer> = {
  'a redirect': (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end() && undefined,
  'a refusal': (response) => response.writeHead(403).end('{"secret":"of the server"}') && undefined,
  'the page of a proxy': (response) =>
    void response.setHeader('content-type', 'text/html').end('<!doctype html><title>Sign in</title>'),
  'a page without a content type': (response) => void response.end('\n<html><body>Sign in</body></html>'),
  'JSON that is no object': (response) => void response.end('{"response": '),
  'bytes that are no UTF-8': (response) => {
    response.writeHead(200, STREAM).write('event: delta\ndata: {"text":"')
    response.end(Buffer.concat([Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}\n\n')]))
  },
  'data that is no JSON': (response) => void response.writeHead(200, STREAM).end('event: delta\ndata: x\n\n'),
  'usage that no model has': (response) =>
    void response.end(JSON.stringify({ response: 'x', usage: { input_tokens: 1e9, output_tokens: 1 } })),
  'usage below zero': (response) =>
    void response.end(JSON.stringify({ response: 'x', usage: { input_tokens: -5, output_tokens: 1 } })),
  'an event of 3 MiB': (response) =>
    void response.writeHead(200, STREAM).end(event('delta', { text: 'x'.repeat(3 << 20) })),
  'an answer that is too long': (response) => {
    response.writeHead(200, STREAM)
    for (let i = 0; i < 20; i += 1) response.write(event('delta', { text: 'x'.repeat(1 << 16) }))
    response.end(event('done', {}))
  },
  'a stream of 40 MiB': async (response) => {
    response.on('error', () => {}).writeHead(200, STREAM)
    const piece = `: ${'x'.repeat(1 << 16)}\n\n`
    for (let i = 0; i < 640 && !response.destroyed; i += 1) {
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    }
    response.end(event('done', {}))
  },
  'its own failure': (response) => void response.writeHead(200, STREAM).end(event('error', { message: 'no\u0000pe' })),
}

function once(response: ServerResponse, name: string): Promise<void> {
  return new Promise((resolve) => response.once(name, () => resolve()))
}

onAnyEngine(
  'remote agents that lie',
  (service) => {
    let server: LocalServer
    let answer: Answer = (response) => void response.end('{}')
    let agent: string
    before(async () => {
      const raw = await startRawRemote<Call>(service(), (response, call) => answer(response, call))
      ;({ server, agent } = raw)
    })
    after(() => server.close())

    const invoke = (to = agent, at: Service = service()) =>
      at.call('POST', `/v1/agents/${to}/invoke`, { body: { message: 'Go' } })
    const ask = (call: Call, steps: unknown, token = call.steps_token) =>
      service().call('POST', new URL(call.steps_url).pathname, { key: token, body: { steps } })
    const keep = (id: string, value: unknown = 1) => ({ id, type: 'keep', value })

    test('each is a failed run, in our words', async (t) => {
      const heard: string[] = []
      for (const [name, lie] of Object.entries(LIES)) {
        answer = lie
        const { status, body } = await invoke()
        assert.equal(status, 500, name)
        heard.push(`${name}: ${body.error.message}\n`)
      }
      approve(t, 'outside/remote-lies.txt', heard.join(''))
    })

    test('an address that is not allowed is not called', async () => {
      const value = `whsec_${Buffer.alloc(32).toString('base64')}`
      for (const host of ['169.254.169.254', '[::1]', '0.0.0.0', '10.0.0.1', '[::ffff:10.0.0.1]', '[fd00:ec2::254]']) {
        const url = `http://${host}/latest/meta-data`
        const hosts = [new URL(url).hostname]
        await service().call('PUT', '/v1/secrets/ELSEWHERE', { body: { value, hosts } })
        const { body } = await invoke(await newRemoteAgent(service(), url, { remote: { url, secret: 'ELSEWHERE' } }))
        assert.match(body.error.message, /^The remote agent can't be called \(blocked_address\)/, host)
      }
    })

    test('a secret signs only for its hosts, and must be there', async () => {
      const value = `whsec_${Buffer.alloc(32).toString('base64')}`
      const { call } = service()
      await call('PUT', '/v1/secrets/ELSEWHERE', { body: { value, hosts: ['example.com'] } })
      await call('PUT', '/v1/secrets/SHORT', { body: { value: 'whsec_short', hosts: ['127.0.0.1'] } })
      const messages = []
      for (const secret of ['ELSEWHERE', 'SHORT', 'MISSING']) {
        const { body } = await invoke(
          await newRemoteAgent(service(), server.url, { remote: { url: server.url, secret } }),
        )
        messages.push(body.error.message)
      }
      assert.deepEqual(
        messages.map((message) => /^The secret (\w+) /.exec(message)?.[1]),
        ['ELSEWHERE', 'SHORT', 'MISSING'],
      )
    })

    test('a silent agent is disconnected when its time is over', async () => {
      answer = () => {}
      const remote = { url: server.url, secret: 'REMOTE', timeout_ms: 100 }
      const { status, body } = await invoke(await newRemoteAgent(service(), server.url, { remote }))
      assert.equal(status, 500)
      assert.match(body.error.message, /\b100 ms\b/)
    })

    test('a run that is cancelled closes the call', async () => {
      let isClosed = false
      answer = (response, call) => {
        response.on('close', () => (isClosed = true))
        void service().call('POST', `/v1/agents/${agent}/invocations/${call.request_id}/cancel`)
      }
      const { body } = await invoke()
      assert.equal(body.error.code, 'conflict')
      await until('the call is closed', () => isClosed)
    })

    test('an agent that does not end its stream is disconnected after its answer', async () => {
      const open = new Set<ServerResponse>()
      answer = (response) => {
        open.add(response)
        response.on('close', () => open.delete(response))
        response.writeHead(200, STREAM).write(event('delta', { text: 'done' }) + event('done', {}))
      }
      for (let i = 0; i < 5; i += 1) assert.equal((await invoke()).status, 200)
      await until('every call is closed', () => open.size === 0)
    })

    test('what it says of a value before a step and after it is one answer', async () => {
      const output = { schema: { type: 'object', required: ['a'] }, retries: 0 }
      const of = await newRemoteAgent(service(), server.url, { output })
      answer = async (response, call) => {
        response.writeHead(200, STREAM).write(event('delta', { text: '{"a":' }))
        await ask(call, [keep('between')])
        response.end(event('delta', { text: '1}' }) + event('done', {}))
      }
      const { status, body, text } = await invoke(of)
      assert.equal(status, 200, text)
      assert.deepEqual(body.data.output, { a: 1 })
      const headers = { Accept: 'text/event-stream' }
      const streamed = await service().call('POST', `/v1/agents/${of}/invoke`, { body: { message: 'Go' }, headers })
      const drafts = [...streamed.text.matchAll(/event: output\.delta\ndata: (.*)/g)]
      assert.deepEqual(JSON.parse(drafts.at(-1)?.[1] ?? ''), { text: '{"a":1}', answer: 2, at: 0 }, streamed.text)
    })

    test('an answer and steps after the cancellation are ignored', async () => {
      let late = 0
      const answered = Promise.withResolvers<void>()
      let request_id = ''
      answer = async (response, call) => {
        ;({ request_id } = call)
        await service().call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
        late = (await ask(call, [keep('late')])).status
        response.on('error', () => {}).end('{"response": "too late", "usage": {"output_tokens": 5}}')
        answered.resolve()
      }
      await invoke()
      await answered.promise
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      const { status, response, tokens_used, steps } = body.data
      assert.deepEqual([late, status, response, tokens_used, steps], [409, 'cancelled', null, 0, []])
    })

    test('steps that are asked for in another order than before are what they were', async () => {
      const told: unknown[] = []
      let calls = 0
      answer = async (response, call) => {
        calls += 1
        const value = calls
        const order = calls === 1 ? ['a', 'b'] : ['b', 'c', 'a']
        for (const id of order) told.push((await ask(call, [keep(id, value)])).body.data.steps[0])
        if (calls === 1) response.destroy()
        else response.end('{"response": "done"}')
      }
      assert.equal((await invoke()).status, 200)
      const result = (id: string, value: number) => ({ id, result: value })
      assert.deepEqual(told, [result('a', 1), result('b', 1), result('b', 1), result('c', 2), result('a', 1)])
    })

    test('the token is for the steps of its run, and for nothing else', async () => {
      const calls: Call[] = []
      const replies: unknown[] = []
      answer = async (response, call) => {
        calls.push(call)
        const tried = [
          await ask(call, [keep('a')]),
          // A repeated step keeps its result, and another step can't use its name.
          await ask(call, [keep('a', 2)]),
          await ask(call, [{ id: 'a', type: 'sleep', seconds: 1 }]),
          await ask(call, [keep('b'), keep('b')]),
          await ask(call, [{ id: 'b', type: 'steal' }]),
          await ask(
            call,
            Array.from({ length: 17 }, (_none, i) => keep(`n${i}`)),
          ),
          await ask(call, [{ id: 'b', type: 'tool', tool: 'none', arguments: {} }]),
          await service().call('GET', '/v1/agents', { key: call.steps_token }),
          await ask(call, [keep('c')], service().admin),
          await ask(call, [keep('c')], `${call.steps_token.slice(0, -4)}AAAA`),
          await ask(call, [keep('c')], `${call.steps_token}.more`),
        ]
        for (const { status, body } of tried) replies.push([status, body.data?.steps ?? body.error.code])
        response.end('{"response": "done"}')
      }
      assert.equal((await invoke()).status, 200)
      assert.deepEqual(replies, [
        [200, [{ id: 'a', result: 1 }]],
        [200, [{ id: 'a', result: 1 }]],
        [409, 'conflict'],
        [400, 'invalid_request'],
        [400, 'invalid_request'],
        [400, 'invalid_request'],
        [200, [{ id: 'b', error: 'There is no tool none' }]],
        [403, 'forbidden'],
        [403, 'forbidden'],
        [401, 'unauthorized'],
        [401, 'unauthorized'],
      ])
      const [first] = calls as [Call]
      let strange = 0
      assert.equal((await ask(first, [keep('late')])).status, 409, 'after the end')
      answer = async (response, call) => {
        const other = await ask({ ...call, steps_token: first.steps_token }, [keep('a')])
        strange = other.status
        response.end('{"response": "done"}')
      }
      assert.equal((await invoke()).status, 200)
      assert.equal(strange, 403, 'with the token of another run')
    })

    test('the token reads the files that did not come along, until the deadline, and no others', async () => {
      const [large, gone, small, other] = await Promise.all(
        [5 << 20, 6 << 20, 5, 5].map((size) => uploaded(service(), randomBytes(size))),
      )
      const get = async (path: string, key: string, range?: string) => {
        const sent = { Authorization: `Bearer ${key}`, ...(range && { Range: range }) }
        const response = await fetch(`${service().url}${path}`, { headers: sent })
        if (response.ok) assert.ok(response.headers.get('x-ratelimit-remaining'), 'it counts for rate limits')
        return [response.status, (await response.arrayBuffer()).byteLength]
      }
      const replies: unknown[] = []
      let late = ''
      let token = ''
      answer = async (response, { request_id, steps_url, steps_token, attachments }) => {
        const path = (file_id?: string) => `${new URL(steps_url).pathname.replace(/steps$/, 'files')}/${file_id}`
        ;[late, token] = [path(large), steps_token]
        replies.push(attachments.map(({ url }) => url && new URL(url).pathname))
        replies.push(await get(late, token))
        replies.push(await get(late, token, 'bytes=0-9'))
        await service().call('DELETE', `/v1/files/${gone}`)
        for (const file_id of [gone, small, other]) replies.push((await get(path(file_id), token))[0])
        replies.push((await get(late, service().admin))[0])
        replies.push((await get(late.replace(request_id, 'another'), token))[0])
        replies.push((await get(`/v1/files/${large}/content`, token))[0])
        service().advance(24 * 3_600_000)
        replies.push((await get(late, token))[0])
        replies.push((await ask({ request_id, steps_url, steps_token, attachments }, [keep('late')])).status)
        response.end('{"response": "done"}')
      }
      const attachments = [large, gone, small].map((file_id) => ({ file_id }))
      const body = { message: 'Look', attachments }
      const { status, text } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(status, 200, text)
      assert.deepEqual(replies, [
        [late, late.replace(String(large), String(gone)), null],
        [200, 5 << 20],
        [206, 10],
        404,
        404,
        404,
        403,
        403,
        403,
        409,
        409,
      ])
    })

    test('a call that is over reads no files: the run has ended, or was cancelled', async () => {
      const file_id = await uploaded(service(), randomBytes(5 << 20))
      const calls: Call[] = []
      let heard = Promise.withResolvers<void>()
      answer = (response, call) => {
        calls.push(call)
        if (calls.length === 1) response.end('{"response": "done"}')
        heard.resolve()
      }
      const read = async (call: Call | undefined) => {
        const url = new URL(call?.attachments[0]?.url ?? '')
        const headers = { Authorization: `Bearer ${call?.steps_token}` }
        return (await fetch(`${service().url}${url.pathname}`, { headers })).status
      }
      const body = { message: 'Look', attachments: [{ file_id }] }
      const path = `/v1/agents/${agent}`
      assert.equal((await service().call('POST', `${path}/invoke`, { body })).status, 200)
      assert.equal(await read(calls[0]), 409)
      heard = Promise.withResolvers<void>()
      const headers = { Prefer: 'respond-async' }
      const { data } = (await service().call('POST', `${path}/invoke`, { body, headers })).body
      await heard.promise
      assert.equal(await read(calls[1]), 200)
      const run = `${path}/invocations/${data.request_id}`
      await service().call('POST', `${run}/cancel`)
      await until('it is cancelled', async () => (await service().call('GET', run)).body.data.finished_at)
      assert.equal(await read(calls[1]), 409)
    })
  },
  LOCAL_TOOLS,
)
