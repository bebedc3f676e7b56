import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { databaseUrl, partsOf, storeOf } from '../support/inside.ts'
import { startPatientModel } from '../support/outside/patient-model.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const MASTER_KEY = { MOORAGE_MASTER_KEY: '00'.repeat(32) }

test('five messages of a session are answered in order, even if the node that runs the second one is killed', async (t) => {
  const model = await startPatientModel((message) => delay({ K1: 4_000, K2: 5_000 }[message] ?? 100))
  t.after(() => model.close())
  const settings = { ...MASTER_KEY, ...localProvider(model.url) }
  const survivor = await startService('postgres', settings)
  t.after(() => survivor.stop())
  const mortal = await startChildService(t, 'postgres', {
    ...settings,
    MOORAGE_INIT_KEY: survivor.admin,
    DATABASE_URL: databaseUrl(survivor),
  })
  const agent = await newAgent(survivor, { model: 'local/patient', memory: { recall: 0 } })
  const path = `/v1/agents/${agent}/invoke`
  const context = { user_id: 'ann', session_id: 'killed' }

  // The node that ends the first run goes on with the second.
  const first = mortal.send('POST', path, { message: 'K1', context })
  const others = []
  for (const message of ['K2', 'K3', 'K4', 'K5']) {
    await isStored(survivor, agent, others.length + 1)
    others.push(survivor.call('POST', path, { body: { message, context } }))
  }
  assert.equal((await first)?.status, 200)
  await until('the second is asked', () => model.prompts.length === 2)
  const { rows } = await sql<{ owner: string }>`
    select owner from runs where message = 'K2' and status = 'running'`.execute(storeOf(survivor))
  assert.equal(rows.length, 1)
  assert.notEqual(rows[0]?.owner, partsOf(survivor).node, 'the second runs on the node that is killed')
  await mortal.kill()

  const replies = await Promise.all(others)
  assert.deepEqual(
    replies.map(({ body, text }) => body.data?.response ?? text),
    ['K2', 'K3', 'K4', 'K5'].map((message) => `Re: ${message}`),
  )
  assert.deepEqual(model.prompts, [
    ['K1'],
    ['K1', 'K2'],
    ['K1', 'K2'],
    ['K1', 'K2', 'K3'],
    ['K1', 'K2', 'K3', 'K4'],
    ['K1', 'K2', 'K3', 'K4', 'K5'],
  ])
})

async function listOf(service: Service, agent: string) {
  return (await service.call('GET', `/v1/agents/${agent}/invocations?sort=created_at`)).body.data
}

function isStored(service: Service, agent: string, count: number) {
  return until(`${count} runs`, async () => (await listOf(service, agent)).length === count)
}
