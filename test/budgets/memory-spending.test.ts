import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { wakeJobs } from '../support/inside.ts'
import { type EmbeddingServer, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { writeMemory } from '../support/slices/memory.ts'

/** As often as missing vectors are looked for. */
const LATER_MS = 10_000

for (const engine of ANY_ENGINE) {
  describe(`spending for memories, on ${engine}`, () => {
    let endpoint: EmbeddingServer
    let service: Service
    before(async () => {
      endpoint = await startEmbeddingServer()
      service = await startService(engine, {
        MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
        MOORAGE_MEMORY__EMBEDDER__BASE_URL: endpoint.url,
        MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
        ...LOCAL_TOOLS,
      })
    })
    after(async () => {
      await service.stop()
      await endpoint.close()
    })

    const read = () => endpoint.requests.flatMap(({ body }) => body.input)
    /** Advances the clock until the embedder has received the text. */
    const isRead = (text: string) =>
      until(`the embedder reads ${text}`, () => {
        if (read().includes(text)) return true
        service.advance(LATER_MS)
        wakeJobs(service)
        return false
      })

    test("is limited only by their agent's budget, and each usage entry names the agent", async () => {
      const [limited, free] = [await newAgent(service), await newAgent(service)]
      const scope = { type: 'agent', id: limited }
      const body = { name: 'tiny', scope, limit: { tokens: 1 }, per: 'ever' }
      const { id } = (await service.call('POST', '/v1/budgets', { body })).body.data
      await writeMemory(service, limited, [{ content: 'a dog that is not to be read' }])
      await writeMemory(service, free, [{ content: 'a car' }])
      await isRead('a car')
      assert.ok(!read().includes('a dog that is not to be read'))

      await service.call('PATCH', `/v1/budgets/${id}`, { body: { limit: { tokens: 100_000 } } })
      await isRead('a dog that is not to be read')
      const usage = await until('the lines', async () => {
        const { body: found } = await service.call('GET', '/v1/usage?purpose=memory&group_by=agent')
        return found.data.rows.length === 2 && found.data
      })
      assert.deepEqual(
        usage.rows.map((row: { agent_id: string; calls: number }) => [row.agent_id, row.calls]).toSorted(),
        [
          [limited, 1],
          [free, 1],
        ].toSorted(),
      )
      const { used } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
      assert.ok(used > 0)
    })

    test('a run that has searched its memory and then waits for its budget is counted as a run when it continues', async () => {
      const agent = await newAgent(service)
      const context = { user_id: 'ada' }
      await writeMemory(service, agent, [{ content: 'a boat', context }])
      await isRead('a boat')
      const body = { name: 'tight', scope: { type: 'agent', id: agent }, limit: { runs: 1 }, per: 'ever' }
      const { id } = (await service.call('POST', '/v1/budgets', { body })).body.data
      const invoke = (more: object, headers: Record<string, string> = {}) =>
        service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'my boat', context, ...more }, headers })
      assert.equal((await invoke({})).status, 200)
      const { request_id } = (await invoke({ on_budget: 'wait' }, { Prefer: 'respond-async' })).body.data
      const becomes = (status: string) =>
        until(`the run to be ${status}`, async () => {
          const { body: receipt } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
          return receipt.data.status === status && receipt.data
        })
      assert.equal((await becomes('waiting')).steps[0].kind, 'recall')
      await until('both searches to be on the bill', async () => {
        const { body: found } = await service.call('GET', `/v1/usage?purpose=search&agent_id=${agent}`)
        return found.data.totals.calls === 2
      })
      await service.call('PATCH', `/v1/budgets/${id}`, { body: { limit: { runs: 5 } } })
      await becomes('completed')
      assert.equal((await service.call('GET', `/v1/budgets/${id}`)).body.data.used, 2)
    })
  })
}
