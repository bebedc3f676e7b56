import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { describe, test } from 'node:test'
import { startLocalServer } from '../support/outside/local-server.ts'
import { startModelServer } from '../support/outside/model-server.ts'
import { localRuntime, runOf } from '../support/service/run-agent.ts'

describe('a model behind a proxy that the environment names', () => {
  test('is asked through it, unless the host is excepted or is this machine', async (t) => {
    const model = await startModelServer()
    t.after(() => model.close())
    const asked: string[] = []
    // A proxy gets the whole address, and passes the request on: here always to the model.
    const proxy = await startLocalServer((request, response) => {
      asked.push(request.url ?? '')
      const { pathname } = new URL(request.url ?? '')
      const upstream = send(new URL(pathname, model.url), { method: request.method ?? 'GET', headers: request.headers })
      upstream.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      request.pipe(upstream)
    })
    t.after(() => proxy.close())
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
    assert.deepEqual(asked, ['http://models.example/v1/chat/completions'])
    assert.equal(await ask(model.url), 'completed')
    assert.equal(await ask('http://models.example/v1', 'models.example'), 'failed')
    assert.equal(asked.length, 1)
  })
})
