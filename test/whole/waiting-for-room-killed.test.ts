import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { MANY_NODES } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const ASYNC = { Prefer: 'respond-async' }

for (const engine of MANY_NODES) {
  test(`kill -9 while runs wait for a budget loses none, on ${engine}`, async (t) => {
    const model = await startModelServer()
    t.after(() => model.close())
    const service = await startChildService(t, engine, localProvider(model.url))
    const agent = (await service.call('POST', '/v1/agents', { name: 'talker', model: 'local/m' })).data.id
    const scope = { type: 'agent', id: agent }
    const { data } = await service.call('POST', '/v1/budgets', { name: 'b', scope, limit: { runs: 1 }, per: 'ever' })
    await service.call('POST', `/v1/agents/${agent}/invoke`, { message: 'first' })
    const ids: string[] = []
    for (const message of ['one', 'two']) {
      const body = { message, on_budget: 'wait' }
      ids.push((await service.call('POST', `/v1/agents/${agent}/invoke`, body, ASYNC)).data.request_id)
    }
    const receipts = () => Promise.all(ids.map((id) => service.call('GET', `/v1/agents/${agent}/invocations/${id}`)))
    const are = (status: string) =>
      until(`both to be ${status}`, async () => (await receipts()).every((one) => one.data.status === status))
    await are('waiting')
    await service.kill()
    await service.start()
    await are('waiting')
    // The node that learns of the change dies at once: the next one finds by itself that the budget has changed.
    await service.call('PATCH', `/v1/budgets/${data.id}`, { limit: { runs: 3 } })
    await service.kill()
    await service.start()
    await are('completed')
    assert.deepEqual(
      (await receipts()).map((one) => one.data.response),
      ['one', 'two'],
    )
  })
}
