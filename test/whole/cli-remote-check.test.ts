import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { type AgentHandler, verifyWebhook } from '../../sdk/client.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { readDoc } from '../support/house/docs.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { SIGNING_SECRET, startRemote } from '../support/slices/remote-agents.ts'

const AGENT_SECRET = SIGNING_SECRET.value
const ANSWERED = 'a signed call is answered'
const SIGNATURE = 'a wrong signature is refused'
const TIME = 'an old call is refused'
const AGAIN = "a repeated call with the steps' results is answered without new steps"
const ORDER = 'steps with results are not requested again, and the others come in the same order'
const WAITING = 'a call with a waiting step ends'
const CLOSED = 'the agent survives a closed connection'

type Call = { message: string; attempt: number; steps: { id: string; result: unknown }[]; request_id: string }
type Reply = { status: number; steps: { id: string; result: unknown }[]; waits: boolean }
type Ask = (...steps: object[]) => Promise<Reply>
type PlainAgent = (call: Call, ask: Ask, response: ServerResponse) => unknown

/** An agent without the SDK. It checks signatures as it is told to, and answers JSON. */
function startPlain(agent: PlainAgent, checks: { toleranceSeconds?: number } | false = {}): Promise<LocalServer> {
  return startLocalServer(async (request, response) => {
    const body = await readBody(request)
    try {
      if (checks) await verifyWebhook({ body, headers: request.headers, secret: AGENT_SECRET, ...checks })
    } catch {
      return response.writeHead(401).end()
    }
    const call = JSON.parse(body)
    const ask: Ask = async (...steps) => {
      const headers = { authorization: `Bearer ${call.steps_token}` }
      const asked = await fetch(call.steps_url, { method: 'POST', headers, body: JSON.stringify({ steps }) })
      const { data } = (await asked.json()) as { data?: { status: string; steps: Reply['steps'] } }
      return { status: asked.status, steps: data?.steps ?? [], waits: data?.status !== 'done' }
    }
    const answer = await agent(call, ask, response)
    if (answer !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
}

const keep = (id: string) => ({ id, type: 'keep', value: id })

/** Asks for its steps one after the other, those that were not given. */
const dutiful =
  (...ids: string[]): PlainAgent =>
  async ({ steps }, ask) => {
    for (const id of ids.filter((one) => !steps.some((given) => given.id === one))) {
      if ((await ask(keep(id))).waits) return {}
    }
    return { response: 'done' }
  }

describe('moorage remote check', () => {
  let shell: Shell
  before(() => {
    shell = newShell()
  })
  after(() => shell.remove())

  const env = { AGENT_SECRET }
  const check = (url: string, ...args: string[]) => shell.moorage(['remote', 'check', url, ...args], { env })

  async function checkServer(server: LocalServer, ...args: string[]) {
    try {
      const { code, stdout, stderr } = await check(server.url, '--json', ...args)
      const points: { point: string; status: string; detail: string | null }[] = JSON.parse(stdout)
      assert.equal(points.length, 7)
      assert.equal(code, points.some(({ status }) => status === 'failed') ? 1 : 0, stderr)
      return points
    } finally {
      await server.close()
    }
  }
  /** What did not go well, by point. */
  async function faults(server: LocalServer, ...args: string[]) {
    const points = await checkServer(server, ...args)
    return Object.fromEntries(
      points.filter(({ status }) => status !== 'ok').map(({ point, detail }) => [point, detail]),
    )
  }

  test('an agent made with the SDK passes every point, with every kind of step', async () => {
    const remote = await startRemote()
    const told: unknown[] = []
    let names: string[] = []
    remote.answer(async (run) => {
      names = Object.keys(run)
      run.say('Let me see. ')
      const [sea, number] = await Promise.all([run.tool('look', 'look'), run.keep('number', () => 42)])
      const answer = await run.askModel('colour', { message: 'Which?' })
      const fit = await run.askModel('fit', { message: 'Which?', output: { schema: { type: 'object' } } })
      const person = await run.askPerson('boss', 'May we?', ['no', 'yes'])
      await run.sleep('a day', 86_400)
      const { id } = await run.writeMemory('note', 'calm')
      const found = await run.searchMemory('search', 'calm')
      told.push([run.message, sea, number, answer, fit, person, id, found])
      return 'Calm.'
    })
    const { code, stdout, stderr } = await check(remote.url, '-m', 'Ahoy', '--step', 'look=rough', '--step', 'fit=[1]')
    await remote.close()
    assert.equal(code, 0, stdout + stderr)
    assert.equal(
      stdout,
      [
        `ok        ${ANSWERED}: 8 steps requested`,
        ...[SIGNATURE, TIME, AGAIN, ORDER, WAITING, CLOSED].map((point) => `ok        ${point}`),
        '',
      ].join('\n'),
    )
    assert.equal(stderr, '')
    for (const one of told) {
      assert.deepEqual(one, ['Ahoy', 'rough', 42, 'ok', [1], 'no', 'mem_checked', []])
    }
    const [, table = ''] = readDoc('docs/remote-agents.md').split(/^## The `run` object$|^## Steps$/m)
    assert.deepEqual(
      names.filter((name) => !new RegExp(`\`${name}[\`(]`).test(table)),
      [],
    )
    // The first call, the same again, with a part of its steps, and the one after the closed connection.
    assert.equal(told.length, 4)
  })

  test("for an agent that requests no steps, points that can't be tested are listed", async () => {
    const points = await checkServer(await startPlain(() => ({ response: 'Hello' })))
    assert.deepEqual(points, [
      { point: ANSWERED, status: 'ok', detail: '0 steps requested' },
      ...[SIGNATURE, TIME, AGAIN].map((point) => ({ point, status: 'ok', detail: null })),
      ...[ORDER, WAITING].map((point) => ({ point, status: 'not_tried', detail: 'it requested no step' })),
      { point: CLOSED, status: 'ok', detail: null },
    ])
  })

  test("usage for a model without a provider is reported, because it can't have a price", async () => {
    const used = (model: string) => () => ({ response: 'Hi', usage: { model, input_tokens: 1, output_tokens: 1 } })
    const detail = async (model: string) => (await checkServer(await startPlain(used(model))))[0]?.detail
    const advice = '; report usage of "gpt-5-mini" as provider/model, so that its price can be found'
    assert.equal(await detail('gpt-5-mini'), `0 steps requested${advice}`)
    assert.equal(await detail('openai/gpt-5-mini'), '0 steps requested')
  })

  test('an agent without the SDK that follows the contract passes', async () => {
    assert.deepEqual(await faults(await startPlain(dutiful('a', 'b', 'c'))), {})
    assert.deepEqual(await faults(await startPlain(dutiful('only'))), {})
  })

  test('unchecked signatures and timestamps are reported', async () => {
    const answered = 'it was answered with 200 instead of 401'
    assert.deepEqual(await faults(await startPlain(dutiful('a'), false)), { [SIGNATURE]: answered, [TIME]: answered })
    const patient = await startPlain(dutiful('a'), { toleranceSeconds: 86_400 })
    assert.deepEqual(await faults(patient), { [TIME]: answered })
  })

  test('repeating steps that were already done is reported', async () => {
    const forgetful: PlainAgent = (call, ask, response) => dutiful('a', 'b')({ ...call, steps: [] }, ask, response)
    assert.deepEqual(await faults(await startPlain(forgetful)), {
      [AGAIN]: 'it requested a (step.keep)',
      [ORDER]: 'it requested a (step.keep), b (step.keep) instead of b (step.keep)',
    })
  })

  test('steps in another order, or another step with the same ID, are reported', async () => {
    const orders = [
      ['a', 'b', 'c'],
      ['c', 'b'],
    ]
    const restless: PlainAgent = (call, ask, response) =>
      dutiful(...(orders[call.attempt - 1] ?? []))(call, ask, response)
    assert.deepEqual(await faults(await startPlain(restless)), {
      [ORDER]: 'it requested c (step.keep), b (step.keep) instead of b (step.keep), c (step.keep)',
    })
    const fickle: PlainAgent = async ({ attempt, steps }, ask) => {
      const step = attempt === 1 ? keep('a') : { id: 'a', type: 'tool', tool: 'look' }
      return steps.length === 0 && (await ask(step)).waits ? {} : { response: 'done' }
    }
    assert.deepEqual(await faults(await startPlain(fickle)), {
      [ORDER]: 'it requested a (look) instead of a (step.keep)',
    })
  })

  test('an agent that continues after `waiting` is reported', async () => {
    const hanging: PlainAgent = async ({ steps }, ask) => {
      if (steps.length === 0 && (await ask(keep('a'))).waits) return undefined
      return { response: 'done' }
    }
    assert.deepEqual(await faults(await startPlain(hanging), '--timeout', '5s'), {
      [WAITING]: 'it did not finish within 5 s',
    })
    const deaf: PlainAgent = async ({ steps }, ask) => {
      if (steps.length === 0) await ask(keep('a'))
      return { response: 'done' }
    }
    assert.deepEqual(await faults(await startPlain(deaf)), { [WAITING]: 'it answered as if the step had finished' })
    const eager: PlainAgent = async ({ steps }, ask) => {
      for (const id of ['a', 'b'].slice(steps.length)) await ask(keep(id))
      return {}
    }
    assert.deepEqual(await faults(await startPlain(eager)), { [WAITING]: 'it continued and requested b (step.keep)' })
  })

  test('an agent that stops when its connection closes is reported', async () => {
    let isBroken = false
    const fragile = await startPlain(async (_call, ask, response) => {
      if (isBroken) return void response.destroy()
      const { status, waits } = await ask(keep('a'))
      isBroken ||= status === 409
      return waits ? {} : { response: 'done' }
    })
    const { [CLOSED]: why } = await faults(fragile)
    assert.match(String(why), /^the next call: The remote agent could not be reached/)
  })

  const NO_ANSWERS: Record<string, [PlainAgent, RegExp]> = {
    'never ends': [() => undefined, /^it did not finish within 5 s$/],
    'says that it failed': [() => ({ error: { message: 'no sea' } }), /^The remote agent failed: no sea$/],
    'sends something else': [
      (_call, _ask, response) => void response.setHeader('content-type', 'application/json').end('{"response": '),
      /^The remote agent returned something that is not an answer/,
    ],
    'breaks off its stream': [
      (_call, _ask, response) =>
        void response.setHeader('content-type', 'text/event-stream').end('event: delta\ndata: {"text": "a"}\n\n'),
      /^The remote agent ended its answer early/,
    ],
    'answers 500': [
      (_call, _ask, response) => void response.writeHead(500).end('oh'),
      /^The remote agent answered 500/,
    ],
    redirects: [
      (_call, _ask, response) => void response.writeHead(302, { location: '/' }).end(),
      /^The remote agent answered 302: redirects are not followed/,
    ],
    'requests an invalid step': [
      async (_call, ask) => ({ response: String((await ask({ id: 'a', type: 'fly' })).status) }),
      /^it requested an invalid step: steps\.0\.type: /,
    ],
    'asks twice under one id at once': [
      async (_call, ask) => ({ response: String((await ask(keep('a'), keep('a'))).status) }),
      /^it requested an invalid step: steps: must have different IDs$/,
    ],
  }
  for (const [what, [agent, why]] of Object.entries(NO_ANSWERS)) {
    test(`for an agent that ${what}, the first call fails, and later points are not tested`, async () => {
      const { [ANSWERED]: found, ...others } = await faults(await startPlain(agent), '--timeout', '5s')
      assert.match(String(found), why)
      const rest = [AGAIN, ORDER, WAITING, CLOSED].map((point) => [point, 'the first call failed'])
      assert.deepEqual(others, Object.fromEntries(rest))
    })
  }

  test('requests for steps without the token are reported', async () => {
    const careless = await startLocalServer(async (request, response) => {
      const { steps_url } = JSON.parse(await readBody(request))
      const { status } = await fetch(steps_url, { method: 'POST', body: JSON.stringify({ steps: [keep('a')] }) })
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ response: String(status) }))
    })
    const found = await faults(careless)
    assert.equal(found[ANSWERED], 'it requested steps without `Authorization: Bearer` and the steps_token')
  })

  test('an unreachable agent is reported', async () => {
    const gone = await startLocalServer(() => {})
    await gone.close()
    const { code, stdout, stderr } = await check(gone.url)
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^failed {4}a signed call is answered: The remote agent could not be reached\.?: .*ECONNREFUSED/,
    )
    assert.equal(stderr, 'error: 3 of 7 checks failed\n')
  })

  test('the secret comes from a variable or from stdin, and is never shown', async () => {
    const remote = await startRemote()
    const answer: AgentHandler = () => 'Hello'
    remote.answer(answer)
    const args = ['remote', 'check', remote.url]
    const runs = [
      await shell.moorage([...args, '--secret-env', 'MINE'], { env: { MINE: AGENT_SECRET } }),
      await shell.moorage(args, { stdin: `${AGENT_SECRET}\n` }),
      await shell.moorage(args, { env: { AGENT_SECRET: '' }, stdin: `${AGENT_SECRET}\n` }),
    ]
    const wrong = await shell.moorage(args, { env: { AGENT_SECRET: `whsec_${'A'.repeat(32)}` } })
    await remote.close()
    for (const { code, stdout, stderr } of runs) {
      assert.equal(code, 0, stdout + stderr)
      assert.ok(!(stdout + stderr).includes(AGENT_SECRET))
    }
    assert.equal(wrong.code, 1)
    const [answered, ...others] = wrong.stdout.trimEnd().split('\n')
    assert.match(String(answered), /^failed {4}a signed call is answered: The remote agent answered 401/)
    assert.deepEqual(others.slice(0, 2), [
      `not tried ${SIGNATURE}: the signed call was refused as well`,
      `not tried ${TIME}: the signed call was refused as well`,
    ])
    assert.equal(wrong.stderr, 'error: 1 of 7 checks failed\n')
  })

  test('invalid arguments are refused before anything is called', async () => {
    const said = async (args: string[], given: Record<string, string> = env) => {
      const { code, stderr } = await shell.moorage(['remote', 'check', ...args], { env: given })
      assert.equal(code, 2, stderr)
      return stderr
    }
    assert.match(await said(['nowhere']), /"nowhere" is not a valid URL\. Use a full http\(s\) URL\./)
    assert.match(await said(['http://127.0.0.1:1'], {}), /Specify the agent's secret in AGENT_SECRET, or on stdin/)
    assert.match(await said(['http://127.0.0.1:1', '--secret-env', 'OTHER']), /The variable OTHER is not set/)
    const short = await said(['http://127.0.0.1:1'], { AGENT_SECRET: 'whsec_short' })
    assert.match(short, /The secret must be whsec_ followed by at least 18 bytes in base64/)
    assert.doesNotMatch(short, /whsec_short/)
    assert.match(await said(['http://127.0.0.1:1', '--step', 'look']), /It must be id=value/)
    assert.match(await said(['http://127.0.0.1:1', '--host', '192.0.2.1']), /Can.t listen for steps at 192\.0\.2\.1/)
  })

  test('the card of an A2A agent is recognized', async () => {
    const card = 'http://127.0.0.1:1/.well-known/agent-card.json'
    const { code, stdout, stderr } = await shell.moorage(['remote', 'check', card], { env })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /an A2A agent's card[^]*moorage agents check <agent>/)
  })

  test('Ctrl-C ends it', async () => {
    let called = false
    const hanging = await startPlain(() => {
      called = true
      stop.abort()
    })
    const stop = new AbortController()
    const { code } = await shell.moorage(['remote', 'check', hanging.url], { env, stop: stop.signal })
    await hanging.close()
    assert.deepEqual([called, code], [true, 130])
  })
})
