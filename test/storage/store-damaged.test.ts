import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { until } from '../support/running/until.ts'
import { startService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'

test('a store that is damaged while the service runs is not ready', async (t) => {
  const service = await startService('sqlite')
  t.after(() => service.stop())
  const { secret } = await createKey(service, { role: 'viewer' })
  for (let sent = 0; sent < 50; sent++) {
    await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'x'.repeat(10_000) } })
  }
  const file = join(service.data, 'moorage.db')
  const connection = new DatabaseSync(file, { timeout: 5_000 })
  connection.exec('pragma wal_checkpoint(truncate)')
  connection.close()
  alterStore(storeOf(service))
  const half = Math.floor(statSync(file).size / 2)
  const opened = openSync(file, 'r+')
  // The rows of invocations. The probe of the readiness check writes to a page at the beginning.
  writeSync(opened, randomBytes(half), 0, half, half)
  closeSync(opened)
  await until('a request meets the damage', async () => {
    const { status } = await service.call('GET', '/v1/agents/hello/invocations?limit=100', { key: secret })
    return status === 500
  })
  const { status, body } = await service.call('GET', '/readyz')
  const reason = 'the database file is damaged'
  assert.deepEqual([status, body], [503, { status: 'not_ready', reason }])
})
