import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { buildParts } from '../../src/build-parts.ts'
import { localFetch } from '../../src/cli/connect/local-store.ts'
import { BackgroundRuns } from '../../src/invocations/queue/background-runs.ts'
import { takeQueued } from '../../src/invocations/queue/queue-store.ts'
import { takeUpRuns } from '../../src/invocations/tend-runs.ts'
import { createLog } from '../../src/lib/log.ts'
import { announce } from '../../src/storage/database.ts'
import { inTransaction, liveRun, liveRuns, nodeOf, partsOf, storageOf, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onEveryEngine, type Reply, type Service, withService } from '../support/service/service.ts'
import { failRun, reopenRun } from '../support/stores/moved-run.ts'

const LIMIT = { timeout: 240_000 * PATIENCE }
/** An agent that calls a tool once. */
const acting = (tool: { url: string; method?: string; input_schema?: object }) => ({
  model: 'builtin/script',
  tools: [{ type: 'http', name: 'act', ...tool }],
  script: { rules: [{ call: { tool: 'act', arguments: {} }, reply: 'acted' }] },
})
const slow = (ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms: ms }] } })

onEveryEngine(
  "a run's lease",
  (service) => {
    const db = () => storeOf(service())
    const invoke = (agent: string, headers: Record<string, string> = {}) =>
      service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
    const rowOf = (id: string) => db().selectFrom('runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const receiptOf = (id: string) =>
      db().selectFrom('all_invocations').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    type Fields = { lease_until?: number | null; lapses?: number; cancel_requested_at?: number }
    const change = (id: string, fields: Fields & { status?: string; owner?: string | null }) =>
      db().updateTable('runs').set(fields).where('id', '=', id).execute()
    /** The run that is in progress, once it is stored. */
    const stored = async (agent: string) => {
      const run = await until('the stored run', () => liveRuns(service(), agent).find(({ lease }) => lease))
      return run.request_id
    }

    test('is renewed while the run is active', LIMIT, async () => {
      const agent = await newAgent(service(), slow(60_000))
      const reply = invoke(agent)
      const id = await stored(agent)
      const { now } = service()
      await change(id, { lease_until: now() + 5_000 })
      wakeJobs(service())
      await until('it is renewed', async () => ((await rowOf(id)).lease_until ?? 0) > now() + 20_000)
      await service().call('POST', `/v1/agents/${agent}/invocations/${id}/cancel`)
      assert.equal((await reply).status, 409)
    })

    test('is renewed even if it expired while the process was suspended, and the run is not taken over', async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service(), held.agent)
      const reply = invoke(agent)
      const id = await stored(agent)
      await change(id, { lease_until: 1 })
      wakeJobs(service())
      await until('it is renewed', async () => ((await rowOf(id)).lease_until ?? 0) > 1)
      held.release()
      assert.equal((await reply).status, 200)
      assert.equal((await receiptOf(id)).status, 'completed')
    })

    for (const headers of [{}, { 'Idempotency-Key': 'k1' }]) {
      const how = Object.keys(headers)[0] ?? 'no header'
      test(`expires before the node knows that its run is stored, and the run is not taken over (${how})`, async (t) => {
        const held = await holdRuns(t)
        const agent = await newAgent(service(), held.agent)
        const parts = partsOf(service())
        // The run's row is stored, and the database's answer is on its way.
        const [isStored, arrives] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()]
        const { commit } = parts.journal
        t.mock.method(parts.journal, 'commit', async (entry: Parameters<typeof commit>[0]) => {
          const done = await commit(entry)
          const run = liveRuns(service(), agent)[0]
          if (run && !run.lease) {
            isStored.resolve(run.request_id)
            await arrives.promise
          }
          return done
        })
        const reply = invoke(agent, headers)
        const id = await isStored.promise
        await change(id, { lease_until: 1 })
        await takeUpRuns(parts)
        arrives.resolve()
        held.release()
        assert.equal((await reply).status, 200)
        const receipt = await service().call('GET', `/v1/agents/${agent}/invocations/${id}`)
        assert.equal(receipt.body.data.attempts.length, 1)
      })
    }

    test("stops the run if it is lost, and the run's result is not stored", LIMIT, async () => {
      const agent = await newAgent(service(), slow(60_000))
      const reply = invoke(agent)
      const id = await stored(agent)
      await change(id, { owner: 'another node' })
      wakeJobs(service())
      const { status, body } = await reply
      assert.equal(status, 409)
      assert.equal(body.error.code, 'conflict')
      const { status: kept, owner } = await rowOf(id)
      assert.deepEqual([kept, owner], ['running', 'another node'])
      await failRun(db(), id)
    })

    test('does not cancel the run if it is lost: another node continues the run', LIMIT, async (t) => {
      let calls = 0
      const tool = await startLocalServer((_request, response) => {
        // The first call is in progress when the lease is lost.
        if (++calls > 1) response.end('done')
      })
      t.after(() => tool.close())
      const agent = await newAgent(service(), acting({ url: tool.url }))
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const id = body.data.request_id
      await until('the tool was called', () => calls === 1)
      await change(id, { owner: 'another node' })
      wakeJobs(service())
      await until('it has stopped', () => liveRun(service(), id) === undefined)
      assert.equal((await receiptOf(id)).status, 'running')
      await change(id, { lease_until: 1 })
      wakeJobs(service())
      await until('it has ended', async () => (await receiptOf(id)).status === 'completed')
      assert.equal(calls, 2)
    })

    test('is given up if the run was cancelled, or its agent paused, while the database was away for this node', async () => {
      const [paused, agent] = [await newAgent(service(), slow(60_000)), await newAgent(service(), slow(60_000))]
      const replies = [invoke(paused), invoke(agent)]
      await stored(paused)
      const id = await stored(agent)
      await change(id, { cancel_requested_at: service().now() })
      await db().updateTable('agents').set({ status: 'paused' }).where('id', '=', paused).execute()
      wakeJobs(service())
      const { status, body } = (await replies[0]) as Reply
      assert.deepEqual([status, body.error.code], [409, 'conflict'])
      assert.equal((await replies[1])?.status, 409)
    })

    test('is taken again only after the run has stopped on this node', LIMIT, async (t) => {
      const agent = await newAgent(service())
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const id = body.data.request_id
      await until('it has ended', async () => (await receiptOf(id)).status === 'completed')
      const storage = storageOf(service())
      const { live } = partsOf(service())
      await until('it is left', () => live.find(id) === undefined)
      const stopping = live.start(id, agent)
      stopping.cancel()
      const find = t.mock.method(live, 'find')
      await reopenRun(db(), id, { status: 'queued' })
      await storage.transaction((trx) => announce(trx, 'queue'))
      await until('it was taken', () => find.mock.calls.some(({ arguments: [asked] }) => asked === id))
      stopping.end()
      await until('it has ended', async () => (await receiptOf(id)).status === 'completed')
    })

    test('does not start a second run if this node takes a background run from itself', async (t) => {
      let calls = 0
      const answer = Promise.withResolvers<void>()
      const tool = await startLocalServer(async (_request, response) => {
        calls++
        await answer.promise
        response.end('done')
      })
      t.after(() => tool.close())
      const input_schema = { type: 'object', properties: {} }
      const agent = await newAgent(service(), acting({ method: 'POST', url: tool.url, input_schema }))
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const id = body.data.request_id
      await until('the tool was called', () => calls === 1)
      // Another node considered its lease expired, and returned it to the queue.
      await change(id, { status: 'queued', owner: null, lease_until: null, lapses: 1 })
      await inTransaction(service(), (trx) => announce(trx, 'queue'))
      await until('it is taken again', async () => (await receiptOf(id)).status === 'running')
      answer.resolve()
      await until('it has ended', async () => (await receiptOf(id)).status === 'completed')
      assert.equal(calls, 1)
    })

    test('does not continue a run that was cancelled before this node took it from itself', LIMIT, async (t) => {
      let calls = 0
      const tool = await startLocalServer(() => void calls++)
      t.after(() => tool.close())
      const agent = await newAgent(service(), acting({ url: tool.url }))
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const id = body.data.request_id
      await until('the tool was called', () => calls === 1)
      // Another node returned it to the queue, and the run that had called it ended.
      const queued = { status: 'queued', owner: null, lease_until: null, lapses: 1 }
      await change(id, { ...queued, cancel_requested_at: service().now() })
      await inTransaction(service(), (trx) => announce(trx, 'queue'))
      await until('it has ended', async () => (await receiptOf(id)).status === 'cancelled')
      assert.equal(calls, 1)
    })

    test('is not used if the run has ended since, because it would call its model again', async (t) => {
      const agent = await newAgent(service())
      const { body } = await invoke(agent, { Prefer: 'respond-async' })
      const id = body.data.request_id
      await until('it has ended', async () => (await receiptOf(id)).status === 'completed')
      await until('it is left', () => liveRun(service(), id) === undefined)
      const parts = partsOf(service())
      // This node takes the run from itself, and its first attempt ends at that moment.
      await reopenRun(db(), id, { status: 'waiting', begins_after: 'lost' })
      const { agent_seq } = await rowOf(id)
      const queued = { agent_seq, queued: 'all', limit: 1, now: parts.now(), lease_ms: 60_000 } as const
      // In one transaction, so the service can't take it before.
      const [taken] = await inTransaction(service(), async (trx) => {
        await trx.updateTable('runs').set({ status: 'queued' }).where('id', '=', id).execute()
        return (await takeQueued(trx, { ...queued, owner: nodeOf(service()) })).items
      })
      assert.ok(taken)
      await failRun(db(), id)
      const start = t.mock.method(parts.live, 'start')
      assert.equal(parts.journal.reserve(), true)
      await new BackgroundRuns(parts).run(taken)
      assert.equal(start.mock.callCount(), 0)
    })

    describe('of a run on the command line', () => {
      test('is renewed as well', async (t) => {
        t.mock.timers.enable({ apis: ['setInterval'] })
        const agent = await newAgent(service(), slow(60_000))
        const local = await openBeside(service())
        try {
          const reply = local.fetch(`http://local/v1/agents/${agent}/invoke`, {
            method: 'POST',
            body: JSON.stringify({ message: 'go' }),
          })
          const run = await until('the stored run', () => local.parts.live.all().find(({ lease }) => lease))
          const { now } = service()
          await change(run.request_id, { lease_until: now() + 5_000 })
          t.mock.timers.tick(10_000)
          await until('it is renewed', async () => ((await rowOf(run.request_id)).lease_until ?? 0) > now() + 20_000)
          run.cancel()
          assert.equal((await reply).status, 409)
        } finally {
          await local.close()
        }
      })
    })
  },
  LOCAL_TOOLS,
)

describe('SQLite data after a service was killed', () => {
  test("is free of the dead service's leases at the next start, but not of the command line's", LIMIT, () =>
    withService('sqlite', async (service) => {
      const db = storeOf(service)
      const { now } = service
      const held = { owner: 'service:dead', lease_until: now() + 25_000 }
      const rows = { dead: held, cli: { ...held, owner: 'cli:alive' } }
      const ids: Record<string, string> = {}
      for (const [name, lease] of Object.entries(rows)) {
        const { body } = await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'go' } })
        ids[name] = body.data.request_id
        await reopenRun(db, body.data.request_id, { status: 'running', ...lease })
      }
      await db
        .updateTable('jobs')
        .set({ owner: 'service:dead', run_at: now() + 25_000 })
        .where('kind', '=', 'retention')
        .execute()

      await service.restart()
      const store = storeOf(service)
      const statusOf = async (name: string) =>
        (
          await store
            .selectFrom('all_invocations')
            .selectAll()
            .where('id', '=', ids[name] ?? '')
            .executeTakeFirstOrThrow()
        ).status
      await until('the dead one has failed', async () => (await statusOf('dead')) === 'failed')
      assert.equal(await statusOf('cli'), 'running')
      await until('the job has run', async () => {
        const job = await store.selectFrom('jobs').selectAll().where('kind', '=', 'retention').executeTakeFirstOrThrow()
        return job.owner === null && job.run_at > now() + 1_800_000
      })
    }),
  )
})

/** The host's command line, on the store of a service that runs. */
async function openBeside(node: Service) {
  const { config } = partsOf(node)
  const log = createLog({ ...config.log, level: 'silent' }, { write() {} })
  const { parts, close } = await buildParts(config, { kind: 'cli', log })
  return { parts, close, fetch: localFetch(parts) }
}
