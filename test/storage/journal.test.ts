import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { batchOf } from '../../src/storage/journal/batch.ts'
import type { JournalEntry } from '../../src/storage/journal/entry.ts'
import { BacklogFullError, openJournal } from '../../src/storage/journal/journal.ts'
import type { BulkTable, EndedTable } from '../../src/storage/journal/rows.ts'
import { writeRows } from '../../src/storage/journal/write-rows.ts'
import { openStorage, type Storage } from '../../src/storage/open-storage.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { onEveryEngine } from '../support/service/service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'
import { onBothStores, type Store } from '../support/stores/store.ts'

const SETTINGS = { table: 'settings', columns: ['name', 'value'] } as const

onBothStores('the journal', (opened, engine) => {
  const open = (backlog = 10_000) => openJournal(opened().storage, { backlog })
  const entry = (name: string, more: Partial<JournalEntry> = {}): JournalEntry => ({
    writes: [{ into: SETTINGS, row: { name, value: 'written' } }],
    ...more,
  })
  const written = async (prefix: string) => (await rowsOf(opened(), prefix)).map(({ name }) => name)

  test('commits entries that wait at the same time together', async () => {
    const journal = open()
    const count = await countingCommits(opened())
    const results = await Promise.all(Array.from({ length: 300 }, (_, i) => journal.commit(entry(`group-${i}`))))
    assert.ok(results.every((result) => result === true))
    assert.equal((await written('group-')).length, 300)
    const commits = await count('group-')
    assert.ok(commits >= 1 && commits <= 3, `${commits} commits for 300 entries`)
  })

  test('commits entries that arrive one after the other without delay', async () => {
    const journal = open()
    const count = await countingCommits(opened())
    for (let i = 0; i < 10; i++) await journal.commit(entry(`single-${i}`))
    assert.equal(await count('single-'), 10)
  })

  // In SQLite the thread that writes takes what waits there.
  if (engine === 'postgres') {
    test('commits entries that arrive during a commit together after it', async () => {
      const journal = open()
      const count = await countingCommits(opened())
      const commits: Promise<boolean>[] = []
      await opened().storage.transaction(async (db) => {
        await sql`lock table settings in exclusive mode`.execute(db)
        for (let i = 0; i < 4; i++) {
          commits.push(journal.commit(entry(`meanwhile-${i}`)))
          await sql`select 1`.execute(db)
        }
      })
      await Promise.all(commits)
      assert.ok((await count('meanwhile-')) <= 2, 'the first, and the others after it')
    })
  }

  test('does not delay an entry behind transactions that wait at the same time', async () => {
    const journal = open()
    const { transaction } = opened().storage
    const began = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    const first = transaction(async () => {
      began.resolve()
      await goesOn.promise
    })
    await began.promise
    const isWritten = Promise.withResolvers<boolean>()
    const others = ['beside-one', 'beside-two'].map((name) =>
      transaction(async (db) => {
        await isWritten.promise
        await writeRows(db, entry(name).writes)
      }),
    )
    isWritten.resolve(journal.commit(entry('beside-entry')))
    goesOn.resolve()
    await Promise.all([first, ...others])
    assert.deepEqual(await written('beside-'), ['beside-entry', 'beside-one', 'beside-two'])
  })

  test('commits rows that a transaction writes itself with its other changes, or not at all', async () => {
    const { transaction } = opened().storage
    const put = (name: string) => (db: Database) => writeRows(db, entry(name).writes)
    await transaction(put('within-kept'))
    const broken = transaction(async (db) => {
      await put('within-undone')(db)
      throw new Error('broken')
    })
    await assert.rejects(broken, /broken/)
    assert.deepEqual(await written('within-'), ['within-kept'])
  })

  describe('an entry that ends a lease', () => {
    const ENDED = {
      table: 'jobs',
      key: ['id'],
      until: 'run_at',
      condition: 'owner is not null',
      columns: ['attempts', 'owner'],
    } as const
    const ending = (id: string, owner: string) => ({
      endings: [{ of: ENDED, lease: { key: [id], owner }, row: { attempts: 7 } }],
    })
    const plant = async (...ids: string[]) => {
      const job = { run_at: 0, attempts: 1, owner: 'me' }
      await opened()
        .storage.db.insertInto('jobs')
        .values(ids.map((id) => ({ ...job, id, kind: id })))
        .execute()
    }
    const attempts = async (prefix: string) => {
      const { db } = opened().storage
      const rows = await db
        .selectFrom('jobs')
        .select('attempts')
        .where('id', 'like', `${prefix}%`)
        .orderBy('id')
        .execute()
      return rows.map((row) => row.attempts)
    }

    test('is committed with its row, together with other entries', async () => {
      const journal = open()
      await plant('held-1', 'held-2')
      const count = await countingCommits(opened())
      const results = await Promise.all([
        journal.commit(entry('held-1', ending('held-1', 'me'))),
        journal.commit(entry('held-2', ending('held-2', 'me'))),
        journal.commit(entry('held-3')),
      ])
      assert.deepEqual(results, [true, true, true])
      assert.equal(await count('held-'), 1)
      assert.deepEqual(await attempts('held-'), [7, 7])
      assert.deepEqual(await written('held-'), ['held-1', 'held-2', 'held-3'])
    })

    test('ends two leases or neither', async () => {
      const journal = open()
      await plant('both-1', 'both-2', 'both-3', 'both-4')
      const both = (first: string, second: string, owner: string) => ({
        endings: [...ending(first, 'me').endings, ...ending(second, owner).endings],
      })
      const results = await Promise.all([
        journal.commit(entry('both-a', both('both-1', 'both-2', 'me'))),
        journal.commit(entry('both-b', both('both-3', 'both-4', 'another'))),
      ])
      assert.deepEqual(results, [true, false])
      assert.deepEqual(await attempts('both-'), [7, 7, 1, 1])
      assert.deepEqual(await written('both-'), ['both-a'])
    })

    describe('whose row an earlier entry inserts', () => {
      const JOBS = { table: 'jobs', columns: ['id', 'kind', 'run_at', 'attempts', 'owner'] } as const
      const DELETED = { table: 'jobs', key: ['id'], until: 'run_at', condition: 'owner is not null' } as const
      const first = (id: string, run_at: number | null = 0): JournalEntry => ({
        writes: [{ into: JOBS, row: { id, kind: id, run_at, attempts: 1, owner: 'me' } }],
      })
      const last = (id: string, insertedBy: JournalEntry) =>
        entry(id, { endings: [{ of: DELETED, lease: { key: [id], owner: 'me' }, insertedBy }] })
      const outcome = (commit: Promise<boolean>) => commit.catch(() => 'rejected')

      test('leaves the row out of the batch that contains both', () => {
        const [a, b] = [first('brief-a'), first('brief-b')]
        const { inserts, endings } = batchOf([a, b, last('brief-a', a)])
        assert.deepEqual(endings, [])
        const inserted = inserts.flatMap(({ into, rows }) => rows.map(([key]) => [into.table, key]))
        assert.deepEqual(inserted, [
          ['jobs', 'brief-b'],
          ['settings', 'brief-a'],
        ])
      })

      test('is written once, whether the row is on disk before it or not', async () => {
        const journal = open()
        const [together, apart] = [first('once-1'), first('once-2')]
        const both = [journal.commit(together), journal.commit(last('once-1', together))]
        assert.deepEqual(await Promise.all(both), [true, true])
        assert.deepEqual([await journal.commit(apart), await journal.commit(last('once-2', apart))], [true, true])
        assert.deepEqual(await written('once-'), ['once-1', 'once-2'])
        assert.deepEqual(await attempts('once-'), [])
      })

      test('is written after the row if another entry fails with them', async () => {
        const journal = open()
        await journal.commit(entry('after-taken'))
        const begun = Array.from({ length: 5 }, (_, i) => first(`after-${i}`))
        const results = begun.map((each) => outcome(journal.commit(each)))
        results.push(outcome(journal.commit(entry('after-taken'))))
        for (const [i, each] of begun.entries()) results.push(outcome(journal.commit(last(`after-${i}`, each))))
        assert.deepEqual(await Promise.all(results), [...begun.map(() => true), 'rejected', ...begun.map(() => true)])
        assert.equal((await written('after-')).length, 6)
        assert.deepEqual(await attempts('after-'), [])
      })

      test('is not written if the row could not be inserted', async () => {
        const journal = open()
        const [together, apart] = [first('never-1', null), first('never-2', null)]
        assert.equal(await outcome(journal.commit(apart)), 'rejected')
        assert.equal(await journal.commit(last('never-2', apart)), false)
        // A row that isn't written can't be refused.
        const both = [journal.commit(together), journal.commit(last('never-1', together))]
        assert.deepEqual(await Promise.all(both), [true, true])
        assert.deepEqual(await written('never-'), ['never-1'])
      })
    })

    test('writes nothing if the lease was lost, and does not affect other entries', async () => {
      const journal = open()
      await plant('lost-1', 'lost-2')
      const results = await Promise.all([
        journal.commit(entry('lost-1', ending('lost-1', 'me'))),
        journal.commit(entry('lost-2', ending('lost-2', 'another'))),
        journal.commit(entry('lost-3')),
      ])
      assert.deepEqual(results, [true, false, true])
      assert.deepEqual(await attempts('lost-'), [7, 1])
      assert.deepEqual(await written('lost-'), ['lost-1', 'lost-3'])
    })

    test('adds to shared sums only if it is written itself', async () => {
      const journal = open()
      await plant('sum-1', 'sum-2', 'sum-3')
      const counted = {
        table: 'metric_buckets',
        columns: ['agent_seq', 'minutes', 'start', 'bucket', 'count'],
        merge: { key: ['agent_seq', 'minutes', 'start', 'bucket'], add: ['count'], max: [] },
      } satisfies BulkTable
      const row = { agent_seq: -1, minutes: 1, start: 0, bucket: 0 }
      const sum = (id: string, owner: string, count: number) =>
        journal.commit({ ...ending(id, owner), writes: [{ into: counted, row: { ...row, count } }] })
      const results = await Promise.all([sum('sum-1', 'me', 1), sum('sum-2', 'another', 10), sum('sum-3', 'me', 100)])
      assert.deepEqual(results, [true, false, true])
      const { db } = opened().storage
      assert.deepEqual(await db.selectFrom('metric_buckets').select('count').where('agent_seq', '=', -1).execute(), [
        { count: 101 },
      ])
    })
  })

  test('one invalid entry fails alone', async () => {
    const journal = open()
    await journal.commit(entry('bad-taken'))
    const results = await Promise.allSettled([
      journal.commit(entry('bad-neighbour-1')),
      journal.commit(entry('bad-taken')),
      journal.commit(entry('bad-neighbour-2')),
      journal.commit(entry('bad-neighbour-3')),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    )
    assert.deepEqual(await written('bad-'), ['bad-neighbour-1', 'bad-neighbour-2', 'bad-neighbour-3', 'bad-taken'])
  })

  test('refuses entries beyond its backlog, and accepts more once those are written', async () => {
    const journal = open(5)
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => journal.commit(entry(`full-${i}`))))
    const refused = results.filter((result) => result.status === 'rejected')
    assert.equal(refused.length, 15)
    assert.ok(refused.every(({ reason }) => reason instanceof BacklogFullError))
    assert.equal(await journal.commit(entry('full-later')), true)
    assert.equal((await written('full-')).length, 6)
  })

  test('drain waits for all entries', async () => {
    const journal = open()
    const commits = Array.from({ length: 600 }, (_, i) => journal.commit(entry(`drain-${i}`)))
    assert.equal(journal.waiting(), 600)
    await journal.drain()
    assert.equal(journal.waiting(), 0)
    assert.equal((await written('drain-')).length, 600)
    await Promise.all(commits)
  })
})

onBothStores('transactions', (opened) => {
  test('of many simultaneous transactions, failing ones write nothing, and the others are committed', async () => {
    const { storage } = opened()
    const count = await countingCommits(opened())
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) =>
        storage.transaction(async (db) => {
          const insert = (name: string) => db.insertInto('settings').values({ name, value: '' }).execute()
          await insert(`tx-${i}-first`)
          await insert(`tx-${i}-second`)
          if (i % 3 === 0) throw new Error('changed its mind')
          if (i % 3 === 1) await insert(`tx-${i}-first`)
        }),
      ),
    )
    const kept = results.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
    assert.deepEqual(kept, [2, 5, 8, 11, 14, 17, 20, 23, 26, 29])
    const rows = (await rowsOf(opened(), 'tx-')).map(({ name }) => name)
    assert.deepEqual(rows, kept.flatMap((i) => [`tx-${i}-first`, `tx-${i}-second`]).toSorted())
    if (opened().engine === 'sqlite') assert.ok((await count('tx-')) <= 3, 'they share commits')
  })

  test('of many simultaneous statements, failing ones write nothing, and the others are committed', async () => {
    const { storage, engine } = opened()
    const insert = (name: string) => storage.db.insertInto('settings').values({ name, value: '' }).execute()
    await insert('statement-taken')
    const count = await countingCommits(opened())
    const names = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? 'statement-taken' : `statement-${i}`))
    const results = await Promise.allSettled(names.map(insert))
    assert.deepEqual(
      results.flatMap(({ status }, i) => (status === 'rejected' ? [names[i]] : [])),
      Array.from({ length: 10 }, () => 'statement-taken'),
    )
    assert.equal((await rowsOf(opened(), 'statement-')).length, 21)
    if (engine === 'sqlite') assert.equal(await count('statement-'), 1, 'they share a commit')
  })

  test('a transaction that is rolled back does not affect statements and entries in the same commit', async () => {
    const { storage } = opened()
    const journal = openJournal(storage, { backlog: 10 })
    const row = (name: string) => ({ name, value: '' })
    const results = await Promise.allSettled([
      storage.db.insertInto('settings').values(row('beside-statement')).execute(),
      journal.commit({ writes: [{ into: SETTINGS, row: row('beside-entry') }] }),
      storage.transaction(async (db) => {
        await db.insertInto('settings').values(row('beside-undone')).execute()
        throw new Error('changed its mind')
      }),
    ])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    )
    const rows = (await rowsOf(opened(), 'beside-')).map(({ name }) => name)
    assert.deepEqual(rows, ['beside-entry', 'beside-statement'])
  })

  test('a read inside the transaction sees its writes, a read outside does not', async () => {
    const { storage } = opened()
    await storage.transaction(async (db) => {
      await db.insertInto('settings').values({ name: 'seen', value: '' }).execute()
      const inside = await db.selectFrom('settings').select('name').where('name', '=', 'seen').execute()
      assert.equal(inside.length, 1)
      assert.deepEqual(await rowsOf(opened(), 'seen'), [])
    })
    assert.equal((await rowsOf(opened(), 'seen')).length, 1)
  })
})

describe('a backlog that is full', () => {
  onEveryEngine(
    'over HTTP',
    (service) => {
      test('503 with Retry-After, and everything that was answered is kept', async () => {
        const invoke = () => service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'hi' } })
        const replies = await Promise.all(Array.from({ length: 60 }, invoke))
        const refused = replies.filter(({ status }) => status !== 200)
        assert.ok(refused.length > 0, 'nothing was refused')
        for (const reply of refused) {
          assertRefusal(reply, 503, 'unavailable', { retry_after: 1 })
          assert.equal(reply.headers.get('retry-after'), '1')
        }
        const { pagination } = (await service().call('GET', '/v1/agents/hello/invocations')).body
        assert.equal(pagination.total, 60 - refused.length)
        assert.equal((await invoke()).status, 200)
      })
    },
    { MOORAGE_LIMITS__BACKLOG: '1' },
  )
})

describe('a batch', () => {
  test('is the same statement whichever of its endings came first', () => {
    const leased = { table: 'runs', key: ['id'], until: 'lease_until', condition: 'true' } as const
    const kinds: EndedTable[] = [
      leased,
      { ...leased, columns: ['status'] },
      { ...leased, columns: ['lease_until'] },
      { ...leased, columns: ['status'], drops: { table: 'steps', column: 'request_id' } },
      { ...leased, table: 'claims', columns: ['status'] },
    ]
    const order = (of: EndedTable[]) => {
      const endings = of.map((kind) => ({ of: kind, lease: { key: [], owner: '' }, row: {} }))
      return batchOf([{ writes: [], endings }]).endings.map((ending) => kinds.indexOf(ending.of))
    }
    assert.deepEqual(order(kinds), order(kinds.toReversed()))
  })
})

describe('two databases in one process', () => {
  test('each use their own column types', async () => {
    const databases = await Promise.all([freshPostgres(), freshPostgres()])
    const storages = await Promise.all(
      databases.map(({ url }) => openStorage({ data: '', database: { url, poolSize: 1 } })),
    )
    const [text, number] = storages as [Storage, Storage]
    try {
      await sql`delete from settings`.execute(number.db)
      await sql`alter table settings alter column value type bigint using value::bigint`.execute(number.db)
      for (const storage of [text, number]) {
        const journal = openJournal(storage, { backlog: 10 })
        await journal.commit({ writes: [{ into: SETTINGS, row: { name: 'answer', value: '42' } }] })
      }
      const read = ({ db }: Storage) => db.selectFrom('settings').select('value').where('name', '=', 'answer').execute()
      assert.deepEqual(await read(text), [{ value: '42' }])
      assert.deepEqual(await read(number), [{ value: 42 }])
    } finally {
      for (const storage of storages) await storage.close()
      for (const database of databases) await database.drop()
    }
  })
})

async function rowsOf({ storage: { db } }: Store, prefix: string): Promise<{ name: string }[]> {
  return db.selectFrom('settings').select('name').where('name', 'like', `${prefix}%`).orderBy('name').execute()
}

/** Counts the transactions that wrote the rows with a prefix: by PostgreSQL's own mark on each row, or in SQLite's log. */
async function countingCommits(opened: Store): Promise<(prefix: string) => Promise<number>> {
  if (opened.engine === 'sqlite') {
    const before = await walCommits(opened)
    return async () => (await walCommits(opened)) - before
  }
  return async (prefix) => {
    const { rows } = await sql<{ count: number }>`
      select count(distinct xmin::text) as count from settings where name like ${`${prefix}%`}
    `.execute(opened.storage.db)
    return Number(rows[0]?.count)
  }
}

/** https://sqlite.org/fileformat2.html#walformat: the frame that ends a transaction carries the size of the database. */
async function walCommits({ data }: Store): Promise<number> {
  const log = await readFile(join(data, 'moorage.db-wal'))
  // Nothing was written since the file was opened.
  if (log.length === 0) return 0
  const pageSize = log.readUInt32BE(8)
  const salt = log.subarray(16, 24)
  let commits = 0
  for (let frame = 32; frame + 24 <= log.length; frame += 24 + pageSize) {
    const isCurrent = log.subarray(frame + 8, frame + 16).equals(salt)
    if (isCurrent && log.readUInt32BE(frame + 4) !== 0) commits++
  }
  return commits
}
