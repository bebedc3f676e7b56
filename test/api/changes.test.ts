import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { cache } from '../../src/lib/cache.ts'
import { announce } from '../../src/storage/database.ts'
import { openMemo } from '../../src/storage/memo.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { partsOf, storageOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { onBothEngines, type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'
import { onBothStores } from '../support/stores/store.ts'

/** Loads values that say how often each key was loaded. */
function counter() {
  const counts = new Map<string, number>()
  return async (key: string) => {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    return `${key} ${counts.get(key)}`
  }
}

describe('a cache', () => {
  const firstWord = (_value: string, key: string) => [key.split('-')[0] as string]

  test("forgets one subject's values and values without a subject, and keeps all others", async () => {
    const remembered = cache<string>()
    const load = counter()
    const look = async () => [
      await remembered.get('a-1', load, firstWord),
      await remembered.get('a-2', load, firstWord),
      await remembered.get('b-1', load, firstWord),
      await remembered.get('all', load),
    ]
    assert.deepEqual(await look(), ['a-1 1', 'a-2 1', 'b-1 1', 'all 1'])
    remembered.forget('a')
    assert.deepEqual(await look(), ['a-1 2', 'a-2 2', 'b-1 1', 'all 2'])
    remembered.forget()
    assert.deepEqual(await look(), ['a-1 3', 'a-2 3', 'b-1 2', 'all 3'])
  })

  test('does not keep a value if its subject changed while it was loading', async () => {
    const remembered = cache<string>()
    const load = counter()
    const started = [
      remembered.get('a-1', load, firstWord),
      remembered.get('b-1', load, firstWord),
      remembered.get('all', load),
    ]
    remembered.forget('a')
    assert.deepEqual(await Promise.all(started), ['a-1 1', 'b-1 1', 'all 1'])
    assert.equal(await remembered.get('all', load), 'all 2')
    assert.equal(await remembered.get('a-1', load, firstWord), 'a-1 2')
    assert.equal(await remembered.get('b-1', load, firstWord), 'b-1 1')
  })

  test('loads once for simultaneous reads, and again for reads after a change', async () => {
    const remembered = cache<string>()
    const load = counter()
    const get = () => remembered.get('a-1', load, firstWord)
    const first = [get(), get()]
    remembered.forget('b')
    const later = [get(), get()]
    assert.deepEqual(await Promise.all([...first, ...later]), ['a-1 1', 'a-1 1', 'a-1 2', 'a-1 2'])
    assert.equal(get(), 'a-1 2', 'without a promise, because it is in memory')
  })

  test('says whether it still has a value', async () => {
    let isTold = true
    const remembered = cache<{ key: string }>(() => isTold)
    const get = async (key: string) =>
      (await remembered.get(
        key,
        async () => ({ key }),
        () => [key],
      )) as { key: string }
    const [a, b] = [await get('a'), await get('b')]
    remembered.forget('a')
    assert.deepEqual([remembered.holds(a), remembered.holds(b)], [false, true])
    isTold = false
    assert.equal(remembered.holds(b), false)
  })

  test('never exceeds its size limit', async () => {
    const remembered = cache<string>(() => true, 2)
    const load = counter()
    for (const key of ['a-1', 'a-2', 'a-3']) await remembered.get(key, load, firstWord)
    assert.equal(await remembered.get('a-1', load, firstWord), 'a-1 2')
    remembered.forget('a')
    assert.equal(await remembered.get('a-3', load, firstWord), 'a-3 2')
  })
})

onBothStores('cached values', (opened) => {
  test('are forgotten by the announced id, or all of that kind if no id is announced', async () => {
    const { storage } = opened()
    const memo = openMemo(storage)
    const load = counter()
    await until('changes are heard of', () => storage.hears())
    const look = async () => [
      await memo(
        'keys',
        'one',
        () => load('one'),
        () => ['key_1'],
      ),
      await memo(
        'keys',
        'two',
        () => load('two'),
        () => ['key_2'],
      ),
      await memo('agents', 'three', () => load('three')),
    ]
    assert.deepEqual(await look(), ['one 1', 'two 1', 'three 1'])
    await storage.transaction((db) => announce(db, 'keys', 'key_1'))
    assert.equal((await look())[1], 'two 1')
    await until('the first is forgotten', async () => (await look())[0] !== 'one 1')
    assert.deepEqual((await look()).slice(1), ['two 1', 'three 1'])
    await storage.transaction((db) => announce(db, 'keys'))
    await until('the second is forgotten', async () => (await look())[1] !== 'two 1')
    assert.equal((await look())[2], 'three 1')
  })
})

onBothEngines("a project's cached snapshot", (started) => {
  test('is reused until something in its project changes, and not affected by other projects', async () => {
    const service = started()
    const storage = storageOf(service)
    const { findProject, memo } = partsOf(service)
    const { id: other } = (await service.call('POST', '/v1/projects', { body: { name: 'other' } })).body.data
    const holds = async (ref: string, change: () => Promise<unknown>) => {
      await until('changes are heard of', () => storage.hears())
      let before: object | undefined
      await until('it is remembered', async () => {
        before = await findProject(ref)
        return before !== undefined && memo.holds('snapshots', before)
      })
      await change()
      return memo.holds('snapshots', before as object)
    }
    const there = { 'Moorage-Project': 'other' }
    const within = (method: string, path: string, body?: unknown) => async () => {
      const { status, text } = await service.call(method, path, { body, headers: there })
      assert.ok(status < 300, text)
    }
    const changes = {
      limits: within('PATCH', `/v1/projects/${other}`, { limits: { concurrent_runs: 5 } }),
      pause: within('POST', '/v1/pause', { reason: 'a loop', scope: 'project' }),
      provider: within('PUT', '/v1/providers/mine', { type: 'openai', api_key: 'sk-x' }),
      price: within('PUT', '/v1/prices/mine/small', { input: 1, output: 2 }),
      webhook: within('POST', '/v1/webhooks', { url: 'https://example.com/hook', events: ['*'] }),
      budget: within('POST', '/v1/budgets', {
        name: 'all',
        scope: { type: 'project' },
        limit: { tokens: 5 },
        per: 'day',
      }),
    }
    for (const [what, change] of Object.entries(changes)) {
      let held: boolean | undefined
      assert.equal(
        await holds('other', async () => {
          held = await holds('default', change)
        }),
        false,
        what,
      )
      assert.equal(held, true, `${what} of another project`)
    }
  })
})

describe('two nodes on one PostgreSQL', () => {
  test('what one node changes or deletes takes effect on the other, and everything else keeps working', async (t) => {
    const first = await startService('postgres')
    const second = await first.beside()
    t.after(async () => {
      await second.stop()
      await first.stop()
    })
    const busy = await createAgent(first, 'busy')
    const changing = await createAgent(first, 'changing', { description: 'before' })
    const { secret } = await createKey(first, { role: 'developer', agent_id: busy })
    const other = await createKey(first, { role: 'viewer' })
    const statusOfOther = async () => (await second.call('GET', '/v1/keys/self', { key: other.secret })).status
    assert.deepEqual([await statusOfOther(), (await call(second, busy, secret)).status], [200, 200])

    await first.call('PATCH', `/v1/agents/${changing}`, { body: { description: 'after' } })
    await first.call('POST', `/v1/agents/${changing}/deployments`, {
      body: { environment: 'production', version: 'v1' },
    })
    await first.call('DELETE', `/v1/keys/${other.id}`)
    await until('its key is refused', async () => (await statusOfOther()) === 401)
    assert.equal((await call(second, busy, secret)).status, 200)

    await first.call('DELETE', `/v1/agents/${busy}`)
    await until('its key went with it', async () => (await call(second, busy, secret)).status === 401)
  })

  test('a node that reconnects after losing the connection has forgotten all cached values', async (t) => {
    const database = await freshPostgres()
    const open = () => openStorage({ data: '', database: { url: database.url, poolSize: 2 } })
    const storage = await open()
    const other = await open()
    t.after(async () => {
      await Promise.all([storage.close(), other.close()])
      await database.drop()
    })
    const memo = openMemo(storage)
    const load = counter()
    const look = async () =>
      memo(
        'agents',
        'one',
        () => load('one'),
        () => ['agt_1'],
      )
    await until('changes are heard of', () => storage.hears())
    await until('it is remembered', async () => (await look()) === (await look()))
    const before = await look()
    await other.transaction(async (db) => {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'moorage listener' and datname = current_database()`.execute(db)
      await announce(db, 'agents', 'agt_1')
    })
    await until('it was cut off', () => !storage.hears())
    await until('it hears again', () => storage.hears())
    assert.notEqual(await look(), before)
  })
})

function call(service: Service, agent: string, key: string) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { key, body: { message: 'go' } })
}
