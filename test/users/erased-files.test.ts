import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { startService } from '../support/service/service.ts'
import { everythingStored } from '../support/stores/stored.ts'

test('the files of a store have no word of a user who was erased, after a clean stop', async () => {
  const service = await startService('sqlite')
  try {
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

    const { status, text } = await service.call('DELETE', '/v1/users/anna-zanzibar')
    assert.equal(status, 200, text)
    await service.app.stop()
    const stored = (await everythingStored(service)).toLowerCase()
    for (const word of ['xylander', 'quixote']) assert.equal(stored.split(word).length - 1, 0, word)
  } finally {
    await service.stop()
  }
})
