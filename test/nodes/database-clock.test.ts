import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStorage } from '../../src/storage/open-storage.ts'
import { DatabaseClock } from '../../src/storage/postgres/database-clock.ts'
import { testPostgres } from '../support/stores/postgres.ts'

const HOUR = 3_600_000

describe("the database's clock", () => {
  test('corrects a node whose own clock is wrong, starting at startup', async (t) => {
    const database = await testPostgres()
    t.after(() => database.drop())
    const wrong = () => Date.now() + HOUR
    const storage = await openStorage({ data: '', database: { url: database.url, poolSize: 2 }, clock: wrong })
    t.after(() => storage.close())
    const time = wrong() + storage.skew()
    // However long the round trip to the database took, it is far less than the hour.
    assert.ok(Math.abs(time - Date.now()) < HOUR / 10, `${time - Date.now()} ms away`)
  })

  test("notices when the node's clock is changed, and ignores small differences", async () => {
    let [own, told] = [1_000, 1_100]
    const clock = new DatabaseClock(() => own)
    const ask = () => clock.ask(async () => ({ rows: [{ time: told }] }))
    await ask()
    assert.equal(clock.skew, 0, 'a tenth of a second')
    own += HOUR
    told += 10
    await ask()
    assert.equal(own + clock.skew, told)
  })
})
