import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Database } from '../../src/storage/database.ts'
import { storeOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import { ANY_ENGINE, onAnyEngine } from '../support/service/service.ts'
import { approver, refundingAgent } from '../support/slices/approvals.ts'
import { writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS } from '../support/slices/webhooks.ts'

const NOTHING = {
  memories: 0,
  invocations: 0,
  logs: 0,
  events: 0,
  files: 0,
  deliveries: 0,
  schedules: 0,
  grants: 0,
  replies: 0,
  unfinished: 0,
  unfinished_runs: [],
}

/** Everything that holds words. */
const TABLES = [
  'memories',
  'memory_scopes',
  'runs',
  'invocations',
  'logs',
  'events',
  'deliveries',
  'claims',
  'jobs',
  'approvals',
  'feedback',
  'schedules',
]

onAnyEngine(
  'what is stored about a user',
  (service) => {
    let people = 0
    let requests = 0
    /** Somebody nobody has heard of, and a word that only they say. */
    const stranger = () => {
      people += 1
      return { user_id: `person-${people}`, word: `zanzibar${people}` }
    }

    const exported = async (user_id: string, key = service().admin) => {
      const reply = await service().call('GET', `/v1/users/${encodeURIComponent(user_id)}/export`, { key })
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
      return reply.text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    }
    const erase = async (user_id: string, key = service().admin) => {
      const reply = await service().call('DELETE', `/v1/users/${encodeURIComponent(user_id)}`, { key })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data
    }

    /** Leaves the word wherever words are kept: in memory, a receipt, a log, an event, replies that may be repeated. */
    const talk = async (agent: string, { user_id, word }: { user_id: string; word: string }) => {
      const context = { user_id, session_id: `session of ${user_id}`, note: word }
      const post = (path: string, body: object) => {
        requests += 1
        const options = { body, headers: { 'Idempotency-Key': `request-${requests}` } }
        return () => service().call('POST', `/v1/agents/${agent}/${path}`, options)
      }
      const say = post('invoke', { message: `I am ${word}`, context })
      const said = await say()
      assert.equal(said.status, 200)
      const path = `/v1/agents/${agent}/invocations/${said.body.data.request_id}/feedback`
      assert.equal((await service().call('PUT', path, { body: { score: -1, comment: `not ${word}` } })).status, 200)
      const items = [{ content: `fact of ${word}`, kind: 'fact', context: { user_id }, metadata: { of: word } }]
      assert.equal((await post('memory', { items })()).status, 201)
      assert.equal((await post('memory/search', { query: word, context: { user_id } })()).status, 200)
      return say
    }

    describe('GET /v1/users/{user_id}/export', () => {
      test('contains a line for each memory, receipt and log entry of every agent, and nothing of other users', async () => {
        const [one, two] = [await newAgent(service()), await newAgent(service())]
        const [anna, ben] = [stranger(), stranger()]
        for (const agent of [one, two]) for (const person of [anna, ben]) await talk(agent, person)
        const lines = await exported(anna.user_id)
        const kinds = Map.groupBy(lines, ({ type, agent_id }) => `${type} ${agent_id}`)
        for (const agent of [one, two]) {
          assert.equal(kinds.get(`memory ${agent}`)?.length, 3)
          assert.equal(kinds.get(`invocation ${agent}`)?.length, 1)
          assert.ok((kinds.get(`log ${agent}`)?.length ?? 0) >= 1)
          assert.equal(kinds.get(`feedback ${agent}`)?.[0].comment, `not ${anna.word}`)
        }
        const text = JSON.stringify(lines)
        assert.ok(!text.includes(ben.word) && !text.includes(ben.user_id))
        assert.deepEqual(await exported('nobody at all'), [])
      })

      test('contains only agents that the key and the request have access to', async () => {
        const [one, two] = [await newAgent(service()), await newAgent(service())]
        const anna = stranger()
        for (const agent of [one, two]) await talk(agent, anna)
        const agentsOf = (lines: { agent_id: string }[]) => [...new Set(lines.map(({ agent_id }) => agent_id))]
        const { secret } = await createKey(service(), { role: 'admin', agent_id: one })
        assert.deepEqual(agentsOf(await exported(anna.user_id, secret)), [one])
        await service().call('PATCH', `/v1/agents/${two}`, {
          body: { security: { ipWhitelist: { enabled: true, addresses: ['192.0.2.1'] } } },
        })
        assert.deepEqual(agentsOf(await exported(anna.user_id)), [one])
      })

      test('contains more than one page completely', async () => {
        const agent = await newAgent(service())
        const { user_id } = stranger()
        const items = Array.from({ length: 1_100 }, (_, i) => ({ content: `note ${i}`, context: { user_id } }))
        await writeMemory(service(), agent, items)
        const lines = await exported(user_id)
        assert.equal(new Set(lines.map(({ content }) => content)).size, 1_100)
      })
    })

    describe('DELETE /v1/users/{user_id}', () => {
      test("removes the user's text from every table and keeps other users' text; the receipt stays for accounting", async () => {
        const agent = await newAgent(service())
        // No receiver is running there, so the events wait.
        await createWebhook(service(), { url: NOWHERE, agent_id: agent, events: ['*'] })
        const [anna, ben] = [stranger(), stranger()]
        const say = await talk(agent, anna)
        await talk(agent, ben)
        const db = storeOf(service())
        const places = await tablesWith(db, anna.word)
        assert.deepEqual(
          places,
          ['memories', 'invocations', 'events', 'claims', 'feedback'],
          'looked in the right places',
        )

        const erased = await erase(anna.user_id)
        const { logs, ...rest } = erased
        assert.ok(logs >= 1)
        assert.deepEqual(rest, {
          memories: 3,
          invocations: 1,
          events: 2,
          files: 0,
          deliveries: 0,
          schedules: 0,
          grants: 0,
          replies: 3,
          unfinished: 0,
          unfinished_runs: [],
        })
        for (const text of [anna.word, anna.user_id]) assert.deepEqual(await tablesWith(db, text), [], text)
        assert.deepEqual(await tablesWith(db, ben.word), places)
        assert.deepEqual(await exported(anna.user_id), [])

        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?sort=created_at`)
        const [receipt] = body.data
        const { message, response, context, steps, status, tokens_used } = receipt
        assert.deepEqual({ message, response, context }, { message: '', response: '', context: {} })
        assert.equal(steps[0].usage.total_tokens, tokens_used)
        assert.equal(status, 'completed')
        assert.ok(tokens_used > 0)
        const left = (await service().call('GET', `/v1/feedback?agent_id=${agent}&sort=created_at`)).body.data
        assert.deepEqual([left[0].score, left[0].comment, left[0].user_id, left[0].session_id], [-1, null, null, null])
        // A repeated request is still recognised.
        const again = await say()
        assert.equal(again.status, 404)
        assert.match(again.body.error.message, /has been erased/)
      })

      test('is in the audit log, and a second erasure finds nothing', async () => {
        const anna = stranger()
        await talk(await newAgent(service()), anna)
        await erase(anna.user_id)
        assert.deepEqual(await erase(anna.user_id), NOTHING)
        const { body } = await service().call('GET', '/v1/audit-log?action=eraseUser&limit=100')
        const entries = body.data.filter(({ target }: { target: string }) => target === anna.user_id)
        assert.deepEqual(
          entries.map(({ outcome }: { outcome: string }) => outcome),
          ['success', 'started', 'success', 'started'],
        )
      })

      test("erases only one agent's data for a key limited to it", async () => {
        const [one, two] = [await newAgent(service()), await newAgent(service())]
        const anna = stranger()
        await talk(one, anna)
        await talk(two, { ...anna, word: `${anna.word}b` })
        const { secret } = await createKey(service(), { role: 'admin', agent_id: one })
        const { memories, invocations, replies } = await erase(anna.user_id, secret)
        assert.deepEqual({ memories, invocations, replies }, { memories: 3, invocations: 1, replies: 3 })
        const left = await exported(anna.user_id)
        assert.ok(left.length > 0 && left.every(({ agent_id }) => agent_id === two))
        const usersOf = async (agent: string) => {
          const { body } = await service().call('GET', `/v1/usage?group_by=user&agent_id=${agent}`)
          return body.data.rows.map(({ user_id }: { user_id: string | null }) => user_id)
        }
        assert.deepEqual([await usersOf(one), await usersOf(two)], [[null], [anna.user_id]])
        assert.deepEqual(await tablesWith(storeOf(service()), `${anna.word}b`), [
          'memories',
          'invocations',
          'claims',
          'feedback',
        ])
      })

      test('removes approvals, decisions and schedules from stored replies and events, too', async () => {
        const agent = await newAgent(service(), { ...refundingAgent({ url: NOWHERE }) })
        await createWebhook(service(), { url: NOWHERE, agent_id: agent, events: ['*'] })
        const { user_id, word } = stranger()
        const post = async (path: string, body: object, key = service().admin) => {
          requests += 1
          const options = { body, key, headers: { 'Idempotency-Key': `request-${requests}` } }
          const send = () => service().call('POST', `/v1/agents/${agent}/${path}`, options)
          const { status, text } = await send()
          assert.ok(status < 300, text)
          return send
        }
        const context = { user_id }
        const ask = await post('invoke', { message: word, context })
        const { request_id } = (await ask()).body.data
        const approval = `invocations/${request_id}/approvals/call_1`
        const decide = await post(approval, { decision: 'reject', note: `not ${word}` }, await approver(service()))
        const plan = await post('schedules', { cron: '0 0 1 1 *', message: `remind ${word}`, context })
        const path = `/v1/agents/${agent}/invocations/${request_id}`
        await until('it has ended', async () => (await service().call('GET', path)).body.data.finished_at !== null)

        const lines = await exported(user_id)
        assert.ok(lines.some(({ type, note }) => type === 'approval' && note === `not ${word}`))
        assert.equal((await erase(user_id)).replies, 3)
        const db = storeOf(service())
        for (const text of [word, user_id]) assert.deepEqual(await tablesWith(db, text), [], text)
        for (const again of [ask, decide, plan]) {
          const { status, text } = await again()
          assert.equal(status, 404, text)
          assert.ok(!text.includes(word), text)
        }
      })

      test("removes the user's name from tokens that started or decided runs", async () => {
        const agent = await newAgent(service(), { ...refundingAgent({ url: NOWHERE }) })
        const { user_id, word } = stranger()
        const token = await signJwt({ user_id, sub: user_id, permissions: ['read', 'invoke', 'approve'] })
        const runs = `/v1/agents/${agent}/invocations`
        const ids: string[] = []
        for (const [starter, decider] of [
          [token, await approver(service())],
          [service().admin, token],
        ] as const) {
          const asked = { body: { message: word, context: { user_id } }, headers: { 'Idempotency-Key': 'by-token' } }
          const { status, body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
            key: starter,
            ...asked,
          })
          assert.equal(status, 202, JSON.stringify(body))
          const { request_id } = body.data
          const approval = `${runs}/${request_id}/approvals/call_1`
          const decision = { key: decider, body: { decision: 'reject' } }
          assert.equal((await service().call('POST', approval, decision)).status, 200)
          const ended = async () =>
            (await service().call('GET', `${runs}/${request_id}`)).body.data.finished_at !== null
          await until('it has ended', ended)
          ids.push(request_id)
        }
        await erase(user_id)
        const db = storeOf(service())
        assert.deepEqual(await tablesWith(db, user_id), [])
        const receipts = await Promise.all(ids.map((id) => service().call('GET', `${runs}/${id}`)))
        assert.equal(receipts[0]?.body.data.created_by, 'token:erased')
        assert.notEqual(receipts[1]?.body.data.created_by, 'token:erased')
        const said = await Promise.all(ids.map((id) => service().call('GET', `${runs}/${id}/approvals/call_1`)))
        assert.equal(said[0]?.body.data.started_by, 'token:erased')
        assert.equal(said[1]?.body.data.decided_by, 'token:erased')
      })

      test('erasing one invocation removes it from events, too', async () => {
        const agent = await newAgent(service())
        await createWebhook(service(), { url: NOWHERE, agent_id: agent, events: ['*'] })
        const { word } = stranger()
        const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: word } })
        const db = storeOf(service())
        assert.ok((await tablesWith(db, word)).includes('events'))
        const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
        assert.equal((await service().call('DELETE', path)).status, 200)
        assert.deepEqual(await tablesWith(db, word), [])
      })

      test('keeps active runs, and reports them', async () => {
        const slow = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }
        const anna = stranger()
        const runs: { agent_id: string; request_id: string }[] = []
        for (const agent_id of [await newAgent(service(), slow), await newAgent(service(), slow)]) {
          const queued = await service().call('POST', `/v1/agents/${agent_id}/invoke`, {
            body: { message: anna.word, context: { user_id: anna.user_id } },
            headers: { Prefer: 'respond-async' },
          })
          assert.equal(queued.status, 202, queued.text)
          runs.push({ agent_id, request_id: queued.body.data.request_id })
        }
        const first = await erase(anna.user_id)
        assert.deepEqual([first.invocations, first.unfinished], [0, 2])
        const left = first.unfinished_runs as { status: string; agent_id: string; request_id: string }[]
        assert.deepEqual(new Set(left.map(({ status: _status, ...run }) => run)), new Set(runs))
        for (const { status } of left) assert.match(status, /queued|running/)
        for (const { agent_id, request_id } of runs) {
          await service().call('POST', `/v1/agents/${agent_id}/invocations/${request_id}/cancel`)
        }
        const { invocations, unfinished } = await erase(anna.user_id)
        assert.deepEqual({ invocations, unfinished }, { invocations: 2, unfinished: 0 })
      })
    })
  },
  { ...LOCAL_RECEIVERS, ...JWT_SETTINGS },
)

for (const engine of ANY_ENGINE) {
  test(`an erasure that is killed is finished by sending it again, on ${engine}`, async (t) => {
    const child = await startChildService(t, engine)
    const items = Array.from({ length: 100 }, (_, i) => ({ content: `word ${i}`, context: { user_id: 'anna' } }))
    for (let i = 0; i < 15; i++) await child.call('POST', '/v1/agents/hello/memory', { items })
    const erasing = child.send('DELETE', '/v1/users/anna')
    const isUnderWay = async () => {
      const { pagination } = await child.call('GET', '/v1/agents/hello/memory?user_id=anna&limit=1')
      return pagination.total < 1500
    }
    await until('the erasure is under way', isUnderWay)
    await child.kill()
    await erasing
    await child.start()
    await child.call('DELETE', '/v1/users/anna')
    const { data } = await child.call('GET', '/v1/agents/hello/users')
    assert.deepEqual(data, [])
  })
}

/** The tables that have the text somewhere. */
async function tablesWith(db: Database, text: string): Promise<string[]> {
  const found: string[] = []
  for (const table of TABLES) {
    const { rows } = await sql`select * from ${sql.table(table)}`.execute(db)
    if (JSON.stringify(rows).includes(text)) found.push(table)
  }
  return found
}
