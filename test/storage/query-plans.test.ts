import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledQuery, createQueryId, type KyselyPlugin, type RootOperationNode } from 'kysely'
import type { Rollout } from '../../src/deployments/rollouts/rollout.ts'
import * as rollouts from '../../src/deployments/rollouts/rollout-store.ts'
import { listBelow, listEndedCallers, listUncancelled } from '../../src/invocations/children/child-store.ts'
import * as queue from '../../src/invocations/queue/queue-store.ts'
import { findNextWake } from '../../src/invocations/queue/waiting-store.ts'
import { sumAnswers } from '../../src/invocations/rows/compared-answers.ts'
import { LEASED_RUNS } from '../../src/invocations/rows/invocation-rows.ts'
import * as invocations from '../../src/invocations/store.ts'
import { isBusy, listFreeTurns } from '../../src/invocations/turns/turn-store.ts'
import * as scopes from '../../src/memory/warm/scope-lists.ts'
import { ScopeReader } from '../../src/memory/warm/scope-reader.ts'
import * as metrics from '../../src/metrics/store.ts'
import type { Database } from '../../src/storage/database.ts'
import { CLAIMS } from '../../src/storage/leases/claims.ts'
import { endLeases, renew } from '../../src/storage/leases/lease.ts'
import { onBothStores } from '../support/stores/store.ts'

/** Runs that have not ended are found by their status. */
const BY_STATUS = /runs_by_status/

/** The run that called another is looked up by its id. */
const CALLER_BY_ID =
  /SEARCH caller USING (COVERING )?INDEX sqlite_autoindex_runs_1 \(id=\?\)|id = (runs|invocations)(_1)?\.parent_request_id/

const READS_ALL = /SCAN (runs|invocations|i|caller)(?! USING)|Seq Scan on (runs|invocations)/

/** Queries that run again and again must not read the whole table. */
onBothStores('query plans', (opened, engine) => {
  test('renewing the claims of active requests uses the primary key', async () => {
    const held = ['a', 'b'].map((key) => ({ key: ['key_1', key], owner: `owner-${key}`, until: 0 }))
    const plan = await planOf((db) => renew(db, CLAIMS, held, 1))
    assert.match(plan, engine === 'sqlite' ? /SEARCH claims USING INDEX \w+ \(scope=\?/ : /claims_pkey/)
    assert.doesNotMatch(plan, /SCAN claims|Seq Scan on claims/)
  })

  test('runs of dead nodes are found among the active runs, and queued again from there', async () => {
    for (const work of [
      (db: Database) => invocations.listLapsed(db, 0, { limit: 100 }),
      (db: Database) => queue.requeueLapsed(db, 0),
      (db: Database) => endLeases(db, LEASED_RUNS, 'service:', 0),
    ]) {
      const plan = await planOf(work)
      assert.match(plan, BY_STATUS)
      assert.doesNotMatch(plan, READS_ALL)
    }
  })

  test('queued runs, and agents that have some, are found among the due ones', async () => {
    const options = { agent_seq: 1, limit: 3, owner: 'o', now: 0, lease_ms: 1 }
    for (const [queued, index] of [
      ['all', /runs_due/],
      ['interactive', /runs_interactive/],
    ] as const) {
      for (const work of [
        (db: Database) => queue.takeQueued(db, { ...options, queued }),
        (db: Database) => queue.listWaitingAgents(db, queued),
      ]) {
        const plan = await planOf(work)
        assert.match(plan, index)
        assert.doesNotMatch(plan, READS_ALL)
      }
    }
  })

  test('the turn of a session and the runs waiting for it are found by the session', async () => {
    for (const work of [(db: Database) => isBusy(db, 'a'), (db: Database) => listFreeTurns(db, 1)]) {
      const plan = await planOf(work)
      for (const index of [/runs_by_turn/, /runs_in_line/]) assert.match(plan, index)
      assert.doesNotMatch(plan, READS_ALL)
    }
  })

  // PostgreSQL chooses the plan by its statistics.
  if (engine === 'sqlite') {
    test("an agent's new memories are found among the newest memories", async () => {
      const known = { size: 3, seq: 5, generation: 'g' }
      const plan = await planOf((db) => new ScopeReader(db).readNews({ agent_seq: 1, level: 0 }, known))
      assert.match(plan, /SEARCH memories USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/)
    })
  }

  test('a guard reads its uncounted answers by their IDs, and whether their senders were counted with one index', async () => {
    const request_ids = ['a', 'b']
    const uncounted = { rollout_id: 'r', agent_seq: 1, deployment_ids: ['d', 'e'], step_at: 0, request_ids }
    const rollout = { deployment_id: 'r' } as Rollout
    for (const work of [
      (db: Database) => sumAnswers(db, uncounted),
      (db: Database) => rollouts.listUncounted(db, rollout, 1),
      (db: Database) => rollouts.removeCounted(db, rollout, request_ids),
    ]) {
      const plan = await planOf(work)
      assert.doesNotMatch(plan, READS_ALL)
      assert.doesNotMatch(plan, /SCAN rollout_answers|Seq Scan on rollout_answers/)
      if (work.toString().includes('sumAnswers')) {
        assert.match(
          plan,
          engine === 'sqlite' ? /SEARCH invocations USING INDEX \w+ \((agent_seq=\? AND )?id=\?/ : /id = ANY/,
        )
        // PostgreSQL would use one to read all senders' answers of the step. It chooses indexes by its statistics.
        assert.doesNotMatch(plan, /hashed SubPlan/)
        for (const index of [/by_session \(agent_seq=\? AND session_id=\?/, /by_user \(agent_seq=\? AND user_id=\?/]) {
          if (engine === 'sqlite') assert.match(plan, index)
        }
      }
    }
  })

  test('cancelled invocations are found among the active ones', async () => {
    const plan = await planOf((db) => invocations.listCancelRequested(db, 'node'))
    assert.match(plan, /runs_(cancelled|by_status)/)
    assert.doesNotMatch(plan, READS_ALL)
  })

  test('runs that dead nodes have not cancelled are found with small indexes', async () => {
    const called = await planOf((db) => listEndedCallers(db, 100))
    assert.match(called, /runs_by_parent/)
    assert.match(called, CALLER_BY_ID)
    const waiting = await planOf((db) => listUncancelled(db, 100))
    assert.match(waiting, /runs_(cancelled|waiting)/)
    for (const plan of [called, waiting]) {
      assert.doesNotMatch(plan, READS_ALL)
    }
  })

  test('the caller of an old run is looked up by its ID', async () => {
    const plan = await planOf((db) => invocations.remove(db, 1, 100))
    assert.match(plan, CALLER_BY_ID)
    assert.doesNotMatch(plan, READS_ALL)
  })

  test("a user's metrics are counted with an index only", async () => {
    const range = { from: 0, to: 60, step: 60 }
    for (const ask of [metrics.totals, metrics.percentiles]) {
      const plan = await planOf((db) => ask(db, 1, range, { user_id: 'anna' }))
      // PostgreSQL reads the rows of so small a table as well.
      assert.match(plan, engine === 'sqlite' ? /COVERING INDEX invocations_by_end/ : /invocations_by_end/)
    }
  })

  test("another transaction's writes do not block looking up a run's children, or the budgets that runs wait for", async () => {
    const { storage } = opened()
    await storage.transaction(async (held) => {
      await held.updateTable('projects').set({ updated_at: 1 }).execute()
      assert.deepEqual(await listBelow(storage.db, 'req_none'), [])
      assert.equal(await findNextWake(storage.db), undefined)
    })
  })

  test('users and sessions are listed in index order', async () => {
    const page = { limit: 20, offset: 0, sort: '-last_used_at' }
    for (const list of [scopes.listUsers, scopes.listSessions]) {
      const plan = await planOf((db) => list(db, { agent_seq: 1 }, page), 0)
      assert.match(plan, /memory_scopes_by_use/)
      if (list === scopes.listSessions) assert.doesNotMatch(plan, /TEMP B-TREE|"Sort/)
    }
  })

  /** How the engine would run a query of `work` on a large table: the last query by default. */
  async function planOf(work: (db: Database) => Promise<unknown>, which = -1): Promise<string> {
    const { storage } = opened()
    const seen: RootOperationNode[] = []
    const recorder: KyselyPlugin = {
      transformQuery({ node }) {
        seen.push(node)
        return node
      },
      transformResult: async ({ result }) => result,
    }
    return storage.transaction(async (db) => {
      await work(db.withPlugin(recorder))
      // A query that is part of another comes before it.
      const whole = seen.at(which) as RootOperationNode
      const { sql, parameters } = db.getExecutor().compileQuery(whole, createQueryId())
      const run = (text: string, values: readonly unknown[]) => db.executeQuery(CompiledQuery.raw(text, [...values]))
      if (engine === 'postgres') await run('set local enable_seqscan = off', [])
      const { rows } = await run(`explain ${engine === 'sqlite' ? 'query plan' : ''} ${sql}`, parameters)
      return JSON.stringify(rows)
    })
  }
})
