import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { startModelServer } from '../../support/outside/model-server.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { freshPostgres } from '../../support/stores/fresh-store.ts'

// A transaction of another connection delays the run's row, and nothing else: only PostgreSQL has such a lock.
test('kill -9 after the model was asked and before the run is on disk: nothing is left, and a retry starts over', async (t) => {
  const { url, drop } = await freshPostgres()
  const model = await startModelServer()
  t.after(() => model.close())
  t.after(drop)
  const service = await startChildService(t, 'postgres', { ...localProvider(model.url), DATABASE_URL: url })
  await service.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny' })
  const invoke = (headers: Record<string, string>) =>
    service.send('POST', '/v1/agents/clerk/invoke', { message: 'go' }, headers)
  const never = Promise.withResolvers<void>()
  t.after(() => never.resolve())

  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await other.query('begin')
  await other.query('lock table runs in exclusive mode')
  const sent = [invoke({ 'Idempotency-Key': 'once' }), invoke({})]
  model.holdNext(never.promise)
  await until('the model is asked', () => model.requests.length === 2)
  await service.kill()
  assert.deepEqual(await Promise.all(sent), [undefined, undefined])
  // What the dead process had sent is not executed either.
  await other.query(`select pg_terminate_backend(pid, 10_000) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`)
  await other.query('rollback')
  await other.end()
  await service.inStore(endLeases)
  await service.start()

  const receipts = async () => (await service.call('GET', '/v1/agents/clerk/invocations')).data
  assert.deepEqual(await receipts(), [])
  const again = await invoke({ 'Idempotency-Key': 'once' })
  assert.ok(again, 'it is answered')
  assert.equal(again.status, 200, again.text)
  assert.equal((await receipts()).length, 1)
  assert.equal(model.requests.length, 3)
})
