import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as audit from '../../src/audit/store.ts'
import {
  approvalWrite,
  removeApprovals,
  removeApprovalsOfMissingAgents,
  settlePending,
} from '../../src/invocations/approvals/approval-store.ts'
import { approvalsOf } from '../../src/invocations/approvals/ask-people.ts'
import { eraseTexts, listOfUser } from '../../src/invocations/find-invocations.ts'
import {
  type EndedInvocation,
  type Invocation,
  type InvocationStatus,
  isFinal,
  type WaitingInvocation,
} from '../../src/invocations/invocation.ts'
import * as queue from '../../src/invocations/queue/queue-store.ts'
import * as rows from '../../src/invocations/rows/invocation-rows.ts'
import * as invocations from '../../src/invocations/store.ts'
import { idSource } from '../../src/lib/id.ts'
import * as logs from '../../src/logs/store.ts'
import { openJournal } from '../../src/storage/journal/journal.ts'
import { insertMany } from '../../src/storage/journal/write-rows.ts'
import { countAll } from '../../src/storage/queries/count-rows.ts'
import * as deliveries from '../../src/webhooks/delivery/delivery-store.ts'
import { DELIVERIES } from '../../src/webhooks/delivery/delivery-store.ts'
import { fc, tries } from '../support/running/property.ts'
import { onBothStores, type Store } from '../support/stores/store.ts'

const HOUR_MS = 3_600_000
const START = Date.UTC(2026, 10, 15)
const NO_TICK = {
  parent_request_id: null,
  call_key: null,
  tree: null,
  deadline_at: null,
  schedule_id: null,
  scheduled_at: null,
}

/** Everything that adds, changes or removes rows that are counted. `n` decides whose and which. */
const STEPS = {
  run: (n: number, world: World) => world.store(n, 'completed'),
  fail: (n: number, world: World) => world.store(n, 'failed'),
  begin: (n: number, world: World) => world.store(n, 'running'),
  queue: (n: number, world: World) => world.store(n, 'queued'),
  async take(n: number, { db, now }: World) {
    const options = { agent_seq: 1 + (n % 2), queued: 'all', limit: 2, owner: 'node', now, lease_ms: 1 } as const
    const [first] = (await queue.takeQueued(db, options)).items
    if (first && n % 3 === 0) await queue.giveBackUnbegun(db, first)
  },
  async lapse(_: number, { db, now }: World) {
    await queue.requeueLapsed(db, now + HOUR_MS)
  },
  async end(_: number, { db, journal, now }: World) {
    const [lapsed] = await invocations.listLapsed(db, now + HOUR_MS, { limit: 1 })
    if (!lapsed) return
    const ended = { ...lapsed, status: 'completed', finished_at: now } as EndedInvocation
    await journal.commit({ writes: [rows.receiptWrite(ended)], endings: [rows.ending(ended.id, 'node', false)] })
  },
  async erase(n: number, { db, now, transaction }: World) {
    const theirs = await listOfUser(db, { agent_seq: 1 + (n % 2), user_id: `user ${n % 3}` })
    await transaction((held) => eraseTexts(held, theirs, now))
  },
  async retain(n: number, { db, now }: World) {
    const before = now - (n % 4) * HOUR_MS
    await invocations.remove(db, before, 3)
    await logs.remove(db, before, 3)
    await deliveries.removeOlder(db, before, 3)
    await removeApprovals(db, before, 3)
  },
  async deleteAgent(_: number, { db, now }: World) {
    await db.deleteFrom('agents').where('seq', '=', 2).execute()
    await invocations.removeOfMissingAgents(db, 100, now)
    await logs.removeOfMissingAgents(db, 100)
    await removeApprovalsOfMissingAgents(db, 100)
  },
  async decide(n: number, { db, now, transaction }: World) {
    const pending = await db.selectFrom('approvals').select('request_id').where('status', '=', 'pending').execute()
    const some = pending.map(({ request_id }) => request_id).slice(0, 1 + (n % 3))
    await transaction((held) => settlePending(held, some, n % 2 ? 'expired' : 'cancelled', now))
  },
  async deliver(n: number, { db }: World) {
    const status = n % 2 === 0 ? 'delivered' : 'failed'
    await db
      .updateTable('deliveries')
      .set({ status })
      .where('webhook_id', '=', `whk_${n % 2}`)
      .execute()
  },
  async seal(n: number, { db }: World) {
    const [entry] = await audit.listUnsealed(db, 1)
    if (entry) await audit.seal(db, entry.id, { seq: n, prev_hash: '', hash: '' }).catch(() => {})
    if (n % 5 === 0) await audit.removeUpTo(db, n)
  },
}

onBothStores('the counts of an agent', (opened) => {
  test('equal the number of rows, whatever was written, changed and removed', async () => {
    const world = await openWorld(opened())
    const steps = fc.array(fc.tuple(fc.constantFrom(...Object.keys(STEPS)), fc.nat(1000)), {
      minLength: 5,
      maxLength: 40,
    })
    let most = 0
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        for (const [name, n] of taken) await STEPS[name as keyof typeof STEPS](n, world)
        const kept = await counts()
        assert.deepEqual(kept, await rowsOfAgents())
        most = Math.max(most, ...kept.map((count) => count.rows))
      }),
      { numRuns: tries(15) },
    )
    assert.ok(most > 10, `${most} rows at most`)
  })

  test('go back with a transaction that fails', async () => {
    const before = await counts()
    const { transaction } = opened().storage
    await assert.rejects(
      transaction(async (db) => {
        await db.deleteFrom('invocations').execute()
        throw new Error('undone')
      }),
      /undone/,
    )
    assert.deepEqual(await counts(), before)
  })

  const counts = () =>
    opened().storage.db.selectFrom('agent_counts').selectAll().orderBy('agent_seq').orderBy('counted').execute()

  const rowsOfAgents = async () => {
    const { db } = opened().storage
    const of = (table: 'invocations' | 'logs', seq: number) =>
      countAll(db.selectFrom(table).where('agent_seq', '=', seq))
    const agents = await db.selectFrom('agents').select('seq').orderBy('seq').execute()
    return Promise.all(
      agents.flatMap(({ seq }) =>
        (['invocations', 'logs'] as const).map(async (counted) => ({
          agent_seq: seq,
          counted,
          rows: await of(counted, seq),
        })),
      ),
    )
  }
})

type World = Awaited<ReturnType<typeof openWorld>>

async function openWorld({ storage }: Store) {
  const { db, transaction } = storage
  const journal = openJournal(storage, { backlog: 100 })
  const newId = idSource()
  const world = { db, transaction, journal, now: START, store }
  for (const name of ['one', 'two']) {
    const times = { created_at: 0, updated_at: 0 }
    const project_id = 'prj_default'
    await db
      .insertInto('agents')
      .values({ id: `agt_${name}`, project_id, name, status: 'running', definition: '{}', ...times })
      .execute()
  }
  return world

  /** An invocation and what comes with it: a log entry, a delivery, an entry in the audit log. */
  async function store(n: number, status: InvocationStatus) {
    world.now += 600_000
    const created_at = world.now
    const id = newId('req', created_at)
    const agent_seq = 1 + (n % 2)
    const context = { ...(n % 3 && { user_id: `user ${n % 3}` }), ...(n % 5 && { session_id: `session ${n % 5}` }) }
    const rest = {
      background: true,
      environment: 'production',
      version: null,
      deployment_id: null,
      message: 'm',
      keyed: false,
      on_budget: 'fail',
      door: n % 2 ? 'api' : 'openai',
      attachments: null,
      given: null,
      rounds: null,
      structured: false,
      erased_at: null,
      authors: null,
      person_id: null,
    }
    const sums = {
      input_tokens: 0,
      output_tokens: 0,
      tokens_used: 0,
      cost_nano: 0,
      duration_ms: 0,
      steps: [],
      attempt: 1,
      attempts: null,
    }
    const times = { created_at, started_at: created_at, finished_at: created_at }
    const isScheduled = status === 'queued' && n % 3 === 0
    const tick = isScheduled ? { schedule_id: `sch_${n % 2}`, scheduled_at: created_at } : {}
    const words = { response: 'r', error: null, created_by: `key_${n % 4}`, ...NO_TICK, ...tick }
    const invocation = { id, agent_seq, status, context, ...rest, ...sums, ...times, ...words } as Invocation
    const lease = { key: [id], owner: 'node', until: created_at }
    const ask = { index: 0, call_id: id, kind: 'tool', tool: 't', arguments: {}, input_schema: {} } as const
    const asked = approvalsOf(invocation as WaitingInvocation, { asks: [ask], until: created_at } as never, {
      newId,
      now: () => created_at,
    })
    const entry = { timestamp: created_at, level: 'info' as const, message: 'm', metadata: {} }
    await journal.commit({
      writes: [
        isFinal(invocation)
          ? rows.receiptWrite(invocation as EndedInvocation)
          : rows.insertion(invocation, { project_id: 'prj_default', ...(status === 'running' && { lease }) }),
        ...asked.map(approvalWrite),
        ...logs.logWrites({ agent_seq, request_id: id }, [entry, { ...entry, level: n % 2 ? 'error' : 'debug' }]),
      ],
    })
    const delivery = {
      id: newId('dlv', created_at),
      webhook_id: `whk_${n % 2}`,
      event_id: 'evt_1',
      event: `agent.${status}`,
      status: 'pending',
      tries: 0,
      attempt_count: 0,
      attempts: '[]',
      next_attempt_at: created_at,
      created_at,
    }
    await transaction((held) => insertMany(held, DELIVERIES, [delivery]))
    await audit.insert(db, {
      id: newId('aud', created_at),
      created_at,
      actor_kind: 'key',
      key_id: null,
      project_id: 'prj_default',
      actor: `key_${n % 4}`,
      action: 'createKey',
      agent_id: n % 3 ? `agt_${n % 3}` : null,
      target: null,
      outcome: n % 2 ? 'success' : 'refused',
      code: null,
      fields: [],
      times: 1,
      request_id: id,
      address: null,
    } as Parameters<typeof audit.insert>[1])
  }
}
