import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import * as rollouts from '../../src/deployments/rollouts/rollout-store.ts'
import { countSlice } from '../../src/judge/count-answers.ts'
import { databaseUrl, inTransaction, storeOf, wakeJobs } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, startService } from '../support/service/service.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'

const ANSWERS = 10

test('answers that the guard counts while a person pauses the deployment stay counted', async (t) => {
  const service = await startService('postgres')
  t.after(() => service.stop())
  const { path, id } = await rollingOut(service)
  const store = storeOf(service)
  const rollout = await rollouts.find(store, id)
  assert.ok(rollout)
  const { seq } = await store
    .selectFrom('agents')
    .select('seq')
    .where('id', '=', rollout.agent_id)
    .executeTakeFirstOrThrow()

  // The request reads the deployment, and waits until the guard on another node has counted.
  const pausing = await inTransaction(service, async (db) => {
    await rollouts.lockUnchanged(db, rollout)
    for (let i = 0; i < ANSWERS; i++) {
      await service.call('POST', `${path}/invoke`, { body: { message: 'Hello', context: { user_id: `user ${i}` } } })
    }
    await countSlice(db, seq, { rollout, scores: new Map() }, service.now())
    const reply = service.call('POST', `${path}/deployments/${id}/pause`)
    await requestWaits(service)
    return { reply }
  })
  const { status, body, text } = await pausing.reply
  assert.equal(status, 200, text)
  const { candidate, serving, waits_for } = body.data.progress
  assert.deepEqual([waits_for, candidate.answers + serving.answers], ['person', ANSWERS])
})

test('an agent can be deleted at the moment when the guard rolls its deployment back', async (t) => {
  const service = await startService('postgres')
  t.after(() => service.stop())
  const path = `/v1/agents/${await newAgent(service)}`
  const send = async (method: string, to: string, body: object = {}) => {
    const reply = await service.call(method, `${path}${to}`, { body })
    assert.ok(reply.status < 300, reply.text)
    return reply.body.data
  }
  await send('POST', '/deployments', { environment: 'production', version: 'v1' })
  await send('PUT', '/sets/all', { cases: [{ message: 'Hello' }] })
  // A paused agent's replay waits.
  await send('PATCH', '', { status: 'paused' })
  const gradual = { environment: 'production', version: 'v2', require_replay: { set: 'all' } }
  const { id: rollout_id } = await send('POST', '/deployments', gradual)
  const replay_id = await until('the replay has started', async () => {
    wakeJobs(service)
    return (await rollouts.find(storeOf(service), rollout_id))?.replay_id
  })
  await storeOf(service).insertInto('rollout_answers').values({ rollout_id, request_id: 'req_1' }).execute()

  const other = new pg.Client({ connectionString: databaseUrl(service) })
  await other.connect()
  await other.query('begin')
  await other.query('select * from rollout_answers for update')
  await send('POST', `/replays/${replay_id}/cancel`)
  await until('the guard rolls back', async () => {
    wakeJobs(service)
    return (await lockWaiters(other, 'rollout_answers')) > 0
  })
  const deleting = service.call('DELETE', path)
  await until('the request waits for the guard', async () => (await lockWaiters(other, 'agents')) > 0)
  await other.query('commit')
  await other.end()
  const deleted = await deleting
  assert.equal(deleted.status, 200, deleted.text)
  const audit = await service.call('GET', '/v1/audit-log?action=abortDeployment')
  assert.deepEqual(
    audit.body.data.map(({ target }: { target: string }) => target),
    [rollout_id],
  )
})

async function requestWaits(service: Service): Promise<void> {
  const other = new pg.Client({ connectionString: databaseUrl(service) })
  await other.connect()
  await until('the request waits for the guard', async () => (await lockWaiters(other, 'rollouts')) > 0)
  await other.end()
}

/** A gradual deployment of an agent. */
async function rollingOut(service: Service): Promise<{ path: string; id: string }> {
  const path = `/v1/agents/${await newAgent(service)}`
  const deploy = async (version: string, more: object = {}) => {
    const reply = await service.call('POST', `${path}/deployments`, {
      body: { environment: 'production', version, ...more },
    })
    assert.equal(reply.status, 201, reply.text)
    return reply.body.data.id
  }
  await deploy('v1')
  const id = await deploy('v2', { strategy: { steps: [{ percent: 50, minutes: 600 }] } })
  return { path, id }
}
