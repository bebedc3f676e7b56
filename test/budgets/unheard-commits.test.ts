import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pg from 'pg'
import { tendCounters } from '../../src/budgets/desk/tend-counters.ts'
import { spenderOf } from '../../src/operation/spending.ts'
import { databaseUrl, partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startService } from '../support/service/service.ts'
import { freshPostgres } from '../support/stores/fresh-store.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'
import { startNetwork } from '../support/stores/silent-network.ts'

/** Longer than a call waits for the database. */
const TOO_LONG = 31_000

describe('a reservation whose commit is not answered, because the connection to PostgreSQL breaks', () => {
  for (const [outcome, passes] of [
    ['is made once', 0],
    ['is taken back if its call is given up: it is neither held nor counted', TOO_LONG],
  ] as const) {
    test(outcome, async (t) => {
      const database = await freshPostgres()
      t.after(() => database.drop())
      const network = await startNetwork(new URL(database.url))
      t.after(() => network.close())
      const service = await startService('postgres', { DATABASE_URL: network.url })
      t.after(() => service.stop())
      const direct = await service.beside({ DATABASE_URL: database.url })
      t.after(() => direct.stop())
      const db = storeOf(direct)
      const agent_id = await newAgent(service)
      const body = { name: 'test', per: 'ever', scope: { type: 'agent', id: agent_id }, limit: { tokens: 1_000 } }
      const budget = await service.call('POST', '/v1/budgets', { body })
      const spent = async () => {
        const { used, reserved } = (await direct.call('GET', `/v1/budgets/${budget.body.data.id}`)).body.data
        return { used, reserved }
      }
      const lines = async () => (await db.selectFrom('ledger').select('status').execute()).map(({ status }) => status)

      network.loseCommit(async () => {
        const isReserved = (await lines()).includes('reserved')
        if (isReserved) service.advance(passes)
        return isReserved
      })
      const meter = partsOf(service).spending.meter(spenderOf({ project_id: 'prj_default', agent_id, purpose: 'test' }))
      const call = { model: 'builtin/echo', attempt: null, step: null, max_output_tokens: 100 }
      const begun = meter.begin({ ...call, mostInputTokens: () => 10 })
      if (passes > 0) {
        await assert.rejects(begun, /could not reserve an amount in a budget/)
        await until('it is taken back', async () => (await lines()).length === 0)
        assert.deepEqual(await spent(), { used: 0, reserved: 0 })
        return
      }
      const { end } = await begun
      assert.deepEqual(await spent(), { used: 0, reserved: 110 })
      end('completed', { input_tokens: 3, output_tokens: 4 })
      await meter.flush()
      assert.deepEqual([await spent(), await lines()], [{ used: 7, reserved: 0 }, ['completed']])
    })
  }
})

test("a dead node's reserved amounts are counted while another node writes to the same sums, without waiting", async (t) => {
  const service = await startService('postgres')
  t.after(() => service.stop())
  const storage = storageOf(service)
  const { spending } = partsOf(service)
  const body = { name: 'test', per: 'ever', scope: { type: 'project' }, limit: { tokens: 1_000 } }
  const budget = (await service.call('POST', '/v1/budgets', { body })).body.data.id as string
  const planned = { model: 'builtin/echo', attempt: null, step: null, max_output_tokens: 100 }
  const begin = () =>
    spending
      .meter(spenderOf({ project_id: 'prj_default', purpose: 'test' }))
      .begin({ ...planned, mostInputTokens: () => 10 })
  // The sums that the dead node's call adds to already exist.
  const { end } = await begin()
  end('completed', { input_tokens: 1, output_tokens: 1 })
  await begin()
  await storage.db.updateTable('ledger').set({ lease_until: 0 }).where('status', '=', 'reserved').execute()

  const other = new pg.Client({ connectionString: databaseUrl(service) })
  await other.connect()
  try {
    // An entry of the journal locks the counters first, and then the sums.
    await other.query('begin')
    await other.query('update budget_counters set used = used')
    const tended = tendCounters(partsOf(service), () => new Set())
    await until('the counters are waited for', async () => (await lockWaiters(other, 'budget_counters')) > 0)
    await other.query('update usage_sums set calls = calls')
    await other.query('commit')
    await tended
  } finally {
    await other.end()
  }
  const { used, reserved } = (await service.call('GET', `/v1/budgets/${budget}`)).body.data
  assert.deepEqual([used, reserved], [112, 0])
})
