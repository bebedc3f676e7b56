import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SchemaCheck } from '../../src/runtime/schemas/schema-check.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import {
  approver,
  decide,
  refundingAgent,
  startTill,
  startWaiting,
  type Till,
  untilStatus,
} from '../support/slices/approvals.ts'

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
      const problem = 'Invalid arguments: they took too long to be checked against the input_schema of this tool'
      assert.deepEqual([status, body.data.response], [200, `Said: ${problem}`])
      assert.equal(late.mock.callCount(), 1)
      assert.deepEqual(till.refunds, [])
    })

    test('nobody else waits while the arguments of a person are checked', async (t) => {
      const key = await approver(service())
      const agent = await newAgent(service(), refundingAgent(till))
      const { approval, path } = await startWaiting(service(), agent, 'two')
      const [begun, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const slow = t.mock.method(SchemaCheck.prototype, 'check')
      slow.mock.mockImplementationOnce(async () => {
        begun.resolve()
        await checked.promise
        return { outcome: 'ok' }
      })
      const changed = { decision: 'approve', arguments: { order: 'two', amount: 5 } }
      const deciding = decide(service(), approval, key, changed)
      await begun.promise
      // It writes. With a transaction open, SQLite would let it wait until that one ends.
      await newAgent(service())
      checked.resolve()
      const { status, text } = await deciding
      assert.equal(status, 200, text)
      await untilStatus(service(), path, 'completed')
      assert.deepEqual(
        till.of('two').map(({ amount }) => amount),
        [5],
      )
      // Who may not decide learns nothing of the schema.
      const { status: refused } = await decide(service(), approval, service().admin, { ...changed, arguments: {} })
      assert.equal(refused, 403)
    })
  },
  LOCAL_TOOLS,
)
