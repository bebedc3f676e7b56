import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { announce } from '../../src/storage/database.ts'
import { inTransaction, storageOf, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onEveryEngine } from '../support/service/service.ts'
import { refundingAgent, startTill, startWaiting, type Till } from '../support/slices/approvals.ts'
import { writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS, listDeliveries, openInbox } from '../support/slices/webhooks.ts'
import { reopenRun } from '../support/stores/moved-run.ts'

const WORDS = 'words of a client'
/** Broken JSON, with words that no client and no log may see. */
const BROKEN = `{"${WORDS}`

onEveryEngine(
  'broken JSON in a row',
  (service) => {
    let till: Till
    before(async () => {
      till = await startTill()
    })
    after(() => till.close())

    /** The nodes forget what they remember, as they do after a restart. */
    const damage = (table: string, column: string, id: string, key = 'id') =>
      inTransaction(service(), async (db) => {
        const of = sql`${sql.ref(key)} = ${id}`
        await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${BROKEN} where ${of}`.execute(db)
        for (const change of ['agents', 'keys', 'webhooks', 'secrets'] as const) await announce(db, change)
      })
    const get = (path: string, key?: string) => service().call('GET', path, key ? { key } : {})
    const refused = async (path: string, message: string, key?: string) => {
      const { status, body, text } = await get(path, key)
      assert.deepEqual([status, body.error], [500, { code: 'server_error', message }], text)
    }
    /** What the list shows of these ids. */
    const shown = async (path: string, ids: readonly string[], field = 'id') => {
      const { status, body, text } = await get(path)
      assert.equal(status, 200, text)
      const listed = new Set(body.data.map((item: Record<string, string>) => item[field]))
      return ids.filter((id) => listed.has(id))
    }
    const told = (message: string) =>
      assert.ok(service().log().includes(`${message}. It is left out`), `the log has no line: ${message}`)
    const message = (thing: string, id: string, column: string) =>
      `The stored ${thing} ${id} is damaged: its ${column} cannot be read`

    test('an agent: every request for it returns 500, and all other agents keep working', async () => {
      const [one, other] = [await newAgent(service()), await newAgent(service())]
      await damage('agents', 'definition', one)
      const problem = message('agent', one, 'definition')
      await refused(`/v1/agents/${one}`, problem)
      await refused(`/v1/agents/${one}/invocations`, problem)
      for (const path of ['/v1/agents?limit=100', '/v1/overview?limit=100']) {
        assert.deepEqual(await shown(path, [one, other]), [one, other], path)
      }
      const { body } = await service().call('POST', `/v1/agents/${other}/invoke`, { body: { message: 'hello' } })
      assert.equal(body.data.response, 'hello')
    })

    test("an agent's security settings: no client gets in, and lists of all agents leave the agent out", async () => {
      const [one, other] = [await newAgent(service(), { security: { publicCard: false } }), await newAgent(service())]
      for (const agent of [one, other]) {
        await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hello' } })
      }
      await damage('agents', 'security', one)
      await refused(`/v1/agents/${one}`, message('agent', one, 'security'))
      assert.deepEqual(await shown('/v1/invocations?limit=100', [one, other], 'agent_id'), [other])
    })

    test('a key: it is 500 and cannot be used, and all other keys continue', async () => {
      const [one, other] = [
        await createKey(service(), { role: 'viewer' }),
        await createKey(service(), { role: 'viewer' }),
      ]
      await damage('keys', 'permissions', one.id)
      const problem = message('key', one.id, 'permissions')
      await refused(`/v1/keys/${one.id}`, problem)
      await refused('/v1/agents', problem, one.secret)
      assert.deepEqual(await shown('/v1/keys?limit=100', [one.id, other.id]), [other.id])
      assert.equal((await get('/v1/agents', other.secret)).status, 200)
      told(problem)
    })

    test('a receipt: reading it returns 500, lists leave it out; a queued run ends, and those behind it run', async () => {
      const agent = await newAgent(service(), { limits: { max_concurrency: 1 } })
      const ids: string[] = []
      for (const text of ['one', 'two']) {
        const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: text } })
        ids.push(body.data.request_id)
      }
      const [one = '', two = ''] = ids
      await damage('invocations', 'context', one)
      const problem = message('invocation', one, 'context')
      await refused(`/v1/agents/${agent}/invocations/${one}`, problem)
      for (const path of [`/v1/agents/${agent}/invocations`, `/v1/invocations?agent_id=${agent}`]) {
        assert.deepEqual(await shown(path, ids, 'request_id'), [two], path)
      }
      told(problem)

      // Queues the run again, as if its node had died, before the next one.
      const storage = storageOf(service())
      await reopenRun(storage.db, one, { status: 'queued' })
      const headers = { Prefer: 'respond-async' }
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'next' },
        headers,
      })
      await until('the next one has run', async () => {
        const receipt = await get(`/v1/agents/${agent}/invocations/${body.data.request_id}`)
        return receipt.body.data.status === 'completed'
      })
      const ended = await storage.db.selectFrom('invocations').select('status').where('id', '=', one).execute()
      assert.deepEqual(ended, [{ status: 'failed' }])
    })

    test('an approval and the steps of its run: reading one returns 500, and lists leave it out', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { path: one } = await startWaiting(service(), agent, 'damaged-1')
      const { path: two } = await startWaiting(service(), agent, 'damaged-2')
      const [id = '', other = ''] = [one, two].map((path) => path.split('/').at(-1))
      const approvals = await storeOf(service()).selectFrom('approvals').select(['id', 'request_id']).execute()
      const approval = approvals.find(({ request_id }) => request_id === id)?.id ?? ''
      await damage('approvals', 'arguments', approval)
      await refused(`${one}/approvals/call_1`, message('approval', approval, 'arguments'))
      assert.deepEqual(await shown(`/v1/approvals?agent_id=${agent}`, [id, other], 'request_id'), [other])
      const [step] = await storeOf(service()).selectFrom('steps').selectAll().where('request_id', '=', id).execute()
      assert.ok(step)
      await damage('steps', 'content', id, 'request_id')
      await refused(one, message('step of', id, 'content'))
      assert.deepEqual(await shown(`/v1/agents/${agent}/invocations`, [id, other], 'request_id'), [other])
    })

    test('a webhook and a delivery: reading one returns 500, lists leave it out, and other webhooks receive their events', async (t) => {
      const inbox = await openInbox(t)
      const agent = await newAgent(service())
      const webhook = (name: string) =>
        createWebhook(service(), { url: `${inbox.url}/${name}`, events: ['agent.completed'], agent_id: agent })
      const [one, other] = [await webhook('one'), await webhook('other')]
      await damage('webhooks', 'events', one.id)
      const problem = message('webhook', one.id, 'events')
      await refused(`/v1/webhooks/${one.id}`, problem)
      for (const path of ['/v1/webhooks?limit=100', '/v1/webhooks?limit=100&event=agent.completed']) {
        assert.deepEqual(await shown(path, [one.id, other.id]), [other.id], path)
      }
      for (const text of ['first', 'second']) {
        await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: text } })
      }
      const delivered = await until('both events have arrived', async () => {
        const list = await listDeliveries(service(), other.id)
        const done = list.filter(({ status }) => status === 'delivered')
        return done.length === 2 ? done : undefined
      })
      const [lost, kept] = delivered
      await damage('deliveries', 'attempts', lost.id)
      await refused(`/v1/webhooks/${other.id}/deliveries/${lost.id}`, message('delivery', lost.id, 'attempts'))
      assert.deepEqual(await shown(`/v1/webhooks/${other.id}/deliveries`, [lost.id, kept.id]), [kept.id])
      told(problem)
    })

    test('a schedule: reading it returns 500, lists leave it out, and the others keep running', async () => {
      const agent = await newAgent(service())
      const create = async () => {
        const body = { message: 'tick', cron: '* * * * *', timezone: 'UTC' }
        return (await service().call('POST', `/v1/agents/${agent}/schedules`, { body })).body.data
      }
      const [one, other] = [await create(), await create()]
      await damage('schedules', 'context', one.id)
      const problem = message('schedule', one.id, 'context')
      await refused(`/v1/agents/${agent}/schedules/${one.id}`, problem)
      assert.deepEqual(await shown(`/v1/agents/${agent}/schedules`, [one.id, other.id]), [other.id])
      const storage = storageOf(service())
      await storage.transaction(async (db) => {
        await db
          .updateTable('schedules')
          .set({ next_at: service().now() - 1_000 })
          .execute()
        await announce(db, 'schedules')
      })
      await until('the other has ticked', async () => {
        const { body } = await get(`/v1/agents/${agent}/schedules/${other.id}`)
        return body.data.last_request_id !== null
      })
      told(problem)
    })

    test('a memory: reading it returns 500, lists leave it out, and a run that would recall it continues', async () => {
      const agent = await newAgent(service())
      const context = { user_id: 'anna' }
      const [one, other] = await writeMemory(service(), agent, [
        { content: 'The harbour of Calais', context },
        { content: 'The harbour of Dover', context },
      ])
      const [id, otherId] = [String(one?.['id']), String(other?.['id'])]
      await damage('memories', 'metadata', id)
      const problem = message('memory', id, 'metadata')
      await refused(`/v1/agents/${agent}/memory/${id}`, problem)
      assert.deepEqual(await shown(`/v1/agents/${agent}/memory`, [id, otherId]), [otherId])
      const body = { message: 'Which harbour?', context }
      const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(reply.status, 200, reply.text)
      told(problem)
    })

    test('log entries, secrets and audit entries are left out of their lists', async () => {
      const agent = await newAgent(service())
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'hello' } })
      const logs = `/v1/agents/${agent}/logs`
      // Clients see another ID than the one that operators need to find the row.
      const db = storeOf(service())
      const { rows } = await sql<{ id: string }>`
        select id from logs where request_id = ${body.data.request_id}`.execute(db)
      await damage('logs', 'metadata', body.data.request_id, 'request_id')
      assert.deepEqual((await get(logs)).body.data, [])
      told(message('log entry', rows[0]?.id ?? '', 'metadata'))

      for (const name of ['ONE', 'OTHER']) {
        const reply = await service().call('PUT', `/v1/secrets/${name}`, {
          body: { value: 'hidden', hosts: ['api.example.com'] },
        })
        assert.ok(reply.status < 300, reply.text)
      }
      await damage('secrets', 'hosts', 'ONE', 'name')
      assert.deepEqual(await shown('/v1/secrets', ['ONE', 'OTHER'], 'name'), ['OTHER'])

      const [audited, next] = (await get('/v1/audit-log')).body.data
      await damage('audit_log', 'fields', audited.id)
      assert.deepEqual(await shown('/v1/audit-log', [audited.id, next.id]), [next.id])
    })

    test("neither clients nor the log show the row's content", () => {
      assert.ok(!service().log().includes(WORDS))
    })
  },
  { ...LOCAL_TOOLS, ...LOCAL_RECEIVERS },
)
