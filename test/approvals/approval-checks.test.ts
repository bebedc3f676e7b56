import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SchemaCheck } from '../../src/runtime/schemas/schema-check.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver, decide, refundingAgent, startTill, startWaiting, type Till } from '../support/slices/approvals.ts'

onAnyEngine(
  'a call that needs approval',
  (service) => {
    let till: Till
    before(async () => {
      till = await startTill()
    })
    after(() => till.close())

    test('is not made if its arguments cannot be checked in time, although a second check would be quicker', async (t) => {
      const agent = await newAgent(service(), refundingAgent(till))
      const late = t.mock.method(SchemaCheck.prototype, 'check')
      late.mock.mockImplementationOnce(async () => ({ outcome: 'undecided', why: 'time' }))
      const { status, body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'one' } })
      const problem = "Invalid arguments: checking them against the tool's input_schema took too long"
      assert.deepEqual([status, body.data.response], [200, `Said: ${problem}`])
      assert.equal(late.mock.callCount(), 1)
      assert.deepEqual(till.refunds, [])
    })

    test('can be cancelled while the arguments that a person has changed are checked', async (t) => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { path, approval } = await startWaiting(service(), agent, 'two')
      const key = await approver(service())
      const held = Promise.withResolvers<void>()
      const checks = t.mock.method(SchemaCheck.prototype, 'check')
      checks.mock.mockImplementationOnce(() => held.promise.then(() => ({ outcome: 'ok' })))
      const changed = { decision: 'approve', arguments: { order: 'two', amount: 1 } }
      const deciding = decide(service(), approval, key, changed)
      await until('they are checked', () => checks.mock.callCount() === 1)
      const cancelled = await service().call('POST', `${path}/cancel`)
      held.resolve()
      assert.deepEqual([cancelled.status, (await deciding).status], [200, 409])
      assert.deepEqual(till.refunds, [])
    })
  },
  LOCAL_TOOLS,
)
