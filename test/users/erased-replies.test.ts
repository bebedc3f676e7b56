import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import * as claims from '../../src/storage/leases/claims.ts'
import { storageOf, storeOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver, refundingAgent, startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS } from '../support/slices/webhooks.ts'
import { everythingStored } from '../support/stores/stored.ts'

const SLOW = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }
const WORD = 'diagnosis'

onAnyEngine(
  'replies stored for an Idempotency-Key',
  (service) => {
    /** A request that can be sent again. */
    const keyed = (path: string, body?: object, key = service().admin) => {
      const options = { key, headers: { 'Idempotency-Key': randomUUID() }, ...(body && { body }) }
      return () => service().call('POST', path, options)
    }
    const queue = async (context = { user_id: 'alice' }) => {
      const agent = await newAgent(service(), SLOW)
      const options = { body: { message: WORD, context }, headers: { Prefer: 'respond-async' } }
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, options)
      const { request_id } = body.data
      return { agent, request_id, path: `/v1/agents/${agent}/invocations/${request_id}` }
    }
    const erase = async (path: string) => {
      const { status, text } = await service().call('DELETE', path)
      assert.equal(status, 200, text)
    }
    const wordsInReplies = async () => {
      const rows = await storeOf(service()).selectFrom('claims').select('body').execute()
      return rows.filter(({ body }) => body?.includes(WORD)).length
    }

    describe('about a run are deleted when the run is erased:', () => {
      test('its cancellation', async () => {
        const { path } = await queue()
        const cancel = keyed(`${path}/cancel`)
        assert.equal((await cancel()).body.data.message, WORD)
        await erase(path)
        assert.equal(await wordsInReplies(), 0)
        assert.equal((await cancel()).status, 404)
      })

      test('its cancellation as a response', async () => {
        const agent = await newAgent(service(), SLOW)
        const asked = { model: agent, input: WORD, instructions: WORD, background: true }
        const { body } = await service().call('POST', '/v1/responses', { body: asked })
        const cancel = keyed(`/v1/responses/${body.id}/cancel`)
        const cancelled = await cancel()
        assert.equal(cancelled.status, 200, cancelled.text)
        assert.ok(cancelled.text.includes(WORD))
        await erase(`/v1/responses/${body.id}`)
        assert.equal(await wordsInReplies(), 0)
        assert.equal((await cancel()).status, 404)
      })

      test('a decision', async () => {
        const agent = await newAgent(service(), refundingAgent({ url: NOWHERE }))
        const { path, approval } = await startWaiting(service(), agent, WORD)
        const decide = keyed(approval, { decision: 'reject', note: `no ${WORD}` }, await approver(service()))
        assert.equal((await decide()).body.data.note, `no ${WORD}`)
        await untilStatus(service(), path, 'completed')
        await erase(path)
        assert.equal(await wordsInReplies(), 0)
        assert.equal((await decide()).status, 404)
      })

      test('even a reply that is just being stored', async () => {
        const { path, request_id } = await queue()
        await service().call('POST', `${path}/cancel`)
        const db = storeOf(service())
        const lease = { key: ['somebody', randomUUID()], owner: 'a node', until: Date.now() + 60_000 }
        const request = { fingerprint: 'cancel', project_id: 'prj_default', request_id }
        await claims.claim(db, lease, request, Date.now())
        await erase(path)
        assert.equal(await claims.complete(db, lease, { status: 200, headers: {}, body: WORD }), false)
        const next = await claims.claim(db, { ...lease, owner: 'next' }, request, Date.now())
        assert.equal(next.state, 'claimed')
      })
    })

    test('about a user are kept in projects that the erasing key has no access to', async () => {
      const context = { user_id: 'carla' }
      const { path, agent: theirs } = await queue(context)
      const item = { content: WORD, context }
      const kept = [
        keyed(`${path}/cancel`),
        keyed(`/v1/agents/${theirs}/memory`, { items: [item] }),
        keyed(`/v1/agents/${theirs}/memory/search`, { query: WORD, context }),
        keyed(`/v1/agents/${theirs}/schedules`, { cron: '0 0 1 1 *', message: WORD, context }),
      ]
      const own = await newAgent(service())
      const gone = keyed(`/v1/agents/${own}/memory`, { items: [item] })
      const answers = []
      for (const send of [...kept, gone]) answers.push((await send()).body)
      const { secret } = await createKey(service(), { role: 'admin', agent_id: own })
      const erased = await service().call('DELETE', '/v1/users/carla', { key: secret })
      assert.equal(erased.body.data.replies, 1, erased.text)
      assert.equal((await gone()).status, 404)
      for (const [i, send] of kept.entries()) {
        const { body, headers } = await send()
        assert.deepEqual([body.data, headers.get('idempotent-replayed')], [answers[i].data, 'true'])
      }
    })

    for (const [path, asked] of [
      ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] }],
      ['/v1/responses', { input: 'hello' }],
    ] as const) {
      test(`${path}: with the caller's tool descriptions are deleted with the user, like everything stored`, async () => {
        const word = `zanzibar${randomUUID()}`
        const parameters = { type: 'object', properties: { of: { type: 'string', description: `the ${word}` } } }
        const tool = { name: 'look_up', description: `Looks up a ${word}`, parameters }
        const isChat = 'messages' in asked
        const tools = [isChat ? { type: 'function', function: tool } : { type: 'function', ...tool }]
        const user = `carla-${randomUUID()}`
        const say = keyed(path, { ...asked, model: await newAgent(service()), user, tools })
        const said = await say()
        assert.equal(said.status, 200, said.text)
        assert.equal(said.text.includes(word), !isChat)
        assert.ok((await everythingStored(service())).includes(word))
        await erase(`/v1/users/${user}`)
        assert.equal((await everythingStored(service())).includes(word), false)
        assert.equal((await say()).status, 404)
      })
    }

    test("and events of a run that ends during the user's erasure are deleted with the user", async (t) => {
      const storage = storageOf(service())
      const { transaction } = storage
      t.after(() => Object.assign(storage, { transaction }))
      // The service itself might start a transaction before the erasure. Then the run ends too early.
      await inOneAttempt(async (attempt) => {
        const agent = await newAgent(service())
        // No receiver is running there, so the events wait.
        await createWebhook(service(), { url: NOWHERE, agent_id: agent, events: ['*'] })
        const user_id = `bob-${attempt}`
        const say = keyed(`/v1/agents/${agent}/invoke`, { message: WORD, context: { user_id } })
        const before = await wordsInReplies()
        // The erasure has looked for what there is when it begins to write.
        storage.transaction = async (work) => {
          storage.transaction = transaction
          assert.equal((await say()).status, 200)
          return transaction(work)
        }
        const { body } = await service().call('DELETE', `/v1/users/${user_id}`)
        const { invocations, events, replies } = body.data
        assert.deepEqual({ invocations, events, replies }, { invocations: 1, events: 1, replies: 1 })
        assert.equal(await wordsInReplies(), before, 'what this run has answered')
        const stored = await storage.db.selectFrom('events').select('body').execute()
        const told = stored.filter((event) => event.body.includes(agent))
        assert.ok(told.length > 0 && told.every((event) => !event.body.includes(WORD)))
        assert.equal((await say()).status, 404)
      })
    })
  },
  LOCAL_RECEIVERS,
)
