import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ModelServer, startModelServer } from '../../support/outside/model-server.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { ENGINES } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'

const OUTPUT = { schema: { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] } }

for (const engine of ENGINES) {
  describe(`kill -9 between an answer that does not match and the next one, on ${engine}`, () => {
    test('the run continues with the problems of the answer, and calls the model for neither twice', async (t) => {
      const model: ModelServer = await startModelServer()
      t.after(() => model.close())
      const service = await startChildService(t, engine, localProvider(model.url))
      await service.call('POST', '/v1/agents', { name: 'clerk', model: 'local/tiny', output: OUTPUT })
      model.reply({ text: ['three'] }, { breaks: 'silence' }, { text: ['{"total":3}'] })
      const queued = await service.send(
        'POST',
        '/v1/agents/clerk/invoke',
        { message: 'sum' },
        { Prefer: 'respond-async' },
      )
      const path = `/v1/agents/clerk/invocations/${queued?.body.data.request_id}`
      await until('the second ask', async () => model.requests.length === 2)
      await service.kill()
      if (engine === 'postgres') await service.inStore((db) => endLeases(db))
      await service.start()
      await until('the end', async () => (await service.call('GET', path)).data.status === 'completed')
      const { data } = await service.call('GET', path)
      assert.deepEqual([data.output, data.response, data.attempts.length], [{ total: 3 }, '{"total":3}', 2])
      assert.deepEqual(
        data.steps.map(({ kind, attempt, unfit }: { kind: string; attempt: number; unfit?: { answer: string } }) => [
          kind,
          attempt,
          unfit?.answer,
        ]),
        [
          ['model', 1, 'three'],
          ['model', 2, undefined],
        ],
      )
      const shown = model.requests.map(({ body }) => body.messages.map(({ role }) => role).join(' '))
      assert.deepEqual(shown, ['system user', 'system user assistant user', 'system user assistant user'])
    })
  })
}
