import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { firstIdAt } from '../../src/lib/id.ts'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { TimeZone } from '../../src/usage/periods.ts'
import { listUsage } from '../../src/usage/sums.ts'
import { IS_LONG } from '../support/running/long.ts'
import { ENGINES } from '../support/service/service.ts'
import { freshPostgres, freshSqlite } from '../support/stores/fresh-store.ts'
import { storeFolder } from '../support/stores/store-folder.ts'

const LINES = IS_LONG ? 1_000_000 : 100_000
const HOUR_MS = 3_600_000
const START = Date.UTC(2026, 9, 1)
const MONTH = { start: START, end: Date.UTC(2026, 10, 1) }
const SHOWN = { project_id: 'prj_default', only: null, except: [] }

for (const engine of ENGINES) {
  describe(`usage of ${LINES} calls in a month, on ${engine}`, () => {
    let storage: Storage
    let close: () => Promise<unknown>
    before(async () => {
      if (engine === 'postgres') {
        const database = await freshPostgres()
        storage = await openStorage({ data: '', database: { url: database.url, poolSize: 2 } })
        close = () => storage.close().then(() => database.drop())
      } else {
        const data = await storeFolder('test')
        await freshSqlite(data)
        storage = await openStorage({ data, database: { poolSize: 1 } })
        close = () => storage.close().then(() => rm(data, { recursive: true }))
      }
      await fill(storage)
    })
    after(() => close())

    /** The faster of two, because the machine has other work too. */
    const timed = async (what: string, groups: ['model'] | ['user_id'], zone = 'UTC') => {
      const periods = new TimeZone(zone).periodsIn(MONTH, 'day', 100)
      let best = Infinity
      let found: Awaited<ReturnType<typeof listUsage>> = []
      for (let i = 0; i < 2; i++) {
        const began = performance.now()
        found = await listUsage(storage.db, { periods, groups, filter: {}, shown: SHOWN })
        best = Math.min(best, performance.now() - began)
      }
      console.log(`${engine}: ${what}: ${best.toFixed(1)} ms, rows ${found.length}`)
      return found
    }

    test('by day and model, from daily sums, hourly sums and single records', async () => {
      const bySums = await timed('a month by day and model', ['model'])
      assert.equal(bySums.length, 31 * 5)
      const total = bySums.reduce((sum, { calls }) => sum + calls, 0)
      assert.equal(total, LINES)
      assert.equal(
        bySums.reduce((sum, { cost_nano }) => sum + cost_nano, 0),
        LINES * 1_000,
      )
      const byHours = await timed('a month by day and model, where days begin at 22:00 UTC', ['model'], 'Europe/Berlin')
      assert.equal(
        byHours.reduce((sum, { calls }) => sum + calls, 0),
        LINES,
      )
      const byLines = await timed(
        'a month by day and model, where days begin at 18:15 UTC',
        ['model'],
        'Asia/Kathmandu',
      )
      assert.equal(
        byLines.reduce((sum, { calls }) => sum + calls, 0),
        LINES,
      )
    })
  })
}

/** Calls of 20 agents with 5 models and 4 keys, as many in each hour. */
async function fill({ db, engine }: Storage): Promise<void> {
  const hours = (MONTH.end - MONTH.start) / HOUR_MS
  // Two indexes of which the sums know nothing: they are made of all lines at once, not line by line.
  await sql`drop index ledger_by_request`.execute(db)
  await sql`drop index ledger_by_user`.execute(db)
  const padded = engine === 'postgres' ? sql`lpad(n::text, 13, '0')` : sql`printf('%013d', n)`
  for (let hour = 0; hour < hours; hour++) {
    const [first, last] = [hour, hour + 1].map((at) => sql.lit(Math.floor((at * LINES) / hours)))
    const time = START + hour * HOUR_MS
    // Ids begin with the time, so that they sort as times do.
    await sql`insert into ledger (id, project_id, agent_seq, agent_id, request_id, step, attempt, purpose, environment,
        key_id, user_id, door, model, status, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nano,
        price, created_at)
      with recursive numbers(n) as (select ${first} union all select n + 1 from numbers where n + 1 < ${last})
      select ${sql.lit(firstIdAt('led', time))} || ${padded}, 'prj_default', n % 20, 'agt_' || (n % 20), 'req_' || n, 0, 1,
        'run', 'production', 'key_' || (n % 4), 'user_' || (n % 1000), 'api', 'local/model-' || (n / 20 % 5), 'completed',
        100, 10, 0, 20, 0, 1000, '{"source":"configuration"}', ${sql.lit(time)}
      from numbers`.execute(db)
  }
  await sql`create index ledger_by_request on ledger (request_id) where request_id is not null`.execute(db)
  await sql`create index ledger_by_user on ledger (user_id, id) where user_id is not null`.execute(db)
  // As PostgreSQL does by itself a minute later. SQLite has its statistics from the schema.
  if (engine === 'postgres') await sql`analyze ledger`.execute(db)
  const sums = sql`insert into usage_sums (project_id, hours, start, agent_id, version, environment, key_id, person_id, door,
      model, purpose, calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_nano, unpriced, lost)`
  await sql`${sums} select project_id, 1, created_at / ${sql.lit(HOUR_MS)}, agent_id, '', environment, key_id, '', door,
      model, purpose, count(*), sum(input_tokens), sum(cached_tokens), 0, sum(output_tokens), sum(reasoning_tokens),
      sum(cost_nano), 0, 0
    from ledger group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11`.execute(db)
  await sql`${sums} select project_id, 24, start / 24 * 24, agent_id, '', environment, key_id, '', door,
      model, purpose, sum(calls), sum(input_tokens), sum(cached_tokens), 0, sum(output_tokens), sum(reasoning_tokens),
      sum(cost_nano), 0, 0
    from usage_sums where hours = 1 group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11`.execute(db)
  if (engine === 'postgres') await sql`analyze usage_sums`.execute(db)
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from usage_sums`.execute(db)
  console.log(`${engine}: ${rows[0]?.rows} sums of hours and days`)
}
