import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { Contents } from '../../src/memory/search/contents.ts'
import { ScopeReader } from '../../src/memory/warm/scope-reader.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { until } from '../support/running/until.ts'
import { testPostgres } from '../support/stores/postgres.ts'

describe('PostgreSQL queries for each conversation', () => {
  test('are prepared once per connection', async (t) => {
    const planned = await plannedAfterReads(t, false)
    assert.deepEqual(planned, [
      { name: 'contents', uses: 7 },
      { name: 'news', uses: 7 },
    ])
  })

  test('are not prepared if a pooler can change the connection', async (t) => {
    assert.deepEqual(await plannedAfterReads(t, true), [])
  })
})

async function plannedAfterReads(t: { after(close: () => Promise<void>): void }, isPooled: boolean) {
  const { url, drop } = await testPostgres()
  const storage = await openStorage({
    data: '',
    database: { url, poolSize: 1, ...(isPooled && { listenUrl: url }) },
  })
  t.after(async () => {
    await storage.close()
    await drop()
  })
  await until('it hears', () => storage.hears())
  const [news, contents] = [new ScopeReader(storage.db), new Contents(storage.db)]
  for (let i = 0; i < 7; i++) {
    const scope = { agent_seq: 1, user_id: `user ${i}` }
    const seen = await news.readNews({ ...scope, level: 1 }, { size: 0, seq: 0, generation: undefined })
    assert.deepEqual(seen, { generation: undefined, count: 0, rows: [], more: false })
    assert.deepEqual(await contents.read(scope, [1, 2]), new Map())
  }
  const { rows } = await sql`
    select name, generic_plans + custom_plans as uses from pg_prepared_statements order by name`.execute(storage.db)
  return rows
}
