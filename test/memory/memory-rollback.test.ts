import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { storeOf, wakeJobs } from '../support/inside.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { found, writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const MODEL = 'local/test-model'
const CONTEXT = { user_id: 'anna', session_id: 's1' }

for (const engine of STORY_ENGINES) {
  describe(`a rollback that forgets, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine))
    })
    after(() => stop())

    const post = async (path: string, body: object) => {
      const reply = await service.call('POST', `/v1/agents/${path}`, { body })
      assert.ok(reply.status < 300, reply.text)
      return reply.body
    }
    const deploy = async (agent: string, version: string): Promise<string> =>
      (await post(`${agent}/deployments`, { environment: 'production', version })).data.id
    const deployment = async (agent: string, id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/deployments/${id}`)).body.data
    const say = async (agent: string, message: string, answer: string) => {
      model.reply({ text: [answer] })
      await post(`${agent}/invoke`, { message, context: CONTEXT })
    }
    const contents = async (agent: string): Promise<string[]> => {
      const { body } = await service.call('GET', `/v1/agents/${agent}/memory?limit=100&sort=created_at`)
      return body.data.map(({ content }: { content: string }) => content).toSorted()
    }
    /** Lets what recurs run, until no deployment has anything left to forget. */
    const sweptAfter = async (ms: number) => {
      service.advance(ms)
      wakeJobs(service)
      const left = () => storeOf(service).selectFrom('deployments').select('id').where('forgetting', 'is not', null)
      await until('nothing is left to forget', async () => (await left().execute()).length === 0)
    }
    const extractFact = async (agent: string, message: string, fact: object) => {
      await say(agent, message, 'Noted.')
      model.reply({ text: [JSON.stringify({ facts: [fact] })] })
      service.advance(11 * MINUTE)
      wakeJobs(service)
      await until('the fact is extracted', async () => {
        service.advance(MINUTE)
        wakeJobs(service)
        const { body } = await service.call('GET', `/v1/agents/${agent}/memory?kind=fact&limit=100`)
        return body.data.some(({ content }: { content: string }) => content === (fact as { content: string }).content)
      })
    }

    test('removes what runs of that deployment remembered, and nothing else', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await say(agent, 'said to the draft', 'the draft answers')
      const first = await deploy(agent, 'v1')
      await say(agent, 'said to v1', 'v1 answers')
      const second = await deploy(agent, 'v2')
      await say(agent, 'said to v2', 'v2 answers')
      await writeMemory(service, agent, [{ content: 'written by a client' }])
      const { body } = await service.call('GET', `/v1/agents/${agent}/memory?sort=created_at&limit=100`)
      assert.deepEqual(
        body.data.map((memory: Record<string, unknown>) => [memory['version'], memory['deployment_id']]),
        [
          [null, null],
          [null, null],
          ['v1', first],
          ['v1', first],
          ['v2', second],
          ['v2', second],
          [null, null],
        ],
      )

      const preview = await post(`${agent}/deployments/${second}/rollback`, { dry_run: true, forget: true })
      assert.equal(preview.data.memories, 2)
      assert.equal((await contents(agent)).length, 7)
      await post(`${agent}/deployments/${second}/rollback`, { forget: true })
      await sweptAfter(2 * MINUTE + HOUR)
      const kept = ['said to the draft', 'said to v1', 'the draft answers', 'v1 answers', 'written by a client']
      assert.deepEqual(await contents(agent), kept)
      assert.ok(!(await found(service, agent, { query: 'v2 answers' })).includes('v2 answers'))
      assert.equal((await deployment(agent, second)).forgotten, 2)
      assert.equal((await deployment(agent, first)).forgotten, null)

      // A later deployment of the same version remembers again.
      await deploy(agent, 'v2')
      await say(agent, 'said to v2 later', 'v2 answers later')
      await sweptAfter(2 * HOUR)
      assert.equal((await contents(agent)).length, 7)
    })

    test('keeps everything unless asked', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await deploy(agent, 'v1')
      const second = await deploy(agent, 'v2')
      await say(agent, 'said to v2', 'v2 answers')
      await post(`${agent}/deployments/${second}/rollback`, {})
      await sweptAfter(2 * HOUR)
      assert.equal((await contents(agent)).length, 2)
      assert.equal((await deployment(agent, second)).forgotten, null)
    })

    test('also removes what a run writes that was still active, and then ends', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await deploy(agent, 'v1')
      const second = await deploy(agent, 'v2')
      const mayAnswer = Promise.withResolvers<void>()
      model.holdNext(mayAnswer.promise)
      model.reply({ text: ['v2 answers late'] })
      const asked = model.nextRequest()
      const reply = post(`${agent}/invoke`, { message: 'said to v2', context: CONTEXT })
      await asked
      await post(`${agent}/deployments/${second}/rollback`, { forget: true })
      service.advance(2 * MINUTE)
      wakeJobs(service)
      mayAnswer.resolve()
      await reply
      assert.equal((await contents(agent)).length, 2)
      await sweptAfter(HOUR + MINUTE)
      assert.deepEqual(await contents(agent), [])
      assert.equal((await deployment(agent, second)).forgotten, 2)
    })

    test('makes facts current again that the undone version had replaced', async () => {
      const agent = await newAgent(service, { model: MODEL, memory: { facts: 'model' } })
      await deploy(agent, 'v1')
      await extractFact(agent, 'I live in Lyon', { content: 'Anna lives in Lyon.', sources: ['t1'] })
      const second = await deploy(agent, 'v2')
      const moved = { content: 'Anna lives in Oslo.', sources: ['t1'], supersedes: ['f1'] }
      await extractFact(agent, 'I have moved to Oslo', moved)
      const where = { query: 'where does Anna live', context: { user_id: 'anna' } }
      assert.ok(!(await found(service, agent, where)).includes('Anna lives in Lyon.'))
      await post(`${agent}/deployments/${second}/rollback`, { forget: true })
      await sweptAfter(2 * MINUTE + HOUR)
      const hits = await found(service, agent, where)
      assert.ok(hits.includes('Anna lives in Lyon.') && !hits.includes('Anna lives in Oslo.'), hits.join())
      const { body } = await service.call('GET', `/v1/agents/${agent}/memory?kind=fact`)
      assert.deepEqual(
        body.data.map(({ content, superseded_by }: Record<string, unknown>) => [content, superseded_by]),
        [['Anna lives in Lyon.', null]],
      )
    })

    test('403 for a key that may not delete, which may still roll back', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await deploy(agent, 'v1')
      const second = await deploy(agent, 'v2')
      const { secret: key } = await createKey(service, { permissions: ['read', 'write'] })
      const path = `/v1/agents/${agent}/deployments/${second}/rollback`
      const refused = await service.call('POST', path, { key, body: { forget: true } })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
      assert.equal((await service.call('POST', path, { key, body: {} })).status, 200)
    })
  })
}
