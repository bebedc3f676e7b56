import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { endUnownedRun } from '../../src/invocations/effects/end-unowned-run.ts'
import * as invocations from '../../src/invocations/store.ts'
import { loseRun, partsOf, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, NOWHERE } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { callerOf, childrenOf, named } from '../support/slices/agent-tools.ts'
import { approver, decide, refundingAgent, startTill, type Till, untilStatus } from '../support/slices/approvals.ts'
import { createWebhook, delivery } from '../support/slices/webhooks.ts'
import { failRun } from '../support/stores/moved-run.ts'

const HOUR_MS = 3_600_000
const SLOW = { model: 'builtin/script', script: { rules: [{ reply: 'late', delay_ms: 60_000 }] } }
/** Dollars for a million tokens. */
const PRICE = { model: 'local/priced', input: 10, output: 100 }
const USAGE = { prompt_tokens: 1_000, completion_tokens: 50 }

type Run = { request_id: string; agent_id: string; status: string }

for (const engine of STORY_ENGINES) {
  describe(`runs that call each other, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let till: Till
    let stop: () => Promise<void>
    before(async () => {
      till = await startTill()
      const settings = { MOORAGE_PRICES: JSON.stringify([PRICE]), MOORAGE_RETENTION__INVOCATIONS: '2d' }
      ;({ service, model, stop } = await startWithModel(engine, { ...LOCAL_TOOLS, ...settings }))
    })
    after(async () => {
      await stop()
      await till.close()
    })
    beforeEach(() => model.reset())

    const db = () => storeOf(service)
    const pathOf = ({ agent_id, request_id }: Omit<Run, 'status'>) => `/v1/agents/${agent_id}/invocations/${request_id}`
    const start = async (agent_id: string, message = 'Ahoy') => {
      const asked = { body: { message }, headers: { Prefer: 'respond-async' } }
      const { status, body, text } = await service.call('POST', `/v1/agents/${agent_id}/invoke`, asked)
      assert.equal(status, 202, text)
      return { agent_id, request_id: body.data.request_id as string }
    }
    const calledBy = ({ request_id }: { request_id: string }, status: string): Promise<Run> =>
      until(`a run below that is ${status}`, async () =>
        (await childrenOf(service, request_id)).find((run: Run) => run.status === status),
      )

    describe("after the caller's node dies before cancelling the runs it called", () => {
      /** The run ends, and nothing else is stored. */
      const fail = ({ request_id }: { request_id: string }) => failRun(db(), request_id)
      /** The run has ended, and retention has deleted it. */
      const remove = async ({ request_id }: { request_id: string }) => {
        await db().deleteFrom('runs').where('id', '=', request_id).execute()
      }
      /** Makes every node search at the same time. */
      const search = async (t: TestContext) => {
        const other = engine === 'postgres' ? await service.beside() : undefined
        t.after(() => other?.stop())
        wakeJobs(service)
        if (other) wakeJobs(other)
      }
      const timesCancelled = async ({ agent_id }: Run) => {
        const { body } = await service.call('GET', `/v1/agents/${agent_id}/logs?level=warn`)
        return body.data.filter(({ message }: { message: string }) => message === 'Invocation cancelled').length
      }

      for (const [way, end] of Object.entries({ stored: fail, removed: remove })) {
        test(`${way}: all runs below it are cancelled, and their approvals take no effect`, async (t) => {
          const key = await approver(service)
          await named(service, `cashier-${way}`, refundingAgent(till))
          await named(service, `middle-${way}`, callerOf(`cashier-${way}`))
          const order = `${way}-${engine}`
          const root = await start(await newAgent(service, callerOf(`middle-${way}`)), order)
          const middle = await calledBy(root, 'waiting')
          const cashier = await calledBy(middle, 'waiting')
          await end(root)
          await search(t)
          for (const run of [middle, cashier]) {
            await untilStatus(service, pathOf(run), 'cancelled')
            assert.equal(await timesCancelled(run), 1)
          }
          const approval = `${pathOf(cashier)}/approvals/call_1`
          assert.equal((await service.call('GET', approval)).body.data.status, 'cancelled')
          const late = await decide(service, approval, key, { decision: 'approve' })
          assert.equal(late.status, 409, late.text)
          assert.deepEqual(till.of(order), [])
        })
      }

      test('a run that is active is stopped', async (t) => {
        await named(service, 'slow', SLOW)
        const root = await start(await newAgent(service, callerOf('slow')))
        const slow = await calledBy(root, 'running')
        await fail(root)
        await search(t)
        await untilStatus(service, pathOf(slow), 'cancelled')
      })

      test('a run that started to wait while it was being cancelled is cancelled', async (t) => {
        await named(service, 'cashier-late', refundingAgent(till))
        const root = await start(await newAgent(service, callerOf('cashier-late')))
        const cashier = await calledBy(root, 'waiting')
        await fail(root)
        const asked = db().updateTable('runs').set({ cancel_requested_at: service.now() })
        await asked.where('id', '=', cashier.request_id).execute()
        await search(t)
        await untilStatus(service, pathOf(cashier), 'cancelled')
        const { body } = await service.call('GET', `${pathOf(cashier)}/approvals/call_1`)
        assert.equal(body.data.status, 'cancelled')
      })
    })

    test('a synchronous run whose node died fails, and its receipt keeps its steps and costs', async () => {
      await named(service, 'clerk')
      const agent_id = await newAgent(service, { model: 'local/priced', tools: callerOf('clerk').tools })
      const hook = await createWebhook(service, { url: NOWHERE, agent_id, events: ['agent.failed'] })
      const call = { name: 'ask', arguments: { message: 'Ahoy' } }
      model.reply({ text: ['Let me ask.'], calls: [call], usage: USAGE }, { breaks: 'silence' })
      const asked = service.call('POST', `/v1/agents/${agent_id}/invoke`, { body: { message: 'Ahoy' } })
      await until('it goes on after the call', () => model.requests.length === 2)
      const [{ request_id }] = (await service.call('GET', `/v1/agents/${agent_id}/invocations`)).body.data
      await loseRun(service, request_id)
      const receipt = await untilStatus(service, pathOf({ agent_id, request_id }), 'failed')
      await asked

      assert.equal(receipt.error.code, 'server_error')
      assert.equal(receipt.response, 'Let me ask.')
      assert.deepEqual([receipt.tokens_used, receipt.cost_usd], [1_050, 0.015])
      const [run] = await childrenOf(service, request_id)
      assert.deepEqual(
        receipt.steps.map(({ kind, child }: { kind: string; child?: Run }) => [kind, child?.request_id]),
        [
          ['model', undefined],
          ['tool', run.request_id],
        ],
      )
      const { id } = await delivery(service, hook.id, 1)
      const sent = (await service.call('GET', `/v1/webhooks/${hook.id}/deliveries/${id}`)).body.data.body
      const { tokens_used, cost_usd } = JSON.parse(sent).data
      assert.deepEqual([tokens_used, cost_usd], [1_050, 0.015])
      const logs = (await service.call('GET', `/v1/agents/${agent_id}/logs?sort=timestamp`)).body.data
      assert.deepEqual(
        logs.map(({ message }: { message: string }) => message),
        ['Tool ask answered', 'Invocation failed: The service stopped while the agent was answering.'],
      )
    })

    test('a waiting run is not ended by a node that saw it as running and dead', async () => {
      const agent_id = await newAgent(service, refundingAgent(till))
      const run = await start(agent_id)
      await untilStatus(service, pathOf(run), 'waiting')
      const parts = partsOf(service)
      const { seq } = await db().selectFrom('agents').select('seq').where('id', '=', agent_id).executeTakeFirstOrThrow()
      const found = { ...(await invocations.get(db(), seq, run.request_id)), status: 'running' as const }
      const error = { code: 'server_error', message: 'Its node seemed dead' } as const
      assert.equal(await endUnownedRun(found, { agent: undefined, status: 'failed', error }, parts), false)
      await untilStatus(service, pathOf(run), 'waiting')
      const { body } = await service.call('GET', `${pathOf(run)}/approvals/call_1`)
      assert.equal(body.data.status, 'pending')
    })

    for (const [whose, hours] of [
      ['the service', 49],
      ['the project', 25],
    ] as const) {
      test(`retention of ${whose} keeps a called run while its caller waits, so that nothing runs twice`, async () => {
        const key = await approver(service)
        const retention_days = whose === 'the project' ? 1 : null
        const limited = await service.call('PATCH', '/v1/projects/prj_default', {
          body: { limits: { retention_days } },
        })
        assert.equal(limited.status, 200, limited.text)
        const order = `${hours}-${engine}`
        const children = { quick: refundingAgent(till, {}), careful: refundingAgent(till) }
        const tools = await Promise.all(
          Object.entries(children).map(async ([name, fields]) => {
            const agent = await newAgent(service, fields)
            return { type: 'agent', name, agent }
          }),
        )
        const calls = tools.map(({ name }) => ({ name, arguments: { message: `${name}-${order}` } }))
        model.reply({ calls }, { text: ['Both are done.'] })
        const alone = await start(await newAgent(service))
        const root = await start(await newAgent(service, { model: 'local/tiny', tools }))
        const quick = await calledBy(root, 'completed')
        const careful = await calledBy(root, 'waiting')
        await untilStatus(service, pathOf(alone), 'completed')

        const paused = await service.call('POST', '/v1/pause', { body: { reason: 'A long weekend' } })
        assert.equal(paused.status, 200, paused.text)
        await ranAgain(service, 'retention', hours * HOUR_MS)
        assert.equal((await service.call('GET', pathOf(alone))).status, 404)
        assert.equal((await service.call('POST', '/v1/resume', { body: {} })).status, 200)
        const decided = await decide(service, `${pathOf(careful)}/approvals/call_1`, key, { decision: 'approve' })
        assert.equal(decided.status, 200, decided.text)
        await untilStatus(service, pathOf(root), 'completed')
        for (const { name } of tools) assert.equal(till.of(`${name}-${order}`).length, 1, name)
        await ranAgain(service, 'retention', hours * HOUR_MS)
        assert.equal((await service.call('GET', pathOf(quick))).status, 404, 'it goes once none waits for it')
      })
    }
  })
}
