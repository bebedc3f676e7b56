import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { announce } from '../../../src/storage/database.ts'
import { isPassing } from '../../../src/storage/failures.ts'
import { openMemo } from '../../../src/storage/memo.ts'
import { openStorage } from '../../../src/storage/open-storage.ts'
import { CONNECT_MS } from '../../../src/storage/postgres/postgres.ts'
import { inOneAttempt } from '../../support/running/attempts.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { standStill } from '../../support/running/stand-still.ts'
import { until } from '../../support/running/until.ts'
import { freshPostgres } from '../../support/stores/fresh-store.ts'
import { startNetwork } from '../../support/stores/silent-network.ts'

/** No packets arrive, and no error is reported: a network failure that no socket notices. */
describe('a network connection to PostgreSQL that goes silent', () => {
  test('makes waiting requests fail, and everything works again when it is back', async (t) => {
    const { storage, network } = await openBehindProxy(t)
    const asked = () => storage.db.selectFrom('settings').select('name').execute()
    await inOneAttempt(async () => void (await asked()))
    network.silence()
    await assert.rejects(asked(), (error) => isPassing(error))
    const transaction = storage.transaction(async (db) => {
      await db.insertInto('settings').values({ name: 'unheard', value: 'x' }).execute()
    })
    await assert.rejects(transaction, (error) => isPassing(error))
    network.restore()
    await until('queries are answered again', () =>
      asked().then(
        () => true,
        () => false,
      ),
    )
    await until('changes are heard of again', () => storage.hears())
  })

  test('caches are not used until change notifications arrive again', async (t) => {
    const { storage, other, network } = await openBehindProxy(t)
    const memo = openMemo(storage)
    let revoked = false
    const verify = async () => memo('keys', 'a key', async () => (revoked ? 'revoked' : 'in force'))
    await until('changes are heard of', () => storage.hears())
    assert.equal(await verify(), 'in force')

    network.silence()
    revoked = true
    await other.transaction((db) => announce(db, 'keys'))
    await until('the silence is noticed', () => !storage.hears())
    assert.equal(await verify(), 'revoked')
    revoked = false
    assert.equal(await verify(), 'in force', 'not remembered either')

    network.restore()
    await until('answers are remembered again', async () => {
      revoked = false
      await verify()
      revoked = true
      return (await verify()) === 'in force'
    })
    await other.transaction((db) => announce(db, 'keys'))
    await until('the change is heard', async () => (await verify()) === 'revoked')
  })

  test('does not prevent closing the database', async (t) => {
    const { storage, network } = await openBehindProxy(t)
    await until('changes are heard of', () => storage.hears())
    network.silence()
    const started = performance.now()
    await storage.close()
    assert.ok(performance.now() - started < 10_000 * PATIENCE)
  })

  test('a process that was suspended uses a reply that arrived meanwhile', async (t) => {
    const database = await freshPostgres()
    const storage = await openStorage({ data: '', database: { url: database.url, poolSize: 1, silentMs: 300 } })
    t.after(async () => {
      await storage.close()
      await database.drop()
    })
    await inOneAttempt(async () => {
      const asked = sql`select pg_sleep(0.1)`.execute(storage.db)
      await delay(30)
      await standStill(800)
      await asked
    })
  })

  test('a process that was suspended while connecting is connected afterwards', async (t) => {
    const database = await freshPostgres()
    const storage = await openStorage({ data: '', database: { url: database.url, poolSize: 3 } })
    t.after(async () => {
      await storage.close()
      await database.drop()
    })
    const asked = Array.from({ length: 3 }, () => sql`select pg_sleep(0.05)`.execute(storage.db))
    await standStill(CONNECT_MS + 500)
    await Promise.all(asked)
  })

  test('a slow statement is not aborted before its time limit', async (t) => {
    const { storage } = await openBehindProxy(t)
    await inOneAttempt(async () => void (await sql`select pg_sleep(0.3)`.execute(storage.db)))
    await assert.rejects(sql`select pg_sleep(5)`.execute(storage.db), (error) => isPassing(error))
    await inOneAttempt(async () => void (await storage.db.selectFrom('settings').select('name').execute()))
  })
})

async function openBehindProxy(t: TestContext) {
  const database = await freshPostgres()
  const network = await startNetwork(new URL(database.url))
  const storage = await openStorage({
    data: '',
    database: { url: network.url, poolSize: 2, silentMs: 600, pingMs: 100 },
  })
  const other = await openStorage({ data: '', database: { url: database.url, poolSize: 1 } })
  let closing: Promise<void> | undefined
  const close = storage.close
  storage.close = () => (closing ??= close())
  t.after(async () => {
    await Promise.all([storage.close(), other.close()])
    await network.close()
    await database.drop()
  })
  return { storage, other, network }
}
