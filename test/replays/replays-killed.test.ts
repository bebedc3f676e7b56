import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startPatientModel } from '../support/outside/patient-model.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

/** Longer than the test. */
const NEVER_MS = 600_000

for (const engine of ANY_ENGINE) {
  test(`a replay survives kill -9: no answer that was stored is asked for again, on ${engine}`, async (t) => {
    const asked = (message: string) => model.prompts.filter((said) => said.at(-1) === message).length
    let isHeld = true
    // The baseline is asked first. What the candidate answers to the slow messages is lost.
    const model = await startPatientModel(async (message) => {
      if (isHeld && message.startsWith('slow') && asked(message) > 1) await delay(NEVER_MS, undefined, { ref: false })
    })
    t.after(() => model.close())
    const service = await startChildService(t, engine, localProvider(model.url))
    const { data: agent } = await service.call('POST', '/v1/agents', { name: 'kept', model: 'local/patient' })
    const path = `/v1/agents/${agent.id}`
    await service.call('POST', `${path}/deployments`, { environment: 'production', version: 'v1' })
    const messages = ['fast 1', 'slow 1', 'fast 2', 'slow 2']
    await service.call('PUT', `${path}/sets/four`, { cases: messages.map((message) => ({ message })) })
    const body = { working_copy: true, set: 'four', limits: { tokens: 1_000_000 } }
    const { data: replay } = await service.call('POST', `${path}/replays`, body)
    const read = async () => (await service.call('GET', `${path}/replays/${replay.id}`)).data
    await until('two cases are done, and two wait for the model', async () => {
      return (await read()).finished_cases === 2 && asked('slow 1') === 2 && asked('slow 2') === 2
    })

    await service.kill()
    isHeld = false
    await service.start()
    const done = await until('the replay goes on', async () => {
      const now = await read()
      return now.status === 'completed' && now
    })
    assert.deepEqual(messages.map(asked), [2, 3, 2, 3], 'only the candidate is asked again, and only what it had lost')
    assert.deepEqual([done.finished_cases, done.verdict], [4, 'passed'])
    assert.equal(done.report.columns.candidate.tokens, 60)
    // Eight answers are counted exactly, and the two lost ones with the most that they could have taken.
    assert.ok(done.spent.tokens > 8 * 15 + 2 * 15, `spent ${done.spent.tokens}`)
  })
}
