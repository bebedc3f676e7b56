import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { type A2aServer, startA2aServer } from '../support/outside/a2a-server.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import {
  newRemoteAgent,
  type RemoteServer,
  SIGNING_SECRET,
  setRemoteSecret,
  startRemote,
} from '../support/slices/remote-agents.ts'
import { createKey } from '../support/slices/resources.ts'

type Point = { point: string; status: string; detail: string | null }

onAnyEngine(
  'POST /v1/agents/{agent_id}/remote/check',
  (service) => {
    let remote: RemoteServer
    let far: A2aServer
    before(async () => {
      await setRemoteSecret(service())
      remote = await startRemote()
      far = await startA2aServer({ streaming: false })
    })
    after(async () => {
      await remote.close()
      await far.close()
    })

    const check = (agent: string, more: { body?: object; key?: string } = {}) =>
      service().call('POST', `/v1/agents/${agent}/remote/check`, { body: {}, ...more })
    const told = (points: Point[]) =>
      points.map(({ point, status, detail }) => [status, detail === null ? point : `${point}: ${detail}`].join(' '))

    test('an agent that follows the contract passes every point, and its steps are only simulated', async () => {
      const look = { type: 'http', name: 'look', url: 'http://127.0.0.1:1/', method: 'POST' }
      const agent = await newRemoteAgent(service(), remote.url, { tools: [look], instructions: 'Be brief.' })
      const heard = new Set<string>()
      remote.answer(async (run) => {
        heard.add(`${run.message} ${run.instructions}`)
        return `${await run.tool('sea', 'look')} ${await run.askPerson('captain', 'Sail?', ['aye', 'no'])}`
      })
      const { status, body } = await check(agent, { body: { message: 'Sail' } })
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(told(body.data.points), [
        'ok a signed call is answered: 2 steps requested',
        'ok a wrong signature is refused',
        'ok an old call is refused',
        "ok a repeated call with the steps' results is answered without new steps",
        'ok steps with results are not requested again, and the others come in the same order',
        'ok a call with a waiting step ends',
        'ok the agent survives a closed connection',
      ])
      assert.equal(body.data.error, null)
      assert.deepEqual([...heard], ['Sail Be brief.'])
      const runs = await service().call('GET', `/v1/agents/${agent}/invocations`)
      assert.equal(runs.body.pagination.total, 0)
      const audit = await service().call('GET', '/v1/audit-log?action=checkRemote&limit=1')
      assert.deepEqual([audit.body.data[0].target, audit.body.data[0].outcome], [agent, 'success'])
    })

    test('each step has a default result if the request gives none', async () => {
      const agent = await newRemoteAgent(service(), remote.url)
      const heard: string[] = []
      remote.answer(async (run) => {
        const kept = [
          await run.keep('none', () => 0),
          await run.keep('not', () => false),
          await run.keep('berth', () => 7),
        ]
        const found = await run.searchMemory('seek', 'rope')
        const model = await run.askModel('ask', { message: 'Calm?' })
        const value = await run.askModel('value', { message: 'Calm?', output: { schema: { type: 'object' } } })
        const asked = [await run.askPerson('open', 'Sail?'), await run.writeMemory('note', 'The sea is calm')]
        heard.push(JSON.stringify([...kept, found, model, value, ...asked]))
        return 'done'
      })
      const { body } = await check(agent)
      assert.ok(
        body.data.points.every(({ status }: Point) => status === 'ok'),
        JSON.stringify(body.data),
      )
      assert.deepEqual([...new Set(heard)], ['[0,false,7,[],"ok",{},"yes",{"id":"mem_checked"}]'])
    })

    test('reports what fails, without secrets, and what could not be tried', async () => {
      const agent = await newRemoteAgent(service(), remote.url)
      remote.answer(() => {
        throw new Error(`no: ${SIGNING_SECRET.value}`)
      })
      const { body } = await check(agent)
      assert.deepEqual(
        body.data.points.map(({ status }: Point) => status),
        ['failed', 'ok', 'ok', 'not_tried', 'not_tried', 'not_tried', 'not_tried'],
      )
      assert.equal(body.data.points[0].detail, 'The remote agent failed: no: [secret REMOTE]')
      const unset = await newRemoteAgent(service(), remote.url, { remote: { url: remote.url, secret: 'MISSING' } })
      const refused = (await check(unset)).body.data
      assert.deepEqual([refused.points, refused.error], [[], 'The secret MISSING is not configured'])
      const url = 'http://169.254.169.254/'
      await service().call('PUT', '/v1/secrets/META', { body: { ...SIGNING_SECRET, hosts: ['169.254.169.254'] } })
      const blocked = await check(await newRemoteAgent(service(), url, { remote: { url, secret: 'META' } }))
      assert.match(blocked.body.data.points[0].detail, /^The remote agent can't be called \(blocked_address\)/)
    })

    test('for an A2A agent, reads the card and sends no message', async () => {
      const agent = await newAgent(service(), { kind: 'remote', remote: { a2a: far.card } })
      const { body } = await check(agent)
      assert.deepEqual(told(body.data.points), [
        `ok the agent card is readable and contains a URL: A2A 1.0 at ${far.url}/a2a; its answers are not streamed`,
        'ok the URL responds: a task that does not exist is not found',
      ])
      assert.deepEqual(far.methods(), ['card', 'GetTask'])
      const barred = await newAgent(service(), { kind: 'remote', remote: { a2a: 'http://127.0.0.1:1/card' } })
      assert.deepEqual(told((await check(barred)).body.data.points), [
        "failed the agent card is readable and contains a URL: The remote agent can't be called (invalid_url): the URL must not use port 1",
        'not_tried the URL responds: a task that does not exist is not found: the card could not be read',
      ])
    })

    test('for an A2A agent whose card names another host, says which headers are not sent there', async (t) => {
      const at = (url: string) => `${url.replace('127.0.0.1', 'localhost')}/a2a`
      const supported = (url: string) => ({ url: at(url), protocolBinding: 'JSONRPC', protocolVersion: '1.0' })
      const other = await startA2aServer({ card: (url) => ({ supportedInterfaces: [supported(url)] }) })
      t.after(() => other.close())
      const settings = { a2a: other.card, headers: { 'X-Berth': '7' } }
      const { body } = await check(await newAgent(service(), { kind: 'remote', remote: settings }))
      const { host } = new URL(at(other.url))
      assert.equal(
        body.data.points[0].detail,
        `A2A 1.0 at ${at(other.url)}; its answers are streamed. The agent card names another host (${host}), and X-Berth can't be sent there.`,
      )
      assert.deepEqual(
        other.seen.map(({ method, headers }) => [method, headers['x-berth']]),
        [
          ['card', '7'],
          ['GetTask', undefined],
        ],
      )
    })

    test("a call takes at most the check's timeout and the agent's own", async () => {
      remote.answer((run) => new Promise((resolve) => run.signal.addEventListener('abort', () => resolve('late'))))
      const agent = await newRemoteAgent(service(), remote.url)
      const soon = (await check(agent, { body: { timeout_ms: 200 } })).body.data
      assert.equal(soon.points[0].detail, 'it did not finish within 0.2 s')
      const settings = { url: remote.url, secret: 'REMOTE', timeout_ms: 100 }
      const hasty = await newRemoteAgent(service(), remote.url, { remote: settings })
      assert.equal((await check(hasty)).body.data.points[0].detail, 'it did not finish within 0.1 s')
    })

    test('reports an A2A agent whose card or URL does not answer in time', async (t) => {
      const silent = await startLocalServer(() => {})
      t.after(() => silent.close())
      const far_away = { a2a: `${silent.url}/card` }
      const mute = await newAgent(service(), { kind: 'remote', remote: far_away })
      assert.deepEqual(told((await check(mute, { body: { timeout_ms: 200 } })).body.data.points), [
        'failed the agent card is readable and contains a URL: it did not answer within 0.2 s',
        'not_tried the URL responds: a task that does not exist is not found: the card could not be read',
      ])
      const address = { url: `${silent.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }
      const other = await startA2aServer({ card: () => ({ supportedInterfaces: [address] }) })
      t.after(() => other.close())
      const deaf = await newAgent(service(), { kind: 'remote', remote: { a2a: other.card } })
      // The machine may be so busy that the card comes too late as well.
      const answers = await until('a check that has read the card', async () => {
        const [card, second] = (await check(deaf, { body: { timeout_ms: 200 } })).body.data.points
        return card.status === 'ok' && second
      })
      assert.deepEqual([answers.status, answers.detail], ['failed', 'it did not answer within 0.2 s'])
    })

    test('moorage agents check prints the points, and exits with 1 if one fails', async (t) => {
      const shell = newShell()
      t.after(() => shell.remove())
      const agent = await newRemoteAgent(service(), remote.url)
      const env = { MOORAGE_URL: service().url, MOORAGE_API_KEY: service().admin }
      remote.answer(() => 'Ahoy.')
      const passed = await shell.moorage(['agents', 'check', agent, '-m', 'Ahoy', '--timeout', '20s'], { env })
      assert.equal(passed.code, 0, passed.stderr)
      assert.match(passed.stdout, /^ok +a signed call is answered: 0 steps requested\n/)
      remote.answer(() => {
        throw new Error('aground')
      })
      const failed = await shell.moorage(['agents', 'check', agent], { env })
      assert.equal(failed.code, 1)
      assert.match(failed.stdout, /^failed +a signed call is answered: The remote agent failed: aground\n/)
      assert.match(failed.stderr, /1 of 7 checks failed/)
    })

    test('403 without write, and 409 for an agent that is not remote', async () => {
      const agent = await newRemoteAgent(service(), remote.url)
      const { secret: key } = await createKey(service(), { permissions: ['read', 'invoke'] })
      assert.equal((await check(agent, { key })).status, 403)
      const near = await check(await newAgent(service(), { name: 'near' }))
      assert.equal(near.status, 409)
      assert.match(near.body.error.message, /"near"/)
      assert.equal((await check('nobody')).status, 404)
    })
  },
  LOCAL_TOOLS,
)
