import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUrl, nodeOf, storeOf, wakeJobs } from '../support/inside.ts'
import { watchWorld } from '../support/outside/watched-world.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Service, startService } from '../support/service/service.ts'

const ROUNDS = [{ text: 'Let me see.', calls: ['read'] }, { calls: ['write', 'refund'] }, { text: 'All is done.' }]

/** Half a minute passes: nobody renews the leases of the dead node. */
async function endLeases(node: Service): Promise<void> {
  const running = storeOf(node).updateTable('runs').set({ lease_until: 0 }).where('status', '=', 'running')
  await running.where('owner', '!=', nodeOf(node)).execute()
  wakeJobs(node)
}

test('another node continues with the run of a node that was killed, whichever step it had come to', async (t) => {
  const world = await watchWorld(t, ROUNDS)
  const survivor = await startService('postgres', { ...world.settings, MOORAGE_MASTER_KEY: '00'.repeat(32) })
  t.after(() => survivor.stop())
  const mortal = await startChildService(t, 'postgres', {
    ...world.settings,
    MOORAGE_MASTER_KEY: '00'.repeat(32),
    MOORAGE_INIT_KEY: survivor.admin,
    DATABASE_URL: databaseUrl(survivor),
  })
  const tools = [
    { type: 'http', name: 'read', url: `${world.url}/read` },
    { type: 'http', name: 'write', method: 'POST', url: `${world.url}/write` },
    { type: 'http', name: 'refund', method: 'POST', url: `${world.url}/refund`, retry: 'safe' },
  ]
  await mortal.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny', tools })

  /** Begins a run that has come to this moment, on the node that dies: the other one may take a queued run, too. */
  const beginOnMortal = async (moment: string): Promise<string> => {
    for (;;) {
      world.calls.length = 0
      const held = world.hold(moment)
      const background = { Prefer: 'respond-async' }
      const { data } = await mortal.call('POST', '/v1/agents/clerk/invoke', { message: 'go' }, background)
      await held
      const path = `/v1/agents/clerk/invocations/${data.request_id}`
      const db = storeOf(survivor)
      const run = await db.selectFrom('runs').select('owner').where('id', '=', data.request_id).executeTakeFirst()
      if (run?.owner !== nodeOf(survivor)) return path
      await survivor.call('POST', `${path}/cancel`)
    }
  }

  for (const [i, moment] of ['model 1', 'read', 'model 2', 'refund', 'model 3'].entries()) {
    if (i > 0) await mortal.start()
    const path = await beginOnMortal(moment)
    const stepsOf = async () => (await mortal.call('GET', path)).data.steps.length
    if (moment === 'refund') await until('the other call has ended', async () => (await stepsOf()) === 4)
    await mortal.kill()
    const receiptOf = async () => (await survivor.call('GET', path)).body.data
    const isAnswered = async () => {
      // What the dead node had sent before may still be executed: the renewal of its leases.
      await endLeases(survivor)
      return (await receiptOf()).status === 'completed'
    }
    // It takes over a run of several steps.
    await until('the answer', isAnswered, 20_000)
    const { response, tokens_used, steps } = await receiptOf()
    assert.deepEqual([response, tokens_used, steps.length], ['Let me see.\n\nAll is done.', 45, 6], moment)
    for (const label of ['model 1', 'read', 'model 2', 'write', 'refund', 'model 3']) {
      const came = label === moment ? 2 : 1
      assert.deepEqual(world.count(label), { came, answered: 1 }, `${label}, killed during ${moment}`)
    }
  }
})
