import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { storeOf, wakeJobs } from '../../support/inside.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { ENGINES, type Service } from '../../support/service/service.ts'
import { localProvider, startWithModel } from '../../support/service/with-model.ts'
import { createWebhook, openInbox } from '../../support/slices/webhooks.ts'

/** What is thought costs more than what is said, and each request costs something too. */
const PRICES = JSON.stringify([{ model: 'local/priced', input: 3, output: 15, reasoning: 20, request: 0.001 }])
const SETTINGS = { ...LOCAL_TOOLS, MOORAGE_PRICES: PRICES }
const LIMITS = { max_output_tokens: 100 }
const EVENTS = ['budget.threshold', 'budget.exceeded']
const LOST = 'A call to local/priced was in progress when its node stopped, so the most it could have used is counted.'
const never = new Promise<void>(() => {})

for (const engine of ENGINES) {
  test(`kill -9 during a call: its reservation is counted as spent, it is reported as lost, and events are sent once, on ${engine}`, async (t) => {
    const model = await startModelServer()
    t.after(() => model.close())
    const inbox = await openInbox(t)
    const service = await startChildService(t, engine, { ...localProvider(model.url), ...SETTINGS })
    const body = { name: 'talker', model: 'local/priced', limits: LIMITS }
    const agent = (await service.call('POST', '/v1/agents', body)).data.id
    const hook = await service.call('POST', '/v1/webhooks', { agent_id: agent, url: inbox.url, events: EVENTS })
    const scope = { type: 'agent', id: agent }
    const limited = { name: 'b', scope, limit: { tokens: 300 }, per: 'ever', thresholds: [50, 100] }
    const budget = (await service.call('POST', '/v1/budgets', limited)).data.id
    const spent = async () => {
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${budget}`)).data
      return { used, reserved }
    }
    const invoke = () => service.send('POST', `/v1/agents/${agent}/invoke`, { message: 'How is the sea?' })

    model.holdNext(never)
    const seen = model.nextRequest()
    void invoke()
    await seen
    const { reserved: held } = await spent()
    assert.ok(held > 100 && held <= 300, String(held))
    await service.kill()
    await service.start()
    await until('the call is settled', async () => (await spent()).reserved === 0)
    assert.deepEqual(await spent(), { used: held, reserved: 0 })

    const { totals } = (await service.call('GET', `/v1/usage?agent_id=${agent}`)).data
    assert.deepEqual([totals.calls, totals.lost_calls, totals.total_tokens], [1, 1, held])
    const ofLines = (await service.call('GET', `/v1/usage?agent_id=${agent}&group_by=user`)).data
    assert.equal(ofLines.totals.lost_calls, 1)
    const { data: logs } = await service.call('GET', `/v1/agents/${agent}/logs?level=warn`)
    assert.deepEqual(
      logs.map(({ message, metadata }: LogLine) => [message, metadata.cost_usd]),
      [[LOST, totals.cost_usd]],
    )
    // Nothing tells whether the call was answered, so the receipt has nothing of it.
    const receipt = await until('the run has ended, too', async () => {
      const [run] = (await service.call('GET', `/v1/agents/${agent}/invocations`)).data
      return run.finished_at !== null && run
    })
    assert.deepEqual([receipt.status, receipt.tokens_used, receipt.cost_usd], ['failed', 0, 0])

    const from = new Date(Date.now() - 3_600_000).toISOString()
    const repriced = await service.call('POST', '/v1/usage/reprice', { from })
    assert.deepEqual(repriced.data, { looked_at: 1, changed: 0, priced: 0, change_usd: 0, next: null })

    assert.equal((await invoke())?.status, 429)
    await inbox.first(2)
    await service.kill()
    await service.start()
    assert.equal((await invoke())?.status, 429)
    const told = await service.call('GET', `/v1/webhooks/${hook.data.id}/deliveries`)
    assert.deepEqual(told.data.map((one: { event: string }) => one.event).toSorted(), EVENTS.toSorted())
  })
}

type LogLine = { message: string; metadata: { cost_usd: number } }

describe('budgets between two nodes', () => {
  let one: Service
  let other: Service
  let model: ModelServer
  let stop: () => Promise<void>
  before(async () => {
    ;({ service: one, model, stop } = await startWithModel('postgres', SETTINGS))
    other = await one.beside()
  })
  after(async () => {
    await other.stop()
    await stop()
  })
  beforeEach(() => model.reset())

  const furnish = async (t: TestContext, limit: object) => {
    const agent = await newAgent(one, { model: 'local/priced', limits: LIMITS })
    const scope = { type: 'agent', id: agent }
    const body = { name: 'shared', scope, limit, per: 'ever', thresholds: [50, 100] }
    const { id } = (await one.call('POST', '/v1/budgets', { body })).body.data
    const inbox = await openInbox(t)
    const { id: hook } = await createWebhook(one, { agent_id: agent, url: inbox.url, events: EVENTS })
    const spent = async () => {
      const { used, reserved } = (await other.call('GET', `/v1/budgets/${id}`)).body.data
      return { used, reserved }
    }
    return { agent, inbox, hook, spent }
  }
  const invoke = (agent: string, at: Service) =>
    at.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?' } })

  test('each event is sent once, whichever node reaches a threshold', async (t) => {
    const { agent, inbox, hook, spent } = await furnish(t, { runs: 20 })
    const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => invoke(agent, i % 2 ? one : other)))
    assert.equal(replies.filter(({ status }) => status === 200).length, 20)
    assert.deepEqual(await spent(), { used: 20, reserved: 0 })
    const told = (await inbox.first(3)).map(({ body }) => JSON.parse(body))
    assert.deepEqual(told.map(({ type, data }) => [type, data.threshold ?? null]).toSorted(), [
      ['budget.exceeded', null],
      ['budget.threshold', 100],
      ['budget.threshold', 50],
    ])
    for (const node of [one, other]) {
      assert.equal((await invoke(agent, node)).status, 429)
      wakeJobs(node)
    }
    const { body } = await one.call('GET', `/v1/webhooks/${hook}/deliveries`)
    assert.equal(body.pagination.total, 3)
  })

  test('a node that was considered dead corrects what was counted as lost', async (t) => {
    const lost = await until('a call that is taken for lost until it is answered', async () => {
      model.reset()
      const { agent, spent } = await furnish(t, { tokens: 1_000 })
      const answer = Promise.withResolvers<void>()
      model.holdNext(answer.promise)
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 11, completion_tokens: 4 } })
      const seen = model.nextRequest()
      const invoked = invoke(agent, one)
      const call = await seen
      const { reserved: held } = await spent()
      // Its leases end, as when another node has not heard of it for long.
      const db = storeOf(one)
      const dead = { owner: 'service:dead', lease_until: 0 }
      await db.updateTable('runs').set(dead).where('status', '=', 'running').execute()
      await db.updateTable('ledger').set(dead).where('status', '=', 'reserved').execute()
      wakeJobs(other)
      await until('the call is given up', async () => (await spent()).reserved === 0)
      const totals = async () => (await other.call('GET', `/v1/usage?agent_id=${agent}`)).body.data.totals
      const [spentEarlier, earlier] = [await spent(), await totals()]
      answer.resolve()
      await invoked
      // Its own node may have looked for its leases meanwhile, and has broken the call off then.
      return (await call.closed).answered ? { held, spent, spentEarlier, totals, earlier } : undefined
    })
    const { held, spent, spentEarlier, totals, earlier } = lost
    assert.deepEqual(spentEarlier, { used: held, reserved: 0 })
    assert.deepEqual([earlier.lost_calls, earlier.total_tokens], [1, held])
    await until('the line is mended', async () => (await totals()).lost_calls === 0)
    const { calls, input_tokens, output_tokens, cost_usd } = await totals()
    assert.deepEqual([calls, input_tokens, output_tokens], [1, 11, 4])
    // 11 at $3, 4 at $15, and a request.
    assert.equal(cost_usd, 0.001093)
    assert.deepEqual(await spent(), { used: 15, reserved: 0 })
  })
})
