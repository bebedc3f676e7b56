import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSamples } from '../../support/clients/prometheus.ts'
import { partsOf, storeOf } from '../../support/inside.ts'
import { NOWHERE } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { ENGINES, type Service, startService } from '../../support/service/service.ts'
import { createWebhook, LOCAL_RECEIVERS } from '../../support/slices/webhooks.ts'

const GHOST = 'service:ghost'
const HOUR_MS = 3_600_000

async function takeovers(service: Service): Promise<Record<string, number>> {
  const { text } = await service.call('GET', '/metrics')
  const samples = readSamples(text).filter(({ name }) => name === 'moorage_takeovers_total')
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['kind'], value]))
}

/** A delivery and a job that a node holds which is not there any more. */
async function leaveWork(service: Service): Promise<void> {
  const agent = await newAgent(service)
  await createWebhook(service, { url: NOWHERE, agent_id: agent, events: ['agent.completed'] })
  await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  const db = storeOf(service)
  const until_ms = service.now() + HOUR_MS
  await until('the first attempt has failed', async () => {
    const [row] = await db.selectFrom('deliveries').select(['owner', 'attempt_count']).execute()
    return row?.attempt_count === 1 && row.owner === null
  })
  await db
    .updateTable('deliveries')
    .set({ owner: `${GHOST}:1`, next_attempt_at: until_ms })
    .execute()
  await db
    .insertInto('jobs')
    .values({ id: 'job_ghost', kind: 'purge', attempts: 1, owner: `${GHOST}:2`, run_at: until_ms })
    .execute()
}

for (const engine of ENGINES) {
  test(`deliveries and jobs that are taken over from a dead node are counted, by kind, on ${engine}`, async (t) => {
    const service = await startService(engine, LOCAL_RECEIVERS)
    t.after(() => service.stop())
    await leaveWork(service)
    assert.deepEqual(await takeovers(service), { run: 0, delivery: 0, job: 0 })
    if (engine === 'sqlite') await service.restart()
    else {
      const { status: _, ...own } = (await partsOf(service).nodes.list())[0] ?? assert.fail('no node')
      await storeOf(service)
        .insertInto('nodes')
        .values({ ...own, node: GHOST })
        .execute()
    }
    const taken = { run: 0, delivery: 1, job: 1 }
    const isTaken = async () => JSON.stringify(await takeovers(service)) === JSON.stringify(taken)
    await until('both are taken over', isTaken)
  })
}
