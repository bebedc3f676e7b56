import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { storeOf } from '../support/inside.ts'
import { stoppedRules, storeRules } from '../support/invariants/rules.ts'
import { alterStore, underAllRules } from '../support/invariants/watch-invariants.ts'
import { cpuTime } from '../support/running/cpu-time.ts'
import { standStill } from '../support/running/stand-still.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const FIELDS = { kind: 'tool', attempt: 1, started_at: 1, finished_at: 1, content: '{}' }

/** What the service never does, and how it reports each when it stops. */
const WRONGS: Record<string, { does(db: Database): Promise<unknown>; told: RegExp }> = {
  'a step without a run': {
    does: (db) =>
      db
        .insertInto('steps')
        .values({ request_id: 'req_gone', position: 0, ...FIELDS })
        .execute(),
    told: /steps belong to a run: req_gone/,
  },
  'a reserved amount that no call has reserved': {
    async does(db) {
      const { id } = await db.selectFrom('budgets').select('id').executeTakeFirstOrThrow()
      const amounts = { used: 0, reserved: 7, told: 0, exceeded: 0, kept: 1 } as const
      await db
        .insertInto('budget_counters')
        .values({ budget_id: id, subject: '', period_start: 1, ...amounts })
        .execute()
    },
    told: /a budget's reserved amount is what its calls in progress reserve: bud_\w+ reserves 7, its calls 0/,
  },
  'a memory that is not counted': {
    does: (db) => db.deleteFrom('memory_scopes').where('level', '=', 2).execute(),
    told: /memories are counted on level 2: \d+: 0 turns and 0 notes counted, 2 and 0 there/,
  },
  'a call that is not in the ledger': {
    does: (db) => db.deleteFrom('ledger').execute(),
    told: /usage by day is the ledger: sums 1 0 0 1 0 0 1, lines 0 0 0 0 0 0 0/,
  },
  'a log entry that is not counted': {
    does: (db) => db.updateTable('agent_counts').set({ rows: 9 }).where('counted', '=', 'logs').execute(),
    told: /logs are counted: \w+: 9 counted/,
  },
}

underAllRules()

for (const engine of ANY_ENGINE) {
  describe(`a service that stops checks its database, on ${engine}`, () => {
    for (const [wrong, { does, told }] of Object.entries(WRONGS)) {
      test(`and reports ${wrong}`, async () => {
        const service = await startService(engine)
        await fill(service)
        await does(storeOf(service))
        await assert.rejects(service.stop(), told)
      })
    }

    test('and reports nothing if a test has altered the database on purpose', async () => {
      const service = await startService(engine)
      await fill(service)
      await WRONGS['a step without a run']?.does(storeOf(service))
      alterStore(storeOf(service))
      await service.stop()
    })
  })
}

describe('a stopped service', () => {
  test('has closed everything it opened', async () => {
    let timer: NodeJS.Timeout | undefined
    const now = () => {
      timer ??= setInterval(() => {}, 60_000)
      return Date.now()
    }
    const service = await startService('sqlite', {}, {}, { now })
    await assert.rejects(service.stop(), /a timer was left open, from /)
    clearInterval(timer)
  })

  test('has never held the event loop', async () => {
    let isSlow = false
    const now = () => {
      if (isSlow) work(70)
      isSlow = false
      return Date.now()
    }
    const service = await startService('sqlite', {}, {}, { now })
    // Neither the test's own work counts, nor a machine that stands still.
    work(70)
    await standStill(100)
    isSlow = true
    await until('the service has asked for the time', () => !isSlow)
    await assert.rejects(service.stop(), (error: Error) => {
      const [first, ...others] = error.message.match(/the event loop was held for .*/g) ?? []
      assert.match(first ?? '', /held for \d+ ms, \d+ % of it in .*now \(test\/storage\/invariants.* \(src\//)
      assert.deepEqual(others, [])
      return true
    })
  })

  test('is checked with rules of each kind', () => {
    assert.ok(storeRules('sqlite').length > 25 && stoppedRules('service:1').length > 4)
    assert.equal(new Set(storeRules('postgres').map(({ name }) => name)).size, storeRules('postgres').length)
  })
})

/** Uses the processor for so long. */
function work(ms: number): void {
  for (const end = cpuTime() + ms; cpuTime() < end; );
}

/** An agent, a budget, and a run that is remembered. */
async function fill(service: Service): Promise<void> {
  await createAgent(service, 'mate')
  const budget = { name: 'all', scope: { type: 'project' }, limit: { tokens: 1_000_000 }, per: 'ever' }
  assert.equal((await service.call('POST', '/v1/budgets', { body: budget })).status, 201)
  const body = { message: 'Ahoy', context: { user_id: 'ada', session_id: 's1' } }
  assert.equal((await service.call('POST', '/v1/agents/mate/invoke', { body })).status, 200)
}
