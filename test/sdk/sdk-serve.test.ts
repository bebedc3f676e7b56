import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type AgentHandler, serveAgent } from '../../sdk/client.ts'
import { readBody, startLocalServer } from '../support/outside/local-server.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A call as the service makes it, with what is stored of its run. */
function callOf(stored: { steps?: object[]; said?: string; steps_url?: string }, signal?: AbortSignal): Request {
  const steps_url = 'http://127.0.0.1:1/'
  const body = JSON.stringify({ message: 'Go', steps: [], said: '', steps_url, steps_token: 't', ...stored })
  const time = new Date()
  const headers = {
    'webhook-id': 'req_1-1',
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('req_1-1', time, body),
  }
  return new Request('http://agent/', { method: 'POST', headers, body, ...(signal && { signal }) })
}

/** The pieces of the answer that the service hears. */
async function heard(handler: AgentHandler, stored: { steps?: object[]; said?: string }): Promise<string[]> {
  const text = await (await serveAgent(handler, { secret })(callOf(stored))).text()
  return [...text.matchAll(/^event: delta\ndata: (.*)$/gm)].map(([, data = '']) => JSON.parse(data).text)
}

test('an agent that is called again sends only the text that is not stored yet', async () => {
  const steps = [
    { id: 'look', result: 'calm' },
    { id: 'ask', result: 'yes' },
  ]
  const answer: AgentHandler = async (run) => {
    run.say('Let me look. ')
    const sea = await run.tool('look', 'look')
    run.say('Well: ')
    await run.askPerson('ask', 'Shall we sail?')
    return sea
  }
  // Text might have been sent after the step that was requested later, and was lost then.
  for (const [said, rest] of [
    ['', ['Let me look. ', 'Well: ', 'calm']],
    ['Let me ', ['look. ', 'Well: ', 'calm']],
    ['Let me look. ', ['Well: ', 'calm']],
    ['Let me look. Well: ', ['calm']],
    ['I said something else: ', ['calm']],
  ] as const) {
    assert.deepEqual(await heard(answer, { steps, said }), rest, said)
  }
})

test('an agent whose call is over runs no more steps, because their results could not be stored', async () => {
  const stop = new AbortController()
  let made = 0
  const ended = Promise.withResolvers<unknown>()
  const serve = serveAgent(
    async (run) => {
      stop.abort()
      await run.keep('number', () => (made += 1)).then(ended.resolve, ended.resolve)
    },
    { secret },
  )
  await serve(callOf({}, stop.signal))
  assert.match(String(await ended.promise), /The service has ended this call/)
  assert.equal(made, 0)
})

test('steps are asked for again if their reply is lost, or the service has a problem', async () => {
  const replies = [
    () => Promise.reject(new TypeError('fetch failed')),
    async () => new Response('<h1>Bad Gateway</h1>', { status: 502 }),
    async () => Response.json({ data: { status: 'done', steps: [{ id: 'look', result: 'calm' }] } }),
  ]
  const asked: unknown[] = []
  const send: typeof fetch = (_url, init) => {
    asked.push(JSON.parse(String(init?.body)))
    return replies[asked.length - 1]?.() ?? assert.fail('asked too often')
  }
  const serve = serveAgent((run) => run.tool('look', 'look'), { secret, fetch: send })
  const text = await (await serve(callOf({}))).text()
  assert.match(text, /event: delta\ndata: \{"text":"calm"\}/)
  const steps = [{ id: 'look', type: 'tool', tool: 'look', arguments: {} }]
  assert.deepEqual(asked, [{ steps }, { steps }, { steps }])
})

test('steps that the service refuses are not asked for again', async () => {
  let asked = 0
  const send = async () => {
    asked += 1
    return Response.json({ error: { message: 'steps.0.tool: unknown' } }, { status: 400 })
  }
  const serve = serveAgent((run) => run.tool('look', 'look'), { secret, fetch: send })
  const text = await (await serve(callOf({}))).text()
  assert.match(text, /event: error\ndata: \{"message":"steps.0.tool: unknown"\}/)
  assert.equal(asked, 1)
})

describe('an agent whose request for a step is refused by a busy service', () => {
  type Refusal = { code: number; after?: string; body?: string }
  /** The events that the service hears, and how often it was asked for steps. */
  const askedOf = async (refusals: Refusal[]) => {
    const bodies: string[] = []
    const service = await startLocalServer(async (request, response) => {
      bodies.push(await readBody(request))
      const refusal = refusals.shift()
      if (refusal) {
        const headers = refusal.after === undefined ? {} : { 'retry-after': refusal.after }
        return response.writeHead(refusal.code, headers).end(refusal.body ?? 'busy')
      }
      response.end('{"success":true,"data":{"status":"done","steps":[{"id":"look","result":"calm"}]}}')
    })
    const serve = serveAgent((run) => run.tool('look', 'look'), { secret })
    const text = await (await serve(callOf({ steps_url: service.url }))).text()
    await service.close()
    return { text, bodies }
  }

  test('repeats the request after 429 and 503, at the time that the service names', async () => {
    const { text, bodies } = await askedOf([{ code: 429, after: '0' }, { code: 503, after: '1' }, { code: 503 }])
    assert.match(text, /event: delta\ndata: {"text":"calm"}/)
    assert.deepEqual([bodies.length, new Set(bodies).size], [4, 1])
  })

  test('fails if it would have to wait too long, or after ten requests', async () => {
    assert.match((await askedOf([{ code: 503, after: '3600' }])).text, /event: error/)
    const { text, bodies } = await askedOf(Array.from({ length: 20 }, () => ({ code: 429, after: '0' })))
    assert.match(text, /event: error\ndata: {"message":"The service answered 429."}/)
    assert.equal(bodies.length, 10)
  })

  test('fails immediately, without affecting other steps, if the step is not JSON or the URL is wrong', async () => {
    const { text } = await askedOf([{ code: 404, body: '<h1>Not Found</h1>' }])
    assert.match(text, /event: error\ndata: {"message":"The service answered 404."}/)
    const service = await startLocalServer(async (request, response) => {
      assert.deepEqual(
        JSON.parse(await readBody(request)).steps.map(({ id }: { id: string }) => id),
        ['look'],
      )
      response.end('{"success":true,"data":{"status":"done","steps":[{"id":"look","result":"calm"}]}}')
    })
    const serve = serveAgent(
      async (run) => {
        const steps = [run.tool('look', 'look'), run.tool('count', 'count', { fish: 1n })]
        const [look, count] = await Promise.allSettled(steps)
        assert.ok(look?.status === 'fulfilled' && count?.status === 'rejected')
        return `${look.value}, ${count.reason.name}`
      },
      { secret },
    )
    const said = await (await serve(callOf({ steps_url: service.url }))).text()
    await service.close()
    assert.match(said, /data: {"text":"calm, TypeError"}/)
  })

  test('runs a kept step once, even if it reaches the same step again', async () => {
    const kept: unknown[] = []
    const resultOf = ({ id, value }: { id: string; value: unknown }) => ({ id, result: value })
    const send: typeof fetch = async (_url, init) => {
      const { steps } = JSON.parse(String(init?.body))
      kept.push(...steps)
      return Response.json({ data: { status: 'done', steps: steps.map(resultOf) } })
    }
    let made = 0
    const serve = serveAgent(
      async (run) => {
        const make = () => (made += 1)
        return `${await run.keep('number', make)} ${await run.keep('number', make)}`
      },
      { secret, fetch: send },
    )
    assert.match(await (await serve(callOf({}))).text(), /data: {"text":"1 1"}/)
    assert.deepEqual([made, kept.length], [1, 1])
  })

  test("fails with the service's reason", async () => {
    const refusal = { code: 503, after: '3600', body: '{"success":false,"error":{"message":"The disk is full"}}' }
    const { text } = await askedOf([refusal])
    assert.match(text, /event: error\ndata: {"message":"The service answered 503: The disk is full"}/)
  })
})

test('a call that is replayed later, or changed on its way, is refused', async () => {
  let calls = 0
  const serve = (now?: () => number) => serveAgent(() => void (calls += 1), { secret, ...(now && { now }) })
  const statusOf = async (request: Request, now?: () => number) => {
    const { status, body } = await serve(now)(request)
    await body?.cancel()
    return status
  }
  const minutes = (count: number) => () => Date.now() + count * 60_000
  assert.equal(await statusOf(callOf({}), minutes(4)), 200)
  assert.equal(await statusOf(callOf({}), minutes(6)), 401)
  assert.equal(await statusOf(callOf({}), minutes(-6)), 401)
  const { headers } = callOf({})
  assert.equal(await statusOf(new Request('http://agent/', { method: 'POST', headers, body: '{"steps":[]}' })), 401)
  const other = callOf({})
  other.headers.set('webhook-id', 'req_2-1')
  assert.equal(await statusOf(other), 401)
  assert.equal(calls, 1)
})
