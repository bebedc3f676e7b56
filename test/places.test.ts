import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type KyselyPlugin, sql } from 'kysely'
import { Client } from 'pg'
import { createLog } from '../src/lib/log.ts'
import { announce } from '../src/storage/database.ts'
import { LEASE_MS } from '../src/storage/leases/lease.ts'
import { openPlaces } from '../src/storage/leases/places.ts'
import { LOCAL_TOOLS, startLocalServer } from './support/outside/local-server.ts'
import { until } from './support/running/until.ts'
import { newAgent } from './support/service/agents.ts'
import { type Service, startService } from './support/service/service.ts'
import { later } from './support/slices/resources.ts'
import { countQueries, listQueries } from './support/stores/count-queries.ts'

describe('max_concurrency of an agent, on two nodes', () => {
  let first: Service
  let second: Service
  let tool: Awaited<ReturnType<typeof startLocalServer>>
  let calls = 0
  let atOnce = 0
  let most = 0
  /** Runs last until this resolves. */
  let gate: Promise<unknown> = Promise.resolve()
  before(async () => {
    first = await startService('postgres', {
      ...LOCAL_TOOLS,
    })
    second = await first.beside()
    tool = await startLocalServer(async (_request, response) => {
      calls++
      most = Math.max(most, ++atOnce)
      await gate
      atOnce--
      response.end('done')
    })
  })
  after(async () => {
    await second.stop()
    await first.stop()
    await tool.close()
  })

  /** An agent whose tool tells how many of its runs are under way at once. */
  const limited = (max_concurrency: number) => {
    calls = atOnce = most = 0
    return newAgent(first, {
      model: 'builtin/script',
      script: { rules: [{ call: { tool: 'act' }, reply: 'acted' }] },
      tools: [{ type: 'http', name: 'act', url: tool.url }],
      limits: { max_concurrency },
    })
  }
  const invoke = (node: Service, agent: string, headers: Record<string, string> = {}) =>
    node.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
  const placesTaken = async () =>
    (await first.app.parts.storage.db.selectFrom('places').select('slot').execute()).length

  test('holds for both together, whatever comes at the same moment', async () => {
    const agent = await limited(3)
    for (let round = 0; round < 3; round++) {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      const statuses: number[] = []
      const asked = Array.from({ length: 20 }, async (_, i) => {
        statuses.push((await invoke(i % 2 ? first : second, agent)).status)
      })
      await until('all but three are refused', () => statuses.length === 17)
      assert.deepEqual(new Set(statuses), new Set([429]))
      resolve()
      await Promise.all(asked)
      assert.deepEqual(statuses.slice(17), [200, 200, 200])
    }
    assert.deepEqual([calls, most], [9, 3])
  })

  test('a place is free for either node as soon as its run is answered', async () => {
    const agent = await limited(1)
    for (let i = 0; i < 6; i++) assert.equal((await invoke(i % 2 ? first : second, agent)).status, 200)
    assert.equal(await placesTaken(), 0)
  })

  test('what is queued waits for a place, on whichever node, and all of it runs', async () => {
    const agent = await limited(2)
    // Two are there at once, however slowly they come; a third would come soon.
    gate = until('two run', () => most >= 2).then(() => delay(200))
    const queued = { Prefer: 'respond-async' }
    await Promise.all(Array.from({ length: 12 }, (_, i) => invoke(i % 2 ? first : second, agent, queued)))
    await until(
      'all have run',
      async () => {
        const { body } = await first.call('GET', `/v1/agents/${agent}/invocations?status=completed`)
        return body.pagination.total === 12
        // Twelve runs, two at a time.
      },
      10_000,
    )
    assert.equal(calls, 12)
    assert.ok(most <= 2, `${most} at once`)
  })

  test('a node that died has its places until its lease ends', async () => {
    const agent = await limited(1)
    const { db } = first.app.parts.storage
    const { seq } = await db.selectFrom('agents').select('seq').where('id', '=', agent).executeTakeFirstOrThrow()
    const dead = { agent_seq: seq, slot: 1, owner: 'service:dead', lease_until: Date.now() + LEASE_MS }
    await db.insertInto('places').values(dead).execute()
    assert.equal((await invoke(second, agent)).status, 429)
    await later(second, LEASE_MS + 1_000, async () => assert.equal((await invoke(second, agent)).status, 200))
  })

  test('what is queued is not touched while another node has the places', async () => {
    const agent = await limited(1)
    gate = Promise.resolve()
    const { db } = first.app.parts.storage
    const { seq } = await db.selectFrom('agents').select('seq').where('id', '=', agent).executeTakeFirstOrThrow()
    const other = { agent_seq: seq, slot: 1, owner: 'service:other', lease_until: Date.now() + LEASE_MS }
    await db.insertInto('places').values(other).execute()
    assert.equal((await invoke(first, agent, { Prefer: 'respond-async' })).status, 202)
    const versions = new Set<string>()
    const look = async () => {
      const { rows } = await sql<{ version: string; status: string }>`
        select xmin::text as version, status from invocations where agent_seq = ${seq}`.execute(db)
      versions.add(rows[0]?.version ?? '')
      return rows[0]?.status
    }
    for (let i = 0; i < 75; i++) {
      await look()
      await delay(20)
    }
    // Inserted; and each of the two nodes may take it once, and give it back, before it knows.
    assert.ok(versions.size <= 5, `written ${versions.size} times`)
    await db.deleteFrom('places').where('owner', '=', 'service:other').execute()
    await first.app.parts.storage.transaction((held) => announce(held, 'places', String(seq)))
    await until('it runs', async () => (await look()) === 'completed')
  })

  test('what is queued costs nothing while another node has the places, and begins when one is free', async () => {
    const agent = await limited(1)
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    const answered = invoke(second, agent)
    await until('it runs', () => calls === 1)
    const { body } = await invoke(first, agent, { Prefer: 'respond-async' })
    const asked = await listQueries('postgres', () => delay(2_000))
    // When it was queued, once more after that, and if a node searches for the work of dead ones, which is every ten seconds.
    const looks = asked.filter((query) => query.includes('"places"')).length
    resolve()
    assert.ok(looks <= 4, `${looks} looks for a place in two seconds`)
    assert.equal((await answered).status, 200)
    const freed = Date.now()
    const { started_at } = await until('it has run', async () => {
      const reply = await first.call('GET', `/v1/agents/${agent}/invocations/${body.data.request_id}`)
      return reply.body.data.status === 'completed' && reply.body.data
    })
    const late = Date.parse(started_at) - freed
    // Without the word of the other node it would begin when this one searches again, which is every ten seconds.
    assert.ok(late < 5_000, `it began ${late} ms after the place was free`)
  })

  test('an agent without a limit does not pay for it', async () => {
    const agent = await newAgent(first)
    const answered = async () => assert.equal((await invoke(second, agent)).status, 200)
    await until('all is remembered', async () => (await countQueries('postgres', answered)) === 1)
  })

  describe('a place that no run knows of', () => {
    const log = createLog({ level: 'silent', format: 'json' })
    const rows = () => first.app.parts.storage.db.selectFrom('places').selectAll().orderBy('slot').execute()

    test('is not renewed with the others of its node, so that its lease ends', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      const { storage } = first.app.parts
      let time = 1_000
      const places = openPlaces({ storage, node: 'node', now: () => time, log })
      const run = {}
      assert.equal(await places.take(run, 77, 1), true)
      // What an insert leaves when its reply is lost.
      await storage.db
        .insertInto('places')
        .values({ agent_seq: 77, slot: 2, owner: 'node', lease_until: time })
        .execute()
      time += 5_000
      t.mock.timers.tick(LEASE_MS / 4)
      const held = { agent_seq: 77, slot: 1, owner: 'node', lease_until: time + LEASE_MS }
      await until('the place of the run is renewed', async () => (await rows())[0]?.lease_until === held.lease_until)
      assert.deepEqual(await rows(), [held, { ...held, slot: 2, lease_until: 1_000 }])
      await places.close()
    })

    test('does not come from a try that fails after another has got one', async () => {
      const { storage, config } = first.app.parts
      let queries = 0
      const failing: KyselyPlugin = {
        transformQuery({ node }) {
          if (++queries === 2) throw new Error('cut off')
          return node
        },
        transformResult: async ({ result }) => result,
      }
      const cut = { ...storage, db: storage.db.withPlugin(failing) }
      const places = openPlaces({ storage: cut, node: 'node', now: Date.now, log })
      const other = new Client({ connectionString: config.database.url })
      await other.connect()
      await other.query('begin')
      await other.query(`insert into places values (78, 1, 'other', ${Date.now() + LEASE_MS})`)
      const runs = [{}, {}]
      const asked = Promise.allSettled(runs.map((run) => places.take(run, 78, 2)))
      await until('the first try waits for the other node', async () => {
        const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        return (await waiting.execute(storage.db)).rows.length === 1
      })
      await other.query('commit')
      await other.end()
      assert.deepEqual(
        (await asked).map(({ status }) => status),
        ['fulfilled', 'rejected'],
      )
      await Promise.all(runs.map((run) => places.release(run)))
      assert.deepEqual(
        (await rows()).map(({ owner }) => owner),
        ['other'],
      )
      await storage.db.deleteFrom('places').execute()
      await places.close()
    })
  })
})
