import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { find } from '../../src/agents/store.ts'
import { findApproval, settleApproval } from '../../src/invocations/approvals/approval-store.ts'
import { cancelRun } from '../../src/invocations/cancel-run.ts'
import { lock } from '../../src/invocations/queue/queue-store.ts'
import { partsOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { refundingAgent, startTill, startWaiting, type Till } from '../support/slices/approvals.ts'

for (const engine of STORY_ENGINES) {
  describe(`cancelling a run while a person decides, on ${engine}`, () => {
    let service: Service
    let till: Till
    let model: Awaited<ReturnType<typeof startWithModel>>['model']
    let stop: () => Promise<void>
    before(async () => {
      till = await startTill()
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
    })
    after(async () => {
      await stop()
      await till.close()
    })

    test('the receipt contains the decision if it was stored first', async () => {
      const parts = partsOf(service)
      const { db } = parts.storage
      const agent_id = await newAgent(service, { model: 'local/tiny', tools: refundingAgent(till).tools })
      model.reply({ calls: [1, 2].map((amount) => ({ name: 'refund', arguments: { order: 'two', amount } })) })
      const { request_id } = await startWaiting(service, agent_id, 'two')
      const agent = await find(db, agent_id)
      const approval = await findApproval(db, request_id, 'call_1')
      assert.ok(agent && approval)

      const [hasDecided, hasRead] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const decided = parts.storage.transaction(async (held) => {
        await lock(held, agent.seq, request_id)
        await settleApproval(held, approval, { status: 'rejected', at: Date.now(), by: 'somebody' })
        hasDecided.resolve()
        await hasRead.promise
      })
      await hasDecided.promise
      // It looks for webhooks when it has read what the run has done.
      const events: typeof parts.events = {
        ...parts.events,
        writes(event) {
          hasRead.resolve()
          return parts.events.writes(event)
        },
      }
      const cancelled = cancelRun(agent, request_id, { ...parts, events })
      await decided
      const { status, steps } = await cancelled
      assert.equal(status, 'cancelled')
      assert.deepEqual(
        steps.filter(({ kind }) => kind === 'approval').map((step) => 'decision' in step && step.decision),
        ['rejected'],
      )
    })
  })
}
