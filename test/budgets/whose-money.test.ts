import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { inProject, type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

/** More usage than any service budget allows. */
const ABSURD = { text: ['Calm.'], usage: { prompt_tokens: 9e11, completion_tokens: 0 } }
const USAGE = { text: ['Calm.'], usage: { prompt_tokens: 1_000, completion_tokens: 100 } }
const RATES = { input: 1, output: 10 }
const FREE = { input: 0, output: 0 }
/** What `USAGE` costs by these rates. */
const COST = 0.002

for (const engine of STORY_ENGINES) {
  describe(`who pays for model calls, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    /** A project, and the key of its administrator. */
    let alpha: Service
    let key: string
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      await service.call('POST', '/v1/projects', { body: { name: 'alpha' } })
      alpha = inProject(service, 'alpha')
      key = (await createKey(alpha, { role: 'admin' })).secret
    })
    after(() => stop())
    beforeEach(() => model.reset())

    const setProvider = async (name: string, by: object, api_key?: string) => {
      const body = { base_url: model.url, ...(api_key && { api_key }) }
      const reply = await alpha.call('PUT', `/v1/providers/${name}`, { ...by, body })
      assert.equal(reply.status, 200, reply.text)
    }
    const setPrice = (path: string, by: object, body: object = RATES) => alpha.call('PUT', path, { ...by, body })
    const budget = async (scope: string, limit: object) => {
      const body = { name: 'test', per: 'ever', scope: { type: scope }, limit }
      const reply = await alpha.call('POST', '/v1/budgets', { body })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data.id as string
    }
    const usedOf = async (id: string) => (await alpha.call('GET', `/v1/budgets/${id}`)).body.data.used
    const remove = async (...ids: string[]) => {
      for (const id of ids) await alpha.call('DELETE', `/v1/budgets/${id}`)
    }
    const ask = async (agent: string) => {
      const reply = await alpha.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'How is the sea?' } })
      return reply.status
    }

    test("usage reported by a project's provider is counted in the project's budgets; service budgets only count its runs", async () => {
      await setProvider('own', { key }, 'secret-of-alpha')
      await createAgent(alpha, 'liar', { model: 'own/any' })
      const ids = [
        await budget('service', { tokens: 1_000_000 }),
        await budget('service', { runs: 100 }),
        await budget('project', { tokens: 1e12 }),
      ]
      model.reply(ABSURD)
      assert.equal(await ask('liar'), 200)
      assert.deepEqual(await Promise.all(ids.map(usedOf)), [0, 1, 9e11])
      await createAgent(alpha, 'honest', { model: 'local/any' })
      model.reply(USAGE)
      assert.equal(await ask('honest'), 200)
      assert.deepEqual(await Promise.all(ids.map(usedOf)), [1_100, 2, 9e11 + 1_100])
      await remove(...ids)
    })

    test("a service budget in dollars needs no prices for a project's own provider, and does not warn about missing ones", async () => {
      await setProvider('unpriced', { key }, 'secret-of-alpha')
      await createAgent(alpha, 'unpriced', { model: 'unpriced/any' })
      const id = await budget('service', { cost_usd: 1 })
      assert.equal(await ask('unpriced'), 200)
      const { body } = await alpha.call('GET', `/v1/budgets/${id}`)
      assert.doesNotMatch(String(body.data.warnings), /unpriced/)
      await remove(id)
    })

    test('a key that the operator gave through the API is the operator’s until another key is set', async () => {
      await setProvider('given', {}, 'secret-of-the-operator')
      await createAgent(alpha, 'given', { model: 'given/any' })
      const id = await budget('service', { tokens: 1_000_000 })
      model.reply(USAGE)
      assert.equal(await ask('given'), 200)
      assert.equal(await usedOf(id), 1_100)
      await setProvider('given', { key })
      model.reply(USAGE)
      assert.equal(await ask('given'), 200)
      assert.equal(await usedOf(id), 2_200)
      await setProvider('given', { key }, 'secret-of-alpha')
      model.reply(ABSURD)
      assert.equal(await ask('given'), 200)
      assert.equal(await usedOf(id), 2_200)
      await remove(id)
    })

    test("a project can't set prices for models that the operator pays for, and its budgets use the operator's prices", async () => {
      await createAgent(alpha, 'priced', { model: 'local/any', limits: { max_output_tokens: 100 } })
      for (const path of [
        '/v1/prices/local/any',
        '/v1/prices/local/*',
        '/v1/prices/embedder/any',
        '/v1/prices/builtin/echo',
      ]) {
        assert.equal((await setPrice(path, { key }, FREE)).status, 403)
      }
      assert.equal((await setPrice('/v1/prices/local/any', {})).status, 200)
      assert.equal((await alpha.call('DELETE', '/v1/prices/local/any', { key })).status, 403)
      const ids = [await budget('service', { cost_usd: 1 }), await budget('project', { cost_usd: 1 })]
      model.reply(USAGE)
      assert.equal(await ask('priced'), 200)
      assert.deepEqual(await Promise.all(ids.map(usedOf)), [COST, COST])
      assert.equal((await alpha.call('DELETE', '/v1/prices/local/any')).status, 200)
      assert.equal(await ask('priced'), 429)
      await remove(...ids)
    })

    test("a project's price for its own provider counts in the project's budgets", async () => {
      await setProvider('dear', { key }, 'secret-of-alpha')
      await createAgent(alpha, 'dear', { model: 'dear/any', limits: { max_output_tokens: 100 } })
      assert.equal((await setPrice('/v1/prices/dear/*', { key }, { ...FREE, request: 5 })).status, 200)
      const ids = [await budget('service', { cost_usd: 6 }), await budget('project', { cost_usd: 6 })]
      assert.equal(await ask('dear'), 200)
      assert.deepEqual(await Promise.all(ids.map(usedOf)), [0, 5])
      await remove(...ids)
    })

    test('a price set before the operator configured the provider is ignored', async () => {
      assert.equal((await setPrice('/v1/prices/early/*', { key }, FREE)).status, 200)
      await setProvider('early', {}, 'secret-of-the-operator')
      await createAgent(alpha, 'early', { model: 'early/any' })
      const id = await budget('service', { cost_usd: 1 })
      assert.equal(await ask('early'), 429)
      await remove(id)
    })

    test("a project can't create a provider with the embedder's name", async () => {
      const body = { base_url: model.url, api_key: null }
      const reply = await alpha.call('PUT', '/v1/providers/embedder', { key, body })
      assert.equal(reply.status, 400, reply.text)
    })
  })
}
