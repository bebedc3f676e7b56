import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const HOUR = 3_600_000
const ANSWER = { text: ['Calm.'], usage: { prompt_tokens: 11, completion_tokens: 4 } }

for (const engine of STORY_ENGINES) {
  describe(`a user who is erased during a call with a reservation, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
    })
    after(() => stop())
    beforeEach(() => model.reset())
    const db = () => storeOf(service)

    /** Erases the user while the model has not answered, and lets it answer then. */
    const eraseMeanwhile = async (user_id: string, meanwhile: () => Promise<void>) => {
      const agent = await newAgent(service, { model: 'local/test-model', limits: { max_output_tokens: 100 } })
      const body = { name: 'each', per: 'ever', scope: { type: 'user' }, limit: { tokens: 1_000 } }
      const budget = await service.call('POST', '/v1/budgets', { body })
      assert.equal(budget.status, 201, budget.text)
      const answered = Promise.withResolvers<void>()
      model.reply(ANSWER)
      model.holdNext(answered.promise)
      const seen = model.nextRequest()
      const asked = { message: 'How is the sea?', context: { user_id } }
      const invoked = service.call('POST', `/v1/agents/${agent}/invoke`, { body: asked })
      await seen
      const erased = await service.call('DELETE', `/v1/users/${user_id}`)
      assert.deepEqual([erased.status, erased.body.data?.unfinished], [200, 1], erased.text)
      await meanwhile()
      answered.resolve()
      assert.equal((await invoked).status, 200)
      return budget.body.data.id as string
    }
    const statuses = async () => {
      const rows = await db()
        .selectFrom('ledger')
        .select(['status', 'user_id'])
        .where('model', '=', 'local/test-model')
        .orderBy('id', 'desc')
        .limit(1)
        .execute()
      return rows.map(({ status, user_id }) => [status, user_id])
    }

    test('is in no budget after the call has ended', async () => {
      const id = await eraseMeanwhile('ada', async () => {})
      await ranAgain(service, 'retention', HOUR)
      const counters = db().selectFrom('budget_counters').select('subject').where('budget_id', '=', id)
      await until('nobody is counted', async () => (await counters.execute()).length === 0)
      await service.call('DELETE', `/v1/budgets/${id}`)
    })

    test('is not named again by a call that another node had given up on', async () => {
      const id = await eraseMeanwhile('bob', async () => {
        alterStore(db())
        const lost = { status: 'lost', charges: null, owner: null, lease_until: null } as const
        await db().updateTable('ledger').set(lost).where('status', '=', 'reserved').execute()
      })
      await until('the call is counted', async () => (await statuses())[0]?.[0] === 'completed')
      assert.deepEqual(await statuses(), [['completed', null]])
      await service.call('DELETE', `/v1/budgets/${id}`)
    })

    test('keeps the spending of new calls if they come back', async () => {
      const id = await eraseMeanwhile('cyd', async () => {})
      const agent = await newAgent(service, { model: 'local/test-model', limits: { max_output_tokens: 100 } })
      model.reply(ANSWER)
      const asked = { message: 'How is the sea?', context: { user_id: 'cyd' } }
      assert.equal((await service.call('POST', `/v1/agents/${agent}/invoke`, { body: asked })).status, 200)
      await ranAgain(service, 'retention', HOUR)
      const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}?subject=cyd`)).body.data
      assert.deepEqual({ used, reserved }, { used: 30, reserved: 0 })
    })
  })
}
