import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { after, before, beforeEach, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Cancellation } from '../../src/runtime/deadline.ts'
import type { RunEvent } from '../../src/runtime/outcome.ts'
import type { RunOutcome } from '../../src/runtime/run-outcome.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { type AgentSpec, HttpTool, Script } from '../../src/runtime/spec.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { limitsOf, localRuntime, runOf, toolCalls } from '../support/service/run-agent.ts'

const SECRET = 'p@ss/word "7"'

type ReceivedCall = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

let model: ModelServer
let api: LocalServer
let other: LocalServer
let runtime: Runtime
const seen: ReceivedCall[] = []
const seenElsewhere: ReceivedCall[] = []

before(async () => {
  model = await startModelServer()
  api = await startLocalServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body: await readBody(request) })
    if (url.startsWith('/slow')) return
    if (url.startsWith('/moved')) return void response.writeHead(302, { location: `${other.url}/stolen` }).end()
    if (url.startsWith('/latin')) {
      response.setHeader('content-type', 'text/html; charset=iso-8859-1')
      return void response.end(Buffer.from('Größe: 12 m²', 'latin1'))
    }
    if (url.startsWith('/broken')) return void response.writeHead(500).end(`boom ${headers.authorization}`)
    if (url.startsWith('/long-error')) return void response.writeHead(503).end('x'.repeat(300 * 1024))
    if (url.startsWith('/large')) return void response.end('x'.repeat(256 * 1024))
    if (url.startsWith('/huge')) return void response.end('x'.repeat(256 * 1024 + 1))
    if (url.startsWith('/packed')) {
      return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"temperature":21}'))
    }
    if (url.startsWith('/reset')) return void response.socket?.resetAndDestroy()
    if (url.startsWith('/whoami')) {
      const sent = headers.authorization ?? 'nobody'
      const forms = [sent, JSON.stringify(sent), encodeURIComponent(sent), Buffer.from(SECRET).toString('base64')]
      return void response.end(forms.join('\n'))
    }
    response.setHeader('content-type', 'application/json').end('{"temperature":21}')
  })
  other = await startLocalServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    seenElsewhere.push({ method, url, headers, body: await readBody(request) })
    response.end('ok')
  })
  runtime = localRuntime({
    providers: [{ name: 'local', type: 'openai-compatible', baseUrl: model.url }],
    secrets: async () => ({
      API_TOKEN: { value: SECRET, hosts: [api.host] },
      ANY_PORT: { value: 'v4lue', hosts: ['127.0.0.1'] },
    }),
  })
})
after(async () => {
  await runtime.close()
  await Promise.all([model.close(), api.close(), other.close()])
})
beforeEach(() => {
  seen.length = 0
  seenElsewhere.length = 0
  model.reset()
})

const weather = (more: Record<string, unknown> = {}) =>
  HttpTool.parse({
    type: 'http',
    name: 'weather',
    description: 'Weather of a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    url: `${api.url}/weather/{city}`,
    ...more,
  })

const loose = (more: Record<string, unknown>) =>
  weather({ input_schema: { type: 'object' }, url: `${api.url}/items`, ...more })

/** Runs one scripted tool call and returns its step. */
async function callOnce(tool: HttpTool, args: Record<string, unknown>, by = runtime) {
  const script = Script.parse({ rules: [{ call: { tool: tool.name, arguments: args } }] })
  const outcome = await by.run(runOf({ model: 'builtin/script', script, tools: [tool] }))
  const step = toolCalls(outcome)[0] ?? assert.fail(JSON.stringify(outcome))
  return {
    outcome,
    step,
    result: 'result' in step ? step.result : undefined,
    error: 'error' in step ? step.error : undefined,
  }
}

function completed(outcome: RunOutcome) {
  return outcome.status === 'completed' ? outcome : assert.fail(JSON.stringify(outcome))
}

const agent = (more: Partial<AgentSpec> = {}): Partial<AgentSpec> => ({
  model: 'local/tiny',
  tools: [weather()],
  ...more,
})

describe('the tool loop', () => {
  test('calls tools, sends results back, sums usage, and reports every step', async () => {
    model.reply(
      {
        text: ['Let me look.'],
        calls: [
          { name: 'weather', arguments: { city: 'Oslo' } },
          { name: 'weather', arguments: { city: 'Rome' } },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 5 },
      },
      { text: ['It is ', '21.'], usage: { prompt_tokens: 30, completion_tokens: 4 } },
    )
    const events: RunEvent[] = []
    const outcome = completed(await runtime.run(runOf(agent(), { emit: (event) => events.push(event) })))
    assert.equal(outcome.response, 'Let me look.\n\nIt is 21.')
    assert.deepEqual(outcome.usage, { input_tokens: 40, output_tokens: 9, total_tokens: 49 })

    const result = '{"temperature":21}'
    const oslo = { id: 'call_1', name: 'weather', arguments: { city: 'Oslo' } }
    const rome = { id: 'call_2', name: 'weather', arguments: { city: 'Rome' } }
    assert.deepEqual(
      toolCalls(outcome).map(({ duration_ms: _duration, ...step }) => step),
      [
        { ...oslo, result },
        { ...rome, result },
      ],
    )
    assert.deepEqual(
      events.filter(({ type }) => type === 'tool_call'),
      [
        { type: 'tool_call', ...oslo },
        { type: 'tool_call', ...rome },
      ],
    )
    assert.equal(events.filter(({ type }) => type === 'tool_result').length, 2)
    const deltas = events.map((event) => (event.type === 'delta' ? event.text : ''))
    assert.equal(deltas.join(''), outcome.response)
    assert.deepEqual(
      outcome.logs.map(({ level, message }) => [level, message]),
      [
        ['info', 'Tool weather answered'],
        ['info', 'Tool weather answered'],
      ],
    )

    assert.deepEqual(model.requests[0]?.body.tools, [
      {
        type: 'function',
        function: { name: 'weather', description: 'Weather of a city', parameters: weather().input_schema },
      },
    ])
    assert.deepEqual(model.requests[1]?.body.messages, [
      { role: 'user', content: 'Hello there' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: result },
      { role: 'tool', tool_call_id: 'call_2', content: result },
    ])
  })

  const bad: [string, { name: string; arguments: string }, RegExp][] = [
    ['malformed JSON', { name: 'weather', arguments: '{"city": ' }, /not valid JSON: \{"city": $/],
    ['a missing property', { name: 'weather', arguments: '{}' }, /property "city"/],
    ['a wrong type', { name: 'weather', arguments: '{"city":7}' }, /arguments\.city: must be a string/],
    ['something else than an object', { name: 'weather', arguments: '[1]' }, /must be a JSON object/],
    [
      'endless nesting',
      { name: 'weather', arguments: `${'['.repeat(9e3)}${']'.repeat(9e3)}` },
      /must be a JSON object/,
    ],
    [
      'deep nesting',
      { name: 'weather', arguments: `{"city":${'['.repeat(99)}${']'.repeat(99)}}` },
      /nested too deeply/,
    ],
    ['an unknown tool', { name: 'wether', arguments: '{}' }, /There is no tool wether/],
  ]
  for (const [what, call, error] of bad) {
    test(`${what} is reported to the model, which can continue`, async () => {
      model.reply({ calls: [call] }, { text: ['Sorry.'] })
      const outcome = completed(await runtime.run(runOf(agent())))
      assert.equal(outcome.response, 'Sorry.')
      const told = model.requests[1]?.body.messages.at(-1)
      assert.equal(told?.role, 'tool')
      assert.match(told?.content ?? '', error)
      assert.equal(outcome.logs[0]?.level, 'warn')
      assert.equal(seen.length, 0)
    })
  }

  test('a model that never stops calling tools fails after max_steps, without its last calls', async () => {
    const limits = limitsOf({ max_steps: 3 })
    const again = { calls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }
    model.reply(again, again, again)
    const outcome = await runtime.run(runOf(agent({ limits })))
    assert.equal(
      outcome.status === 'failed' && outcome.message,
      'The agent did not finish within 3 steps (limits.max_steps).',
    )
    assert.equal(toolCalls(outcome).length, 2)
    assert.equal(seen.length, 2)
    assert.deepEqual(outcome.usage, { input_tokens: 30, output_tokens: 15, total_tokens: 45 })
  })

  test('makes at most sixteen calls per step', async () => {
    model.reply(
      { calls: Array.from({ length: 18 }, (_, i) => ({ name: 'weather', arguments: { city: `Oslo ${i}` } })) },
      { text: ['ok'] },
    )
    const outcome = completed(await runtime.run(runOf(agent())))
    assert.equal(seen.length, 16)
    assert.equal(toolCalls(outcome).filter((step) => 'error' in step).length, 2)
  })

  test('limits all results of a run to 4 MiB; calls beyond that fail', async () => {
    const calls = Array.from({ length: 16 }, (_, i) => ({ name: 'weather', arguments: { i } }))
    model.reply({ calls }, { calls: calls.slice(0, 1) }, { calls: calls.slice(0, 1) }, { text: ['enough'] })
    const outcome = completed(await runtime.run(runOf(agent({ tools: [loose({ url: `${api.url}/large` })] }))))
    assert.equal(outcome.response, 'enough')
    assert.deepEqual(
      toolCalls(outcome).map((step) => ('result' in step ? step.result.length : step.error)),
      [
        ...calls.map(() => 256 * 1024),
        'The tool results of this run exceed 4 MiB in total.',
        'The tool results of this run exceed 4 MiB in total.',
      ],
    )
    assert.equal(seen.length, 17)
  })

  test('includes results of earlier attempts in that limit', async () => {
    const tools = [loose({ url: `${api.url}/large` })]
    const calls = Array.from({ length: 16 }, (_, i) => ({ name: 'weather', arguments: { i } }))
    model.reply({ calls }, { text: ['so far'] }, { calls: calls.slice(0, 1) }, { text: ['enough'] })
    const { steps } = completed(await runtime.run(runOf(agent({ tools }))))
    const kept = steps.slice(0, -1)
    const keeper = { kept, mayWait: false, waitsForBudgets: false, keep: async () => {} }
    const outcome = completed(await runtime.run(runOf(agent({ tools }), { attempt: 2, keeper })))
    const [last] = toolCalls(outcome).slice(16)
    assert.equal(last && 'error' in last && last.error, 'The tool results of this run exceed 4 MiB in total.')
  })

  test('tool results are also reported for a run that is cancelled during another call', async () => {
    const cancellation = new Cancellation()
    const tools = [weather(), loose({ name: 'slow', url: `${api.url}/slow` })]
    model.reply({
      calls: [
        { name: 'weather', arguments: { city: 'Oslo' } },
        { name: 'slow', arguments: {} },
      ],
    })
    const emit = ({ type }: RunEvent) => type === 'tool_result' && cancellation.cancel()
    const outcome = await runtime.run(runOf(agent({ tools }), { cancellation, emit }))
    assert.equal(outcome.status, 'cancelled')
    assert.deepEqual(
      toolCalls(outcome).map(({ duration_ms: _duration, ...step }) => step),
      [{ id: 'call_1', name: 'weather', arguments: { city: 'Oslo' }, result: '{"temperature":21}' }],
    )
  })

  test('cancelling during a tool call closes its connection', async () => {
    const arrived = Promise.withResolvers<{ closed: Promise<unknown> }>()
    const slow = await startLocalServer((_request, response) => {
      arrived.resolve({ closed: new Promise((resolve) => response.on('close', resolve)) })
    })
    const cancellation = new Cancellation()
    const script = Script.parse({ rules: [{ call: { tool: 'weather' } }] })
    const running = runtime.run(
      runOf({ model: 'builtin/script', script, tools: [loose({ url: slow.url })] }, { cancellation }),
    )
    const { closed } = await arrived.promise
    cancellation.cancel()
    assert.equal((await running).status, 'cancelled')
    await closed
    await slow.close()
  })

  test('a script can call a tool with templated arguments and use its result', async () => {
    const rules = [
      {
        match: { contains: 'weather' },
        call: { tool: 'weather', arguments: { city: '{{message}}' } },
        reply: 'Now: {{result}}',
      },
    ]
    const outcome = completed(
      await runtime.run(
        runOf(
          { model: 'builtin/script', script: Script.parse({ rules }), tools: [weather()] },
          { message: 'Weather?' },
        ),
      ),
    )
    assert.equal(outcome.response, 'Now: {"temperature":21}')
    assert.equal(seen[0]?.url, '/weather/Weather%3F')
  })
})

describe('an HTTP tool', () => {
  test('encodes path and query parameters, and puts other arguments of a GET into the query', async () => {
    const tool = loose({ url: `${api.url}/a/{path}?q={query}` })
    await callOnce(tool, { path: 'x/../y?z#', query: 'a&b=c', page: 2, tags: ['p', 'q'], where: { a: 1 }, none: null })
    assert.equal(seen[0]?.url, '/a/x%2F..%2Fy%3Fz%23?q=a%26b%3Dc&page=2&tags=p&tags=q&where=%7B%22a%22%3A1%7D')
    assert.equal(seen[0]?.body, '')
  })

  test('puts other arguments of a DELETE into the query, without a body', async () => {
    await callOnce(loose({ method: 'DELETE', url: `${api.url}/a/{id}` }), { id: 7, reason: 'old' })
    assert.deepEqual([seen[0]?.method, seen[0]?.url, seen[0]?.body], ['DELETE', '/a/7?reason=old', ''])
    assert.equal(seen[0]?.headers['content-type'], undefined)
  })

  test('sends other arguments of a POST as JSON', async () => {
    await callOnce(loose({ method: 'POST', url: `${api.url}/a/{id}` }), { id: 7, n: [1], deep: { x: null } })
    assert.equal(seen[0]?.method, 'POST')
    assert.equal(seen[0]?.url, '/a/7')
    assert.equal(seen[0]?.headers['content-type'], 'application/json')
    assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), { n: [1], deep: { x: null } })
  })

  for (const id of ['.', '..', '', null, ['x'], { a: 1 }]) {
    test(`rejects ${JSON.stringify(id)} as part of the path`, async () => {
      const { error } = await callOnce(loose({ method: 'DELETE', url: `${api.url}/a/{id}/b` }), { id })
      assert.ok(error)
      assert.equal(seen.length, 0)
    })
  }

  test('an error status is an error with the start of the body', async () => {
    const { error } = await callOnce(loose({ url: `${api.url}/broken` }), {})
    assert.equal(error, 'HTTP 500: boom undefined')
  })

  test('a long error body is cut, too', async () => {
    const { error } = await callOnce(loose({ url: `${api.url}/long-error` }), {})
    assert.equal(error, `HTTP 503: ${'x'.repeat(2_000)}`)
  })

  test('the response is decoded with the charset that it names', async () => {
    assert.equal((await callOnce(loose({ url: `${api.url}/latin` }), {})).result, 'Größe: 12 m²')
  })

  test('a compressed response is an error, because nobody asked for one', async () => {
    const { error } = await callOnce(loose({ url: `${api.url}/packed` }), {})
    assert.equal(error, 'HTTP 200: the response is compressed (gzip), which was not asked for')
    assert.equal(seen[0]?.headers['accept-encoding'], 'identity')
  })

  test('a response over 256 KiB is an error', async () => {
    assert.equal((await callOnce(loose({ url: `${api.url}/huge` }), {})).error, 'The response is larger than 256 KiB')
  })

  test('a slow server is an error after timeout_ms, and the run continues', async () => {
    const { error, outcome } = await callOnce(loose({ url: `${api.url}/slow`, timeout_ms: 100 }), {})
    assert.equal(error, 'No answer within 100 ms')
    assert.equal(outcome.status, 'completed')
  })

  test('a broken connection is an error with host and code', async () => {
    const { error } = await callOnce(loose({ url: `${api.url}/reset` }), {})
    assert.match(error ?? '', new RegExp(`^The request to ${api.host} failed \\(\\w+\\)$`))
  })

  test('an address that is not allowed is an error', async () => {
    const { error } = await callOnce(loose({ url: 'http://169.254.169.254/latest' }), {})
    assert.equal(
      error,
      'The request to 169.254.169.254 was refused (blocked_address): the URL must point to a public address',
    )
  })

  // The guarded client never follows redirects, and another client must not either.
  for (const [name, client] of Object.entries({ guarded: undefined, platform: globalThis.fetch })) {
    test(`redirects are not followed with the ${name} client`, async () => {
      const secrets = { API_TOKEN: { value: SECRET, hosts: [api.host] } }
      const own = localRuntime({ secrets: async () => secrets, ...(client ? { fetch: client } : {}) })
      const tool = loose({ url: `${api.url}/moved`, headers: { authorization: '{{secret.API_TOKEN}}' } })
      assert.equal((await callOnce(tool, {}, own)).error, 'HTTP 302: redirects are not followed')
      assert.equal(seen[0]?.headers.authorization, SECRET)
      assert.equal(seenElsewhere.length, 0)
    })
  }
})

function assertAbsent(outcome: RunOutcome) {
  const everything = JSON.stringify(outcome)
  for (const form of [SECRET, JSON.stringify(SECRET).slice(1, -1), encodeURIComponent(SECRET)]) {
    assert.equal(everything.includes(form), false, everything)
  }
}

describe('secrets', () => {
  const authorization = 'Bearer {{secret.API_TOKEN}}'

  test('reach their host and come back redacted in every form', async () => {
    const { result, outcome } = await callOnce(loose({ url: `${api.url}/whoami`, headers: { authorization } }), {})
    assert.equal(seen[0]?.headers.authorization, `Bearer ${SECRET}`)
    assert.equal(
      result,
      [
        'Bearer [secret API_TOKEN]',
        '"Bearer [secret API_TOKEN]"',
        'Bearer%20[secret API_TOKEN]',
        '[secret API_TOKEN]',
      ].join('\n'),
    )
    assertAbsent(outcome)
  })

  test('are redacted from errors and logs', async () => {
    const { error, outcome } = await callOnce(loose({ url: `${api.url}/broken`, headers: { authorization } }), {})
    assert.equal(error, 'HTTP 500: boom Bearer [secret API_TOKEN]')
    assert.equal(outcome.logs[0]?.metadata.error, error)
    assertAbsent(outcome)
  })

  test('never leave for another host: the call fails before it is made', async () => {
    const { error, outcome } = await callOnce(loose({ url: `${other.url}/x`, headers: { authorization } }), {})
    assert.equal(error, `The secret API_TOKEN can't be sent to ${other.host}; add the host to the secret's hosts`)
    assert.equal(seenElsewhere.length, 0)
    assertAbsent(outcome)
  })

  test('a host without a port means every port', async () => {
    await callOnce(loose({ url: `${other.url}/x`, headers: { 'x-key': '{{ secret.ANY_PORT }}' } }), {})
    assert.equal(seenElsewhere[0]?.headers['x-key'], 'v4lue')
  })

  for (const name of ['NOPE', 'toString', '__proto__']) {
    test(`an unknown secret ${name} fails the call`, async () => {
      const { error } = await callOnce(loose({ headers: { 'x-key': `{{secret.${name}}}` } }), {})
      assert.equal(error, `The secret ${name} is not configured`)
      assert.equal(seen.length, 0)
    })
  }

  test('are not filled anywhere but in headers', async () => {
    await callOnce(loose({ method: 'POST' }), { text: '{{secret.API_TOKEN}}' })
    assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), { text: '{{secret.API_TOKEN}}' })
  })
})
