import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { batchOf } from '../../src/storage/journal/batch.ts'
import type { JournalEntry } from '../../src/storage/journal/entry.ts'
import { batchText } from '../../src/storage/postgres/postgres-write-batch.ts'
import { inTransaction, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { type Service, withService } from '../support/service/service.ts'

const DEAD = 30_000

/** Rows that are found by their key, in the words of a plan. */
const BY_KEY = /^\s*(->\s*)?(Bitmap )?Index (Only )?Scan (using|on) (runs|claims|steps|ledger)_pkey/
const SCANS = /Scan/
/** What comes with the statement, or was found by it. */
const OWN = /Function Scan|CTE Scan|Bitmap Heap Scan|Subquery Scan/

test('the statements that every run sends to PostgreSQL read few pages, without ANALYZE and without VACUUM', (t) =>
  withService('postgres', async (service) => {
    const storage = storageOf(service)
    const entries = await entriesOf(service)
    assert.ok(entries.length >= 5, `${entries.length} entries`)
    // The statements are planned for empty tables first, and then for what many runs have left.
    for (const fill of [async () => {}, () => leaveDead(service)]) {
      await fill()
      for (const entry of entries) {
        const text = await batchText(storage.db, batchOf([entry]))
        const reads = (await planOf(service, text)).filter((line) => SCANS.test(line) && !OWN.test(line))
        assert.deepEqual(
          reads.filter((line) => !BY_KEY.test(line)),
          [],
          text,
        )
      }
    }

    // What the plans do not show: triggers, the transactions of keys, and look-ups outside the journal.
    const pages: number[] = []
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 4 && least > MOST_PAGES; i++) {
      pages.push(await pagesPerRun(service))
      least = Math.min(...pages)
    }
    assert.ok(least > 0 && least <= MOST_PAGES, `${pages.join(', ')} pages a run`)
    t.diagnostic(`${least} pages a run`)
  }))

/** In each commit, a scan of what 30,000 runs have left reads more than a thousand pages. */
const MOST_PAGES = 200

const RUNS_AT_ONCE = 20

/** Pages of the tables and their indexes that statements have looked at, for each of some runs of all kinds. */
async function pagesPerRun(service: Service): Promise<number> {
  const db = storeOf(service)
  const read = async () => {
    const { rows } = await sql<{ inserted: number; pages: number }>`
      select sum(n_tup_ins)::int as inserted,
        sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as pages
      from pg_stat_user_tables join pg_statio_user_tables using (relid)
      where pg_stat_user_tables.relname in ('runs', 'claims', 'steps')`.execute(db)
    return rows[0] ?? assert.fail('no statistics')
  }
  const before = await read()
  await Promise.all(
    Array.from({ length: RUNS_AT_ONCE }, async (_, i) => {
      // A run in a session is a row of its own, however fast it ends.
      const body = { message: 'ahoy', context: { session_id: randomUUID() } }
      const headers = i % 2 ? { 'Idempotency-Key': randomUUID() } : {}
      const { status, text } = await service.call('POST', '/v1/agents/hello/invoke', { body, headers })
      assert.equal(status, 200, text)
    }),
  )
  // Connections tell what they have done a second or so later, all of it at once.
  const after = await until('the statistics', async () => {
    const now = await read()
    return now.inserted >= before.inserted + RUNS_AT_ONCE * 1.5 ? now : undefined
  })
  return Math.ceil((after.pages - before.pages) / RUNS_AT_ONCE)
}

/** What plain runs, keyed ones and those in the background hand to the journal. */
async function entriesOf(service: Service): Promise<JournalEntry[]> {
  const storage = storageOf(service)
  const entries: JournalEntry[] = []
  const { write } = storage
  storage.write = (entry) => {
    entries.push(entry)
    return write(entry)
  }
  const body = { message: 'ahoy', context: { user_id: 'anna', session_id: 'noon' } }
  for (const headers of [{}, { 'Idempotency-Key': 'one' }]) {
    const { status } = await service.call('POST', '/v1/agents/hello/invoke', { body, headers })
    assert.equal(status, 200)
  }
  const headers = { Prefer: 'respond-async' }
  const queued = await service.call('POST', '/v1/agents/hello/invoke', { body, headers })
  const path = `/v1/agents/hello/invocations/${queued.body.data.request_id}/stream`
  assert.match((await service.call('GET', path)).text, /event: end|done/)
  storage.write = write
  return entries
}

/** Runs that have come and gone: no vacuum has removed what is left of them. */
async function leaveDead(service: Service): Promise<void> {
  const db = storeOf(service)
  await sql`insert into runs (id, agent_seq, project_id, status, background, environment, message, context, created_by,
    created_at, owner) select 'req_' || i, 1, 'prj_default', 'running', 0, 'production', 'm', '{}', 'key_1', 1, 'node'
    from generate_series(1, ${DEAD}::int) i`.execute(db)
  await sql`delete from runs where owner = 'node'`.execute(db)
}

/** The plan that a connection keeps, whatever the values are. */
async function planOf(service: Service, text: string): Promise<string[]> {
  const parameters = new Set(text.match(/\$\d+/g)).size
  return inTransaction(service, async (db) => {
    await sql`set local plan_cache_mode = force_generic_plan`.execute(db)
    await sql.raw(`prepare asked as ${text}`).execute(db)
    const values = Array.from({ length: parameters }, () => 'null').join(', ')
    const { rows } = await sql.raw<{ 'QUERY PLAN': string }>(`explain execute asked(${values})`).execute(db)
    await sql`deallocate asked`.execute(db)
    return rows.map((row) => row['QUERY PLAN'])
  })
}
