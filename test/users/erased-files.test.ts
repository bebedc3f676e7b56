import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { stopApp } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, startService } from '../support/service/service.ts'
import { everythingStored } from '../support/stores/stored.ts'

const USER = '/v1/users/anna-zanzibar'

/** Words of a user in every place that keeps them: receipts, logs, memory and its full-text index, stored replies. */
async function sayMuch(service: Service): Promise<void> {
  const agent = await newAgent(service)
  const context = { user_id: 'anna-zanzibar', session_id: 'harbour-quixote' }
  const headers = { 'Idempotency-Key': 'once' }
  for (let i = 0; i < 20; i++) {
    const body = { message: `My parrot is called Xylander${i}`, context }
    await service.call('POST', `/v1/agents/${agent}/invoke`, { body, ...(i === 0 && { headers }) })
  }
  // A search brings the words into the full-text index.
  const query = { query: 'Xylander7', context }
  assert.equal((await service.call('POST', `/v1/agents/${agent}/memory/search`, { body: query })).status, 200)
  assert.match(await everythingStored(service), /xylander/i)
}

async function assertNoWordStored(service: Service): Promise<void> {
  const stored = (await everythingStored(service)).toLowerCase()
  for (const word of ['xylander', 'quixote']) assert.equal(stored.split(word).length - 1, 0, word)
}

test("an erased user's words are in no file of the service, neither while it runs nor after a clean stop", async () => {
  const service = await startService('sqlite')
  try {
    await sayMuch(service)
    const { status, text } = await service.call('DELETE', USER)
    assert.equal(status, 200, text)
    await assertNoWordStored(service)
    await stopApp(service)
    await assertNoWordStored(service)
  } finally {
    await service.stop()
  }
})

test('503 while a long read keeps the log of the database, others can write meanwhile, and 200 when it has ended', async () => {
  const service = await startService('sqlite', { MOORAGE_DATABASE__READ_TIMEOUT: '1s' })
  const backup = new DatabaseSync(join(service.data, 'moorage.db'), { readOnly: true })
  try {
    await sayMuch(service)
    backup.exec('begin')
    backup.prepare('select count(*) from invocations').get()
    const erasing = service.call('DELETE', USER)
    await newAgent(service)
    const { status, body } = await erasing
    assert.deepEqual([status, body.error.code], [503, 'unavailable'])
    backup.exec('commit')
    assert.equal((await service.call('DELETE', USER)).status, 200)
    await assertNoWordStored(service)
  } finally {
    backup.close()
    await service.stop()
  }
})
