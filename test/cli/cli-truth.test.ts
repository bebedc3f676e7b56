import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createClient, MoorageError } from '../../sdk/client.ts'
import { renderTable } from '../../src/cli/terminal/table.ts'
import { newShell, shellOfAdmin } from '../support/clients/cli.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { startService } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { refundingAgent, startTill, startWaiting } from '../support/slices/approvals.ts'
import { searchMemory } from '../support/slices/memory.ts'

describe('messages of commands', () => {
  const { service, shell } = shellOfAdmin()

  test('memory import: the same file is imported again only with --again', async () => {
    const agent = await newAgent(service())
    const file = join(shell().folder, 'mem0.json')
    writeFileSync(file, JSON.stringify([{ id: 'a', memory: 'Likes the sea' }]))
    const importFile = (...flags: string[]) => shell().moorage(['memory', 'import', agent, file, ...flags])
    const count = async () => (await searchMemory(service(), agent, { query: 'sea' })).data.length
    assert.match((await importFile()).stderr, /Imported 1 memory of mem0/)
    assert.equal((await shell().moorage(['memory', 'clear', agent, '--yes'])).code, 0)
    const again = await importFile()
    assert.equal(again.code, 0)
    assert.equal(
      again.stderr,
      '1 memory was imported within the last 24 hours and not written again. Use --again to write them again.\n',
    )
    assert.equal(await count(), 0)
    assert.deepEqual(JSON.parse((await importFile('--json')).stdout), {
      format: 'mem0',
      imported: 0,
      imported_before: 1,
    })
    await importFile('--again')
    assert.equal(await count(), 1)
  })

  test('schedules update --session keeps the user and the rest of the context', async () => {
    const agent = await newAgent(service())
    const at = ['--every', '1h', '--user', 'ada', '--session', 's1', '--context', '{"plan":"gold"}']
    const { stdout } = await shell().moorage(['schedules', 'create', agent, 'hello', ...at])
    const id = stdout.trim()
    const contextAfter = async (...flags: string[]) => {
      const { code, stderr } = await shell().moorage(['schedules', 'update', agent, id, ...flags])
      assert.equal(code, 0, stderr)
      return (await service().call('GET', `/v1/agents/${agent}/schedules/${id}`)).body.data.context
    }
    assert.deepEqual(await contextAfter('--session', 's2'), { user_id: 'ada', session_id: 's2', plan: 'gold' })
    assert.deepEqual(await contextAfter('--context', '{}'), {})
  })

  test('hints contain the project and the profile of the command that printed them', async () => {
    const project = { body: { name: 'shop' } }
    const { body } = await service().call('POST', '/v1/projects', project)
    const headers = { 'moorage-project': body.data.id }
    const ask = { model: 'builtin/script', tools: [{ type: 'ask_person' }], approvals: { self: true } }
    const rules = [{ call: { tool: 'ask_person', arguments: { question: 'Port?' } }, reply: '{{result}}' }]
    await service().call('POST', '/v1/agents', { headers, body: { name: 'teller', ...ask, script: { rules } } })
    const ran = await shell().moorage(['invoke', 'teller', 'which way', '--project', 'shop'])
    assert.equal(ran.code, 8, ran.stderr)
    const id = /req_\w+/.exec(ran.stderr)?.[0] ?? ''
    assert.ok(ran.stderr.includes(`  moorage approvals answer ${id} "…" --project shop\n`), ran.stderr)
    assert.ok(ran.stderr.includes(`  moorage invocations follow teller ${id} --project shop `), ran.stderr)
    const every = ['--every', '1h', '--project', 'shop']
    const schedule = (await shell().moorage(['schedules', 'create', 'teller', 'hi', ...every])).stdout.trim()
    const begun = await shell().moorage(['schedules', 'run', 'teller', schedule, '--project', 'shop'])
    assert.match(begun.stderr, /moorage invocations follow teller req_\w+ --project shop\n/)
  })

  test('api prints a reply that is not JSON unchanged', async () => {
    const { code, stdout, stderr } = await shell().moorage([
      'api',
      'GET',
      '/v1/usage?format=csv',
      '-H',
      'Accept: text/csv',
    ])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^\w+(,\w+)+\r\n/)
  })

  test('a misspelled role is quoted, with the role that was probably meant', async () => {
    const { code, stderr } = await shell().moorage(['keys', 'create', 'ci', '--role', 'develper'])
    assert.equal(code, 2)
    assert.match(stderr, /Unknown role "develper"\. Did you mean developer\? The roles are admin, /)
  })
})

test('columns stay in line with emoji that are made by a selector, and with rare characters', () => {
  const head = [
    { title: 'A', isCopied: false },
    { title: 'B', isCopied: false },
  ]
  const wide = { '❤️': 2, '1️⃣': 2, 𠮷野: 4, é: 1, 界: 2 }
  const [, ...lines] = renderTable(
    head,
    Object.keys(wide).map((text) => [text, '|']),
  )
  for (const [i, [text, width]] of Object.entries(wide).entries()) {
    assert.equal(lines[i], `${text}${' '.repeat(4 - width)}  |`)
  }
})

describe('an answer that a restart of the service took back', () => {
  const EVENTS = [
    ['start', { request_id: 'req_1' }],
    ['delta', { text: 'half an ' }],
    ['restart', { request_id: 'req_1' }],
    ['delta', { text: 'a whole ' }],
    ['delta', { text: 'answer' }],
    [
      'done',
      { success: true, data: { response: 'a whole answer', request_id: 'req_1', tokens_used: 1, duration_ms: 1 } },
    ],
  ] as const
  const stream = EVENTS.map(([type, data], i) => `id: ${i}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`).join('')

  const invoke = async (flags: string[], isTTY = false) => {
    const server = await startLocalServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' }).end(stream)
    })
    const shell = newShell({ url: server.url, admin: 'mrg_x' })
    try {
      return await shell.moorage(['invoke', 'hello', 'hi', ...flags], { isTTY, env: { NO_COLOR: '1' } })
    } finally {
      shell.remove()
      await server.close()
    }
  }

  test('is not in a file or pipe', async () => {
    const { code, stdout } = await invoke([])
    assert.equal(code, 0)
    assert.equal(stdout, 'a whole answer\n')
  })

  test('with --stream the command fails, because it was printed', async () => {
    const { code, stderr } = await invoke(['--stream'])
    assert.equal(code, 1)
    assert.match(stderr, /The output above is not the whole answer/)
  })

  test('a person at a terminal sees a note', async () => {
    const { code, stderr } = await invoke([], true)
    assert.equal(code, 0)
    assert.match(stderr, /The answer starts again/)
  })
})

test('approvals approve says that a paused run resumes with its project', async () => {
  const till = await startTill()
  const { service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS)
  const shell = newShell(service)
  try {
    const { tools } = refundingAgent(till)
    const agent = await newAgent(service, { model: 'local/tiny', tools, approvals: { self: true } })
    model.reply({ calls: [{ name: 'refund', arguments: { order: 'one', amount: 1 } }] })
    const { request_id } = await startWaiting(service, agent, 'go')
    await service.call('POST', '/v1/pause', { body: { reason: 'fire' } })
    const { code, stderr } = await shell.moorage(['approvals', 'approve', request_id])
    assert.equal(code, 0, stderr)
    assert.match(stderr, /refund is approved\. The run resumes when the pause ends\./)
  } finally {
    shell.remove()
    await stop()
    await till.close()
  }
})

test('approvals approve says that the run waits for further decisions', async () => {
  const till = await startTill()
  const { service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS)
  const shell = newShell(service)
  try {
    const { tools } = refundingAgent(till)
    const agent = await newAgent(service, { model: 'local/tiny', tools, approvals: { self: true } })
    const refund = (amount: number) => ({ name: 'refund', arguments: { order: 'both', amount } })
    model.reply({ calls: [refund(1), refund(2)] }, { text: ['Done.'] })
    const { request_id } = await startWaiting(service, agent, 'go')
    const { body } = await service.call('GET', `/v1/approvals?status=pending&request_id=${request_id}`)
    const [first, second] = body.data.map(({ call_id }: { call_id: string }) => call_id)
    const approve = (call: string) => shell.moorage(['approvals', 'approve', request_id, '--call', call])
    assert.match((await approve(first)).stderr, /refund is approved\. The run waits for 1 more decision\./)
    assert.match((await approve(second)).stderr, /refund is approved\. The run resumes\./)
  } finally {
    shell.remove()
    await stop()
    await till.close()
  }
})

describe('a run that waits for something other than a person', () => {
  test('the SDK and the command line say what it waits for', async () => {
    const { service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS)
    const shell = newShell(service)
    try {
      await service.call('POST', '/v1/agents', { body: { name: 'slow', model: 'local/m' } })
      const client = createClient({ url: service.url, key: service.admin })
      const { promise, resolve } = Promise.withResolvers<void>()
      model.holdNext(promise)
      const asked = model.nextRequest()
      const failed = client.agents.invoke('slow', { message: 'hi' }).catch((error: unknown) => error)
      await asked
      await service.call('POST', '/v1/pause', { body: { reason: 'fire' } })
      // The pause breaks the call off.
      const error = (await failed) as MoorageError
      resolve()
      assert.ok(error instanceof MoorageError)
      assert.equal(error.code, 'waiting')
      assert.match(error.message, /^The run waits: .*paused: fire\. \(req_\w+\)$/)
      assert.match(error.reason ?? '', /paused: fire/)
      const ran = await shell.moorage(['invoke', 'slow', 'again'])
      assert.match(ran.stderr, /The run waits: .*fire|paused/)
      assert.doesNotMatch(ran.stderr, /person/)
      await service.call('POST', '/v1/resume')
    } finally {
      shell.remove()
      await stop()
    }
  })
})

describe('moorage providers set', () => {
  const { shell } = shellOfAdmin()

  test('keeps the stored image support unless --vision is given', async () => {
    const set = async (...more: string[]) => {
      const url = 'https://llm.example.com/v1'
      const args = ['providers', 'set', 'gateway', '--base-url', url, '--no-key', '--json', ...more]
      const { code, stdout, stderr } = await shell().moorage(args)
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout).vision
    }
    assert.equal(await set(), null)
    assert.deepEqual(await set('--vision', '{"llava":true}'), { llava: true })
    assert.deepEqual(await set(), { llava: true })
    assert.equal(await set('--vision', 'false'), false)
    assert.equal(await set('--vision', 'null'), null)
  })
})

describe('errors for clients of OpenAI and MCP', () => {
  const { service, shell } = shellOfAdmin()

  test('keep their reason and their code', async () => {
    const guarded = await newAgent(service(), { security: { mfa: { enabled: true, requiredFor: ['invoke'] } } })
    const ask = (model: string) => ({ model, messages: [{ role: 'user', content: 'hi' }] })
    const call = (path: string, body: unknown) => shell().moorage(['api', 'POST', path, '-d', JSON.stringify(body)])
    const missing = await call('/v1/chat/completions', ask('nobody'))
    assert.equal(missing.code, 3)
    assert.match(missing.stderr, /The model "nobody" does not exist or you don't have access to it./)
    const wrong = await call('/v1/chat/completions', { model: 'hello' })
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /Missing required parameter: messages/)

    const { url, admin } = service()
    const client = createClient({ url, key: admin })
    const body = ask(guarded)
    const refused = { code: 'mfa_required', status: 401 }
    await assert.rejects(client.request({ method: 'POST', path: '/v1/chat/completions', body }), refused)
    const stranger = createClient({ url, key: 'mrg_wrong' })
    for (const path of ['/v1/mcp', '/v1/chat/completions']) {
      await assert.rejects(stranger.request({ method: 'POST', path, body: {} }), { code: 'unauthorized', status: 401 })
    }
  })
})

describe('another API at the URL', () => {
  test('its errors are not shown as errors of Moorage', async () => {
    const server = await startLocalServer((_request, response) => {
      const error = { code: 'invalid_api_key', message: 'Incorrect API key provided' }
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    const shell = newShell({ url: server.url, admin: 'mrg_x' })
    try {
      const client = createClient({ url: server.url, key: 'mrg_x' })
      await assert.rejects(client.agents.list(), { code: 'invalid_reply', status: 401 })
      const { stderr } = await shell.moorage(['agents', 'list'])
      assert.match(stderr, /not in Moorage's format\. Check the URL\./)
    } finally {
      shell.remove()
      await server.close()
    }
  })

  test('login --sso with an unreachable URL ends with exit code 7 and says why', async () => {
    const service = await startService('sqlite')
    const { url } = service
    await service.stop()
    const shell = newShell()
    const { code, stderr } = await shell.moorage(['login', url, '--sso'])
    shell.remove()
    assert.equal(code, 7, stderr)
    assert.match(stderr, /Cannot reach .*ECONNREFUSED/)
  })

  test('createClient without a url says so', () => {
    assert.throws(() => createClient({ key: 'mrg_x' } as never), /createClient requires a url/)
  })
})

test('every run is listed once, even if new runs start during the listing', async () => {
  const service = await startService('sqlite')
  try {
    const invoke = () => service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'hi' } })
    const ids: string[] = []
    for (let i = 0; i < 12; i++) ids.push((await invoke()).body.data.request_id)
    const client = createClient({ url: service.url, key: service.admin })
    const seen: string[] = []
    for await (const { request_id } of client.invocations.list('hello', { limit: 5 })) {
      seen.push(request_id)
      if (seen.length % 5 === 0) await invoke()
    }
    assert.deepEqual(seen, ids.toReversed())
  } finally {
    await service.stop()
  }
})
