import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { readEvents } from '../../support/clients/sse.ts'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { betweenNodes, ENGINES, startService } from '../../support/service/service.ts'
import { newRemoteAgent, SIGNING_SECRET, setRemoteSecret, startRemote } from '../../support/slices/remote-agents.ts'

/** A tool that says how often it was called, and can be held up for one message. */
async function startTool(t: TestContext, held?: string) {
  const calls: string[] = []
  const release = Promise.withResolvers<void>()
  const server = await startLocalServer(async (request, response) => {
    const point = new URL(request.url ?? '/', 'http://tool').searchParams.get('point') ?? ''
    calls.push(point)
    if (point === held) await release.promise
    response.end('calm')
  })
  t.after(() => server.close())
  return {
    url: server.url,
    calls: (point = '') => calls.filter((one) => one === point).length,
    release: release.resolve,
  }
}

/** Where the service dies: when the agent, or its tool, has come to this point. */
const POINTS = ['called', 'said', 'in a tool', 'after a tool', 'kept', 'before the end']

for (const engine of ENGINES) {
  test(`kill -9 of the service, on ${engine}: a remote agent's finished steps are not repeated, and its client gets the answer`, async (t) => {
    const tool = await startTool(t, 'in a tool')
    const remote = await startRemote()
    t.after(() => remote.close())
    const service = await startChildService(t, engine, LOCAL_TOOLS)
    await service.call('PUT', '/v1/secrets/REMOTE', SIGNING_SECRET)
    const look = { type: 'http', name: 'look', url: tool.url, method: 'GET' }
    const definition = { kind: 'remote', remote: { url: remote.url, secret: 'REMOTE' }, tools: [look] }
    const agent = (await service.call('POST', '/v1/agents', { name: 'far', ...definition })).data.id
    const invoke = (point: string) => {
      const headers = { 'Idempotency-Key': `dies-${POINTS.indexOf(point)}` }
      return service.send('POST', `/v1/agents/${agent}/invoke`, { message: point }, headers)
    }
    const reached = new Set<string>()
    const made = new Map<string, number>()
    let isDead = false
    remote.answer(async (run) => {
      const here = async (name: string) => {
        if (isDead || name !== run.message) return
        reached.add(name)
        // The service dies now, and so does this call.
        await new Promise(() => {})
      }
      const make = () => {
        made.set(run.message, (made.get(run.message) ?? 0) + 1)
        return made.get(run.message)
      }
      await here('called')
      run.say('Let me look. ')
      await here('said')
      const sea = await run.tool('look', 'look', { point: run.message })
      await here('after a tool')
      const number = await run.keep('number', make)
      await here('kept')
      run.say('Well: ')
      await here('before the end')
      return `${sea} ${number}`
    })
    const asked = POINTS.map(invoke)
    await until('all have come to their points', () => reached.size + tool.calls('in a tool') === POINTS.length)
    isDead = true
    await service.kill()
    assert.deepEqual(new Set(await Promise.all(asked)), new Set([undefined]))
    tool.release()
    await service.start()
    for (const [index, reply] of (await Promise.all(POINTS.map(invoke))).entries()) {
      const point = POINTS[index] ?? ''
      assert.equal(reply?.body.data?.response, 'Let me look. Well: calm 1', `${point}: ${reply?.text}`)
      assert.equal(made.get(point), 1, point)
      // A GET that was in progress is made again, with the same key.
      assert.equal(tool.calls(point), point === 'in a tool' ? 2 : 1, point)
    }
  })
}

describe('remote agents that die', () => {
  test('an agent that breaks off is called again, with its steps', async (t) => {
    const service = await startService('sqlite', LOCAL_TOOLS)
    t.after(() => service.stop())
    await setRemoteSecret(service)
    const tool = await startTool(t)
    let calls = 0
    const remote = await startRemote()
    // It loses its connection after its first step.
    const breaking = await startLocalServer((request, response) => {
      calls += 1
      const isFirst = calls === 1
      const passed = fetch(remote.url, {
        method: 'POST',
        headers: request.headers as Record<string, string>,
        body: request as never,
        duplex: 'half',
      } as RequestInit)
      passed.then(
        async (reply) => {
          response.writeHead(reply.status, Object.fromEntries(reply.headers))
          for await (const piece of reply.body ?? []) {
            if (isFirst && tool.calls() > 0) return response.destroy()
            response.write(piece)
          }
          if (isFirst) response.destroy()
          else response.end()
        },
        () => response.destroy(),
      )
    })
    t.after(() => Promise.all([remote.close(), breaking.close()]).then(() => {}))
    const tools = [{ type: 'http', name: 'look', url: tool.url, method: 'POST' }]
    const agent = await newRemoteAgent(service, breaking.url, { tools })
    remote.answer(async (run) => `The sea is ${await run.tool('look', 'look')}.`)
    const { status, body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.data.response, 'The sea is calm.')
    assert.deepEqual([tool.calls(), calls], [1, 2])
  })
})

test('an agent that disconnects in a background run is called again, and followers are told that it starts again', async (t) => {
  const service = await startService('sqlite', LOCAL_TOOLS)
  t.after(() => service.stop())
  await setRemoteSecret(service)
  const isRead = Promise.withResolvers<void>()
  let calls = 0
  const delta = (text: string) => `event: delta\ndata: ${JSON.stringify({ text })}\n\n`
  const server = await startLocalServer(async (_request, response) => {
    calls += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (calls > 1) return void response.end(`${delta('All of it.')}event: done\ndata: {}\n\n`)
    response.write(delta('Half of '))
    await isRead.promise
    response.destroy()
  })
  t.after(() => server.close())
  const agent = await newRemoteAgent(service, server.url)
  const headers = { Prefer: 'respond-async' }
  const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' }, headers })
  const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
  const auth = { Authorization: `Bearer ${service.admin}` }
  const told: unknown[] = []
  for await (const { event, data } of readEvents(await fetch(`${service.url}${path}/stream`, { headers: auth }))) {
    if (event === 'delta') isRead.resolve()
    if (event !== 'waiting') told.push(event === 'delta' ? (data as { text: string }).text : event)
  }
  assert.deepEqual(told, ['start', 'Half of ', 'restart', 'All of it.', 'done'])
  const receipt = (await service.call('GET', path)).body.data
  assert.deepEqual([receipt.response, receipt.attempts.length], ['All of it.', 2])
  assert.deepEqual(
    receipt.steps.map(({ kind, reason }: Record<string, string>) => reason ?? kind),
    ['The remote agent ended its answer early.', 'model'],
  )
})

betweenNodes('postgres')('a step requested through another node is done by the one with the run', async (t) => {
  const service = await startService('postgres', LOCAL_TOOLS)
  t.after(() => service.stop())
  const other = await service.beside(LOCAL_TOOLS)
  t.after(() => other.stop())
  await setRemoteSecret(service)
  const tool = await startTool(t)
  const elsewhere: typeof fetch = (url, init) => fetch(String(url).replace(service.url, other.url), init)
  const remote = await startRemote(Date.now, elsewhere)
  t.after(() => remote.close())
  const tools = [{ type: 'http', name: 'look', url: tool.url, method: 'POST' }]
  const agent = await newRemoteAgent(service, remote.url, { tools })
  remote.answer(async (run) => `The sea is ${await run.tool('look', 'look')}.`)
  const { status, body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Go' } })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.data.response, 'The sea is calm.')
  assert.equal(tool.calls(), 1)
})
