import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { embeddingEndpoint } from '../../src/runtime/embedders/embeddings.ts'
import { conceptsIn, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { startProxy } from '../support/outside/proxy.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'

describe('through a proxy that the environment names, unless the host is excepted or is this machine,', () => {
  test('a model is asked', async (t) => {
    const model = await startModelServer()
    t.after(() => model.close())
    const proxy = await startProxy(t, model)
    const ask = async (baseUrl: string, except?: string) => {
      const runtime = localRuntime({
        providers: [{ name: 'far', type: 'openai-compatible', baseUrl }],
        proxy: { http: proxy.url, except },
      })
      const outcome = await runtime.run(runOf({ model: 'far/model' }))
      await runtime.close()
      return outcome.status
    }
    assert.equal(await ask('http://models.example/v1'), 'completed')
    assert.deepEqual(proxy.asked, ['http://models.example/v1/chat/completions'])
    assert.equal(await ask(model.url), 'completed')
    assert.equal(await ask('http://models.example/v1', 'models.example'), 'failed')
    assert.equal(proxy.asked.length, 1)
  })

  test('a provider is asked for its models', async (t) => {
    const list = JSON.stringify({ data: [{ id: 'large' }, { id: 'small' }] })
    const provider = await startLocalServer((_request, response) => response.end(list))
    t.after(() => provider.close())
    const proxy = await startProxy(t, provider)
    const ask = async (baseUrl: string, except?: string) => {
      const runtime = localRuntime({
        providers: [{ name: 'far', type: 'anthropic', baseUrl, apiKey: 'k' }],
        proxy: { http: proxy.url, except },
      })
      try {
        return await runtime.listModels('prj_default', 'far')
      } finally {
        await runtime.close()
      }
    }
    assert.deepEqual(await ask('http://models.example/v1?version=2'), ['large', 'small'])
    assert.deepEqual(proxy.asked, ['http://models.example/v1/models?version=2&limit=1000'])
    assert.deepEqual(await ask(provider.url), ['large', 'small'])
    await assert.rejects(ask('http://models.example/v1', 'models.example'), /could not be reached/)
    assert.equal(proxy.asked.length, 1)
  })

  test('an embedder is asked', async (t) => {
    const endpoint = await startEmbeddingServer()
    t.after(() => endpoint.close())
    const proxy = await startProxy(t, endpoint)
    const embed = async (baseUrl: string, except?: string) => {
      const embeddings = embeddingEndpoint({ baseUrl, model: 'm' }, { http: proxy.url, except })
      try {
        return (await embeddings.embed(['a dog'], AbortSignal.timeout(60_000))).vectors
      } finally {
        await embeddings.close()
      }
    }
    const vector = [conceptsIn('a dog')]
    assert.deepEqual(await embed('http://vectors.example'), vector)
    assert.deepEqual(proxy.asked, ['http://vectors.example/embeddings'])
    assert.deepEqual(await embed(endpoint.url), vector)
    await assert.rejects(embed('http://vectors.example', 'vectors.example'))
    assert.equal(proxy.asked.length, 1)
  })
})
