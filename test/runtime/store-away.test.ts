import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { HttpTool } from '../../src/runtime/spec.ts'
import { isAway } from '../../src/storage/failures.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'
import { storeFolder } from '../support/stores/store-folder.ts'

const tools = [HttpTool.parse({ type: 'http', name: 'act', url: NOWHERE })]

test('a run whose database connection breaks does not fail, so another attempt can continue it', async (t) => {
  const database = await freshPostgres()
  const data = await storeFolder('away')
  const storage = await openStorage({ data, database: { url: database.url, poolSize: 2 } })
  t.after(async () => {
    await storage.close()
    await database.drop()
  })
  let breaksOff = false
  const runtime = localRuntime({
    isStoreAway: isAway,
    async secrets() {
      if (breaksOff) await sql`select pg_terminate_backend(pg_backend_pid())`.execute(storage.db)
      return {}
    },
  })
  const run = () => runtime.run(runOf({ tools }, { message: 'Ahoy' }))
  assert.equal((await run()).status, 'completed')
  breaksOff = true
  await assert.rejects(run(), isAway)
})
