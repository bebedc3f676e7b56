import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifySignature } from '../../sdk/webhook.ts'
import { migrate } from '../../src/storage/schema/migrate.ts'
import type { Migration } from '../../src/storage/schema/migration.ts'
import { MIGRATIONS } from '../../src/storage/schema/released-migrations.ts'
import { storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer, SeenRequest } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import {
  approver,
  decide,
  refundingAgent,
  startTill,
  startWaiting,
  type Till,
  untilStatus,
} from '../support/slices/approvals.ts'
import { type Arrival, createWebhook, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

const APPROVE = { decision: 'approve' }

for (const engine of ANY_ENGINE) {
  describe(`events and calls of a run that waits for approval, on ${engine}`, () => {
    let service: Service
    let till: Till
    let model: ModelServer
    let stop: () => Promise<void>
    let key: string
    before(async () => {
      till = await startTill()
      ;({ service, model, stop } = await startWithModel(engine, { ...LOCAL_TOOLS, ...LOCAL_RECEIVERS }))
      key = await approver(service)
    })
    after(async () => {
      await stop()
      await till.close()
    })

    test('agent.waiting reaches a signed webhook and a listener once each, with the call to approve', async (t) => {
      const inbox = await openInbox(t)
      const agent_id = await newAgent(service, refundingAgent(till))
      const events = ['agent.waiting', 'agent.completed']
      const { secret } = await createWebhook(service, { agent_id, url: inbox.url, events })
      const { body: made } = await service.call('POST', '/v1/listeners', { body: { agent_id, events } })
      const { request_id, path, approval } = await startWaiting(service, agent_id, 'told-1', { user_id: 'ada' })
      const [arrival] = (await inbox.first(1)) as [Arrival]
      const headers = arrival.headers as Record<string, string>
      new Webhook(secret).verify(arrival.body, headers)
      assert.ok(await verifySignature(arrival.body, headers['x-service-signature'] ?? '', secret))
      assert.equal(headers['x-service-event'], 'agent.waiting')
      const { type, agent_id: of, data } = JSON.parse(arrival.body)
      assert.deepEqual([type, of], ['agent.waiting', agent_id])
      const { approvals, duration_ms, ...rest } = data
      assert.ok(duration_ms >= 0)
      assert.deepEqual(rest, {
        request_id,
        status: 'waiting',
        environment: 'production',
        version: null,
        tokens_used: 10,
        cost_usd: 0,
        context: { user_id: 'ada', session_id: null },
      })
      const [{ expires_at, ...asked }] = approvals
      assert.ok(Date.parse(expires_at) > Date.now())
      const args = { order: 'told-1', amount: 120 }
      assert.deepEqual(asked, { call_id: 'call_1', kind: 'tool', tool: 'refund', arguments: args })
      const heard = await service.call('GET', `/v1/listeners/${made.data.id}`)
      assert.deepEqual(
        heard.body.data.deliveries.map((one: { body: string }) => one.body),
        [arrival.body],
      )

      await decide(service, approval, key, APPROVE)
      await untilStatus(service, path, 'completed')
      const arrivals = await inbox.first(2)
      assert.deepEqual(
        arrivals.map((one) => JSON.parse(one.body).type),
        ['agent.waiting', 'agent.completed'],
      )
    })

    test('of two calls in one answer, the one without approval is made first; then the model gets both results', async () => {
      model.reset()
      const [free] = refundingAgent(till, { name: 'note', approval: 'never' }).tools
      const { tools } = refundingAgent(till)
      const agent = await newAgent(service, { model: 'local/tiny', tools: [...tools, free] })
      const [refund, note] = [
        { order: 'two-refund', amount: 120 },
        { order: 'two-note', amount: 1 },
      ]
      model.reply(
        {
          calls: [
            { name: 'refund', arguments: refund },
            { name: 'note', arguments: note },
          ],
        },
        { text: ['Both done.'] },
      )
      const { path, approval, request_id } = await startWaiting(service, agent, 'both')
      assert.deepEqual([till.of('two-note').length, till.of('two-refund').length], [1, 0])
      assert.equal(model.requests.length, 1)
      const { body } = await service.call('GET', `/v1/approvals?request_id=${request_id}`)
      assert.equal(body.pagination.total, 1)

      await decide(service, approval, key, APPROVE)
      assert.equal((await untilStatus(service, path, 'completed')).response, 'Both done.')
      assert.deepEqual([till.of('two-note').length, till.of('two-refund').length], [1, 1])
      assert.equal(model.requests.length, 2)
      const shown = model.requests[1]?.body.messages.filter(({ role }) => role === 'tool')
      assert.deepEqual(
        shown?.map(({ tool_call_id, content }) => [tool_call_id, content]),
        [
          ['call_1', 'refunded 120'],
          ['call_2', 'refunded 1'],
        ],
      )
    })

    for (const earlier of [[], ['Earlier']]) {
      const what = earlier.length > 0 ? 'the exchanges before' : 'nothing, if nothing was said before'
      test(`after a decision, the model sees ${what} the message, and nothing that was said meanwhile`, async () => {
        model.reset()
        const agent = await newAgent(service, { model: 'local/tiny', tools: refundingAgent(till).tools })
        const context = { user_id: 'bea', session_id: 's1' }
        const say = (message: string) =>
          service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
        for (const message of earlier) await say(message)
        model.reply({ calls: [{ name: 'refund', arguments: { order: 'meanwhile', amount: 1 } }] })
        const { path, approval } = await startWaiting(service, agent, 'Refund it', context)
        assert.equal((await say('Later')).status, 200)
        await decide(service, approval, key, APPROVE)
        await untilStatus(service, path, 'completed')
        const said = (request: SeenRequest | undefined) =>
          request?.body.messages.filter(({ role }) => role === 'user').map(({ content }) => content)
        const prompts = model.requests.map(said)
        assert.deepEqual(prompts.at(-1), prompts.at(-3))
        assert.deepEqual(prompts.at(-1), [...earlier, 'Refund it'])
      })
    }

    /** Two calls in one answer that both wait; the second expires after an hour. */
    const startTwo = async (name: string) => {
      model.reset()
      const [quick] = refundingAgent(till, { name: 'quick', approval: { expires_after_seconds: 3600 } }).tools
      const agent = await newAgent(service, { model: 'local/tiny', tools: [...refundingAgent(till).tools, quick] })
      const calls = ['refund', 'quick'].map((tool) => ({
        name: tool,
        arguments: { order: `${name}-${tool}`, amount: 1 },
      }))
      model.reply({ calls }, { text: ['Done.'] })
      return startWaiting(service, agent, name)
    }

    test('two calls that need approval are made only when both are decided', async () => {
      const { path } = await startTwo('pair')
      const made = () => [till.of('pair-refund').length, till.of('pair-quick').length]
      assert.equal((await decide(service, `${path}/approvals/call_2`, key, APPROVE)).status, 200)
      assert.equal((await service.call('GET', path)).body.data.status, 'waiting')
      assert.deepEqual(made(), [0, 0])
      assert.equal((await decide(service, `${path}/approvals/call_1`, key, APPROVE)).status, 200)
      assert.equal((await untilStatus(service, path, 'completed')).response, 'Done.')
      assert.deepEqual(made(), [1, 1])
    })

    test('approvals asked for together expire together, when the first one does', async () => {
      const { path, request_id } = await startTwo('hasty')
      const { body } = await service.call('GET', `/v1/approvals?request_id=${request_id}`)
      const ends = body.data.map(({ created_at, expires_at }: Record<string, string>) => {
        return Math.round((Date.parse(String(expires_at)) - Date.parse(String(created_at))) / 60_000)
      })
      assert.deepEqual(ends, [60, 60])
      await service.call('POST', `${path}/cancel`, { body: {} })
    })

    test('a run can be approved after a restart with a schema that has more columns', async () => {
      const agent = await newAgent(service, refundingAgent(till))
      const { path, approval } = await startWaiting(service, agent, 'grown-1')
      const grow: Migration = {
        name: 'grow',
        async run({ schema }) {
          for (const table of ['runs', 'invocations', 'steps', 'approvals', 'agents', 'versions']) {
            await schema.alterTable(table).addColumn('later', 'text').execute()
            await schema.createIndex(`${table}_by_later`).on(table).column('later').execute()
          }
        },
      }
      const db = storeOf(service)
      await migrate(db, engine, [...MIGRATIONS, grow])
      await service.restart()
      const migrated = await storeOf(service).selectFrom('migrations').select('name').execute()
      assert.deepEqual(
        migrated.map(({ name }) => name),
        [...MIGRATIONS, grow].map(({ name }) => name),
      )
      assert.equal((await service.call('GET', path)).body.data.status, 'waiting')
      assert.deepEqual(till.of('grown-1'), [])
      assert.equal((await decide(service, approval, key, APPROVE)).status, 200)
      await untilStatus(service, path, 'completed')
      assert.equal(till.of('grown-1').length, 1)
    })
  })
}
