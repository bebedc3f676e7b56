import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shellOfAdmin } from '../support/clients/cli.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const DAY_MS = 86_400_000

describe('moorage shows agents by name', () => {
  const { service, shell } = shellOfAdmin()
  const moorage = async (...args: string[]) => {
    const told = await shell().moorage(args)
    assert.equal(told.code, 0, told.stderr)
    return told.stdout
  }

  test('in lists of keys and webhooks and in the audit log; --json prints the IDs', async () => {
    const id = await createAgent(service(), 'front-desk')
    const { id: keyId } = await createKey(service(), { role: 'viewer', agent_id: id })
    await moorage('webhooks', 'create', 'https://example.com/hook', '--events', 'ping', '--agent', 'front-desk')
    assert.match(await moorage('keys', 'list'), /front-desk/)
    assert.match(await moorage('webhooks', 'list'), /front-desk/)
    assert.match(await moorage('audit', 'list'), /createAgent +success +front-desk/)
    for (const list of [
      await moorage('keys', 'list'),
      await moorage('webhooks', 'list'),
      await moorage('audit', 'list'),
    ]) {
      assert.ok(!list.includes('agt_'), list)
    }
    const keys = JSON.parse(await moorage('keys', 'list', '--json'))
    assert.equal(keys.find((key: { id: string }) => key.id === keyId).agent_id, id)
  })

  test('audit list --agent accepts a name, and shows a deleted agent by its ID', async () => {
    const id = await createAgent(service(), 'short-lived')
    assert.match(await moorage('audit', 'list', '--agent', 'short-lived'), /createAgent/)
    await service().call('DELETE', `/v1/agents/${id}`)
    assert.match(await moorage('audit', 'list', '--agent', id), new RegExp(id))
  })

  test("many agents are looked up page by page; a key that can't read agents sees IDs", async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, (_, i) => createAgent(service(), `many-${i}`)))
    for (const agent_id of ids) await createKey(service(), { role: 'viewer', agent_id })
    assert.match(await moorage('keys', 'list', '--limit', '100'), /many-11/)
    const { secret } = await createKey(service(), { permissions: ['manage'] })
    const told = await shell().moorage(['keys', 'list'], { env: { MOORAGE_API_KEY: secret } })
    assert.match(told.stdout, /agt_/)
  })

  test('schedules accept a time from now, show that they are paused, and refuse two kinds of times', async () => {
    const id = (await moorage('schedules', 'create', 'hello', 'Is the tide in?', '--at', '30m')).trim()
    const { at } = JSON.parse(await moorage('schedules', 'get', 'hello', id, '--json'))
    assert.ok(Math.abs(Date.parse(at) - Date.now() - DAY_MS / 48) < 60_000, at)
    await moorage('schedules', 'pause', 'hello', id)
    assert.match(await moorage('schedules', 'list', 'hello'), / paused /)
    const told = await shell().moorage(['schedules', 'create', 'hello', 'x', '--every', '1h', '--cron', '@daily'])
    assert.equal(told.code, 2)
    assert.match(told.stderr, /exactly one of/)
  })

  test('Tab completes agent names as arguments and as option values', async () => {
    const complete = async (...words: string[]) => (await moorage('__complete', ...words)).split('\n').filter(Boolean)
    assert.deepEqual(await complete('invoke', 'front'), ['front-desk'])
    assert.deepEqual(await complete('agents', 'get', 'he'), ['hello'])
    assert.deepEqual(await complete('keys', 'create', 'x', '--agent', 'he'), ['hello'])
    assert.deepEqual(await complete('logs', '--level', 'info', 'he'), ['hello'])
    // A message is free text, a key's ID is not an agent, and an option is completed as an option.
    assert.deepEqual(await complete('invoke', 'hello', 'he'), [])
    assert.deepEqual(await complete('keys', 'get', 'he'), [])
    assert.deepEqual(await complete('agents', 'get', '--jso'), ['--json'])
  })

  test("Tab offers no unsafe names, and nothing at all if the service doesn't answer", async () => {
    const liar = await startLocalServer((_request, response) => {
      const data = ['$(touch pwned)', 'good', 'a b', '`id`'].map((name) => ({ id: 'agt_1', name }))
      const pagination = { limit: 100, offset: 0, total: 4, has_more: false }
      response.setHeader('content-type', 'application/json').setHeader('x-request-id', 'req_1')
      response.end(JSON.stringify({ data, pagination }))
    })
    const complete = () => shell().moorage(['__complete', 'invoke', ''], { env: { MOORAGE_URL: liar.url } })
    assert.equal((await complete()).stdout, 'good\n')
    await liar.close()
    assert.deepEqual(await complete(), { code: 0, stdout: '', stderr: '' })
  })
})

describe('moorage takes durations', () => {
  const { service, shell } = shellOfAdmin()
  const moorage = async (...args: string[]) => {
    const told = await shell().moorage(args)
    assert.equal(told.code, 0, told.stderr)
    return JSON.parse(told.stdout)
  }

  test('keys create --expires 30d, or a time', async () => {
    const create = (expires: string) =>
      moorage('keys', 'create', 'k', '--role', 'viewer', '--expires', expires, '--json')
    const { expires_at } = await create('30d')
    assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 30 * DAY_MS) < 60_000, expires_at)
    const time = new Date(Date.now() + DAY_MS).toISOString()
    assert.equal((await create(time)).expires_at, time)
    const bad = await shell().moorage(['keys', 'create', 'k', '--role', 'viewer', '--expires', 'soon'])
    assert.equal(bad.code, 2)
    assert.match(bad.stderr, /must be a duration such as 15m or a time/)
  })

  test('--grace 1h, or seconds', async () => {
    const { id } = await createKey(service(), { role: 'viewer' })
    for (const grace of ['1h', '3600']) {
      const { previous_secret_expires_at } = await moorage('keys', 'rotate', id, '--grace', grace, '--json')
      assert.ok(Math.abs(Date.parse(previous_secret_expires_at) - Date.now() - 3_600_000) < 60_000)
    }
    for (const grace of ['1500ms', 'long', '-1']) {
      assert.equal((await shell().moorage(['keys', 'rotate', id, '--grace', grace])).code, 2)
    }
  })

  test('audit list --since 1h --until', async () => {
    await until(
      'the log has entries',
      async () => (await moorage('audit', 'list', '--since', '1h', '--json')).length > 0,
    )
    assert.deepEqual(await moorage('audit', 'list', '--until', '1h', '--json'), [])
  })
})
