import { describe, type TestContext, test } from 'node:test'
import { createClient, MoorageError } from '../../sdk/client.ts'
import { approve, steady } from '../support/running/approved.ts'
import { printed } from '../support/tour/printed.ts'

type Answer = { status?: number; headers?: Record<string, string>; body?: unknown }

/** A client of a service that answers as it is told, and what was sent to it. */
function recorded(answer: (url: URL, count: number) => Answer, more: object = {}) {
  const sent: string[] = []
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    const { authorization, 'user-agent': _, ...headers } = Object.fromEntries(request.headers)
    const body = await request.text()
    sent.push(
      [
        `${request.method} ${url.pathname}${url.search}`,
        ...(authorization === 'Bearer mrg_1' ? [] : [`authorization: ${authorization}`]),
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        ...(body === '' ? [] : [body]),
      ].join(' · '),
    )
    const { status = 200, headers: given = {}, body: said = LIST } = answer(url, sent.length)
    const text = typeof said === 'string' ? said : JSON.stringify(said)
    return new Response(text, { status, headers: { 'content-type': 'application/json', ...given } })
  }
  const client = createClient({ url: 'https://moorage.example.com/base/', key: 'mrg_1', fetch: send, ...more })
  return { client, sent }
}

const page = (data: object[], more: object = {}) => ({
  success: true,
  data,
  pagination: { limit: 2, offset: 0, total: data.length, has_more: false, ...more },
})
const LIST = page([{ id: 'one' }])

/** A call without a key gets one of its own. */
const OWN_KEYS = [[/(?<=idempotency-key: )[0-9a-f]{32}/g, 'its own']] as const

type Method = (...given: unknown[]) => Promise<unknown> | AsyncIterable<unknown>

/** What a method is given, by the names of its parameters. */
function argumentsOf(method: Method): unknown[] {
  const [, names = ''] =
    /^(?:async )?\*?\(?([^)=]*)/.exec(method.toString().replace(/^async\s+\w+|^\w+(?=\()/, '')) ?? []
  return names.split(',').map((name) => {
    const bare = name.trim().replace(/ =.*/, '')
    if (bare === 'o') return { idempotencyKey: 'once', otp: '123456' }
    if (bare === 'query') return { limit: 3, sort: '-created_at', search: 'a b&c', empty: undefined }
    if (bare === 'code') return '654321'
    if (/^(body|asked|changes)$|^\{/.test(bare)) return { message: 'ahoy', context: { user_id: 'ann' } }
    return `the ${bare}/1`
  })
}

const SSE = [
  'id: 1.0.0\nevent: start\ndata: {"request_id":"req_1"}',
  'id: 1.3.0\nevent: delta\ndata: {"text":"aye"}',
  'id: 1.3.1\nevent: tool_call\ndata: {"id":"c1","name":"look","arguments":{"far":true}}',
  'id: done\nevent: done\ndata: {"success":true,"data":{"response":"aye","request_id":"req_1","tokens_used":1,"duration_ms":2}}',
  '',
].join('\n\n')

describe('requests of the SDK', () => {
  test('one for each of its methods', async (t: TestContext) => {
    const { client, sent } = recorded((url) =>
      /export|stream|content/.test(url.pathname)
        ? {
            body: url.pathname.includes('stream') ? SSE : '',
            headers: { 'content-type': url.pathname.includes('stream') ? 'text/event-stream' : 'application/x-ndjson' },
          }
        : {},
    )
    let text = ''
    for (const [room, methods] of Object.entries(client)) {
      if (typeof methods === 'function') continue
      for (const [name, method] of Object.entries(methods as Record<string, Method>)) {
        if (/^(follow|stream|upload|download)$/.test(name)) continue
        sent.length = 0
        const args = argumentsOf(method)
        const told = await outcome(() => method(...args))
        text += `${room}.${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})\n${sent.map((line) => `  ${line}\n`).join('')}  → ${told}\n`
      }
    }
    approve(t, 'sdk/methods.txt', steady(text, OWN_KEYS))
  })

  test('pages, retries and streams, and its errors', async (t: TestContext) => {
    let text = ''
    const tell = async (
      title: string,
      answer: (url: URL, count: number) => Answer,
      act: (client: ReturnType<typeof createClient>) => unknown,
      more: object = {},
    ) => {
      const { client, sent } = recorded(answer, { backoffMs: 0, ...more })
      const told = await outcome(() => act(client))
      text += `${title}\n${sent.map((line) => `  ${line}\n`).join('')}  → ${told}\n\n`
    }
    const three = (_url: URL, count: number) => ({
      body: page([{ id: `a${count}` }, { id: `b${count}` }], {
        total: 6,
        has_more: count < 3,
        offset: (count - 1) * 2,
      }),
    })
    await tell('every page', three, (client) => Array.fromAsync(client.agents.list({ limit: 2, sort: 'name' })))
    await tell('every page from an offset', three, (client) => Array.fromAsync(client.agents.list({ offset: 2 })))
    await tell('one page', three, (client) => client.agents.list({ limit: 2 }))
    await tell('a search', three, (client) =>
      Array.fromAsync(client.memory.search('hello', { query: 'pier', limit: 2 })),
    )
    const after = (_url: URL, count: number) => ({
      body: page([{ id: `a${count}` }], { total: 3, has_more: count < 3, next_after: `c${count}` }),
    })
    await tell('pages behind a cursor', after, (client) => Array.fromAsync(client.logs.list('hello', { after: 'c0' })))
    for (const status of [400, 401, 403, 404, 409, 413, 422, 500, 502]) {
      const error = { code: 'some_code', message: `It is ${status}`, details: [{ field: 'name', error: 'is taken' }] }
      const body = { success: false, error, request_id: 'req_1' }
      const headers = { 'x-request-id': 'req_1' }
      const create = (client: ReturnType<typeof createClient>) => client.agents.create({ name: 'one' })
      await tell(`${status}`, () => ({ status, body, headers }), create)
      const final = { ...headers, 'x-should-retry': 'false' }
      if (status >= 500)
        await tell(`${status}, not to be tried again`, () => ({ status, body, headers: final }), create)
    }
    const busy = { code: 'rate_limited', message: 'Too many', retry_after: 0 }
    const later = (_url: URL, count: number) =>
      count < 3 ? { status: 429, body: { success: false, error: busy }, headers: { 'retry-after': '0' } } : {}
    await tell('429, then an answer', later, (client) => client.agents.get('hello'))
    await tell('429 without retries', later, (client) => client.agents.get('hello', { retries: 0 }))
    await tell(
      'a page of a proxy',
      () => ({ status: 503, body: '<html>', headers: { 'x-should-retry': 'false' } }),
      (client) => client.agents.get('hello', { retries: 0 }),
    )
    await tell(
      'no JSON',
      () => ({ body: 'hello' }),
      (client) => client.agents.get('hello'),
    )
    await tell(
      'an empty id',
      () => ({}),
      (client) => client.agents.get(''),
    )
    const waiting = { success: true, data: { request_id: 'req_1', status: 'waiting', approvals: [] } }
    await tell(
      'a run that waits',
      () => ({ status: 202, body: waiting }),
      (client) => client.agents.invoke('hello', { message: 'ahoy' }),
    )
    const streamed = () => ({ body: SSE, headers: { 'content-type': 'text/event-stream' } })
    await tell('a stream', streamed, (client) => Array.fromAsync(client.agents.stream('hello', { message: 'ahoy' })))
    await tell('a run that is followed', streamed, (client) =>
      Array.fromAsync(client.invocations.follow('hello', 'req_1')),
    )
    await tell(
      'any other request',
      () => ({}),
      (client) => client.request({ method: 'GET', path: '/v1/models', query: { a: 1 } }),
    )
    await tell(
      'in a project',
      () => ({}),
      (client) => client.agents.get('hello'),
      { project: 'north' },
    )
    approve(t, 'sdk/exchanges.txt', steady(text, OWN_KEYS))
  })
})

async function outcome(act: () => unknown): Promise<string> {
  try {
    return printed(await act())
  } catch (error) {
    if (!(error instanceof MoorageError)) return `${(error as Error).name}: ${(error as Error).message}`
    const { code, status, message, request_id, details, retry_after, should_retry } = error
    const told = {
      code,
      status,
      message,
      request_id,
      details,
      retry_after,
      ...(should_retry === false && { should_retry }),
    }
    return `MoorageError ${printed(told)}`
  }
}
