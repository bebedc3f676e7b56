import assert from 'node:assert/strict'
import { Agent, get, type RequestOptions } from 'node:http'
import { describe, test } from 'node:test'
import { startChildService } from './support/child-service.ts'
import { createAgent } from './support/resources.ts'
import { type Service, withService } from './support/service.ts'
import { until } from './support/until.ts'

describe('a service that is stopped', () => {
  test('finishes what runs, takes nothing new, and then is gone, without waiting for clients to hang up', () =>
    withSlowAgent(400, async (service, invoke) => {
      const [running, streaming] = [invoke('slow'), invoke('slow', { Accept: 'text/event-stream' })]
      await until('both run', () => service.app.parts.live.all().length === 2)
      const started = performance.now()
      const stopped = service.app.stop()
      const { status, headers, body } = await running
      assert.deepEqual([status, body.data?.response], [200, 'at last'])
      assert.equal(headers.get('connection'), 'close')
      assert.match((await streaming).text, /event: done\n/)
      await stopped
      assert.ok(performance.now() - started < 5000, 'the time to drain is 10 s')
      await assert.rejects(service.call('GET', '/healthz'), /fetch failed/)
    }))

  test('resets nobody: clients that keep their connection hear in a reply that it is the last', async (t) => {
    const service = await startChildService(t, 'sqlite')
    const { hostname, port } = new URL(service.url())
    const clients = Array.from({ length: 16 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    t.after(() => {
      for (const agent of clients) agent.destroy()
    })
    let answered = 0
    const ends = clients.map(async (agent) => {
      for (;;) {
        const ended = await ask({ agent, hostname, port, path: '/healthz' })
        if (ended !== 'keep-alive') return ended
        answered += 1
      }
    })
    await until('all are at it', () => answered > 500)
    assert.equal(await service.terminate(), 0)
    // After its last reply a client may try to connect again: then nobody is there.
    for (const end of await Promise.all(ends)) assert.equal(end, 'close')
  })

  test('twice is once', () =>
    withService('sqlite', async (service) => {
      await Promise.all([service.app.stop(), service.app.stop()])
    }))
})

/** What the reply says of the connection, or why there is none. */
function ask(options: RequestOptions): Promise<string> {
  return new Promise((resolve) => {
    const request = get(options, (response) => {
      response.resume()
      response.on('end', () => resolve(String(response.headers.connection)))
    })
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  })
}

type Invoke = (message: string, headers?: Record<string, string>) => ReturnType<Service['call']>

function withSlowAgent(delay_ms: number, story: (service: Service, invoke: Invoke) => Promise<void>) {
  return withService('sqlite', async (service) => {
    const script = { rules: [{ reply: 'at last', delay_ms }] }
    await createAgent(service, 'slow', { model: 'builtin/script', script })
    await story(service, (message, headers = {}) =>
      service.call('POST', '/v1/agents/slow/invoke', { body: { message }, headers }),
    )
  })
}
