import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, rowsOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'

for (const engine of ANY_ENGINE) {
  test(`a run that ends after its user's memories were erased is reported as unfinished, on ${engine}`, async () => {
    const { service, model, stop } = await startWithModel(engine)
    const agent = await newAgent(service, { model: 'local/test-model' })
    const context = { user_id: 'ada', session_id: 's1' }
    await writeMemory(service, agent, [{ content: 'Ada sails', context }])
    const answered = Promise.withResolvers<void>()
    model.reply({ text: ['Calm.'] })
    model.holdNext(answered.promise)
    const seen = model.nextRequest()
    const invoked = service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'The sea?', context } })
    await seen

    const { storage } = partsOf(service)
    const { transaction } = storage
    storage.transaction = async (work) => {
      const done = await transaction(work)
      if ((await rowsOf(service, 'memories')).length === 0) {
        storage.transaction = transaction
        answered.resolve()
        await invoked
      }
      return done
    }
    const { data } = (await service.call('DELETE', '/v1/users/ada')).body
    assert.equal((await invoked).status, 200)
    assert.deepEqual([data.memories, data.unfinished], [1, 1])
    const again = (await service.call('DELETE', '/v1/users/ada')).body.data
    assert.deepEqual([again.memories, again.invocations, again.unfinished], [2, 1, 0])
    await stop()
  })
}
