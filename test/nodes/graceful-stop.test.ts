import assert from 'node:assert/strict'
import { Agent, get, type RequestOptions } from 'node:http'
import { describe, test } from 'node:test'
import { stopApp } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until, untilCounted } from '../support/running/until.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { type Service, startService, withService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

describe('a service that is stopped', () => {
  test('finishes active runs, accepts nothing new, and then exits, without waiting for clients to disconnect', (t) => {
    const story = async (service: Service) => {
      const held = await holdRuns(t, 'at last')
      await createAgent(service, 'slow', held.agent)
      const invoke = (headers: Record<string, string> = {}) =>
        service.call('POST', '/v1/agents/slow/invoke', { body: { message: 'go' }, headers })
      const [running, streaming] = [invoke(), invoke({ Accept: 'text/event-stream' })]
      await until('both run', () => held.count() === 2)
      const started = performance.now()
      let isStopped = false
      const stopped = stopApp(service).then(() => {
        isStopped = true
      })
      const again = stopApp(service).then(() => assert.ok(isStopped, 'stopping twice waits for the same end'))
      held.release()
      const { status, headers, body } = await running
      assert.deepEqual([status, body.data?.response], [200, 'at last'])
      assert.equal(headers.get('connection'), 'close')
      assert.match((await streaming).text, /event: done\n/)
      await Promise.all([stopped, again])
      assert.ok(performance.now() - started < 25_000, 'the time to drain is 30 s')
      await assert.rejects(service.call('GET', '/healthz'), { code: 'ECONNREFUSED' })
    }
    return withService('sqlite', story, { ...LOCAL_TOOLS, MOORAGE_SERVER__DRAIN_TIMEOUT: '30s' })
  })

  test('resets no connection: a reply tells clients that keep their connection that it is the last', async (t) => {
    // A connection is closed only after it has been idle this long.
    const service = await startService('sqlite', {}, {}, { lingerMs: 30_000 })
    const { hostname, port } = new URL(service.url)
    const clients = Array.from({ length: 16 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    t.after(() => {
      for (const agent of clients) agent.destroy()
      return service.stop()
    })
    let answered = 0
    const ends = clients.map(async (agent) => {
      for (;;) {
        const ended = await ask({ agent, hostname, port, path: '/healthz' })
        if (ended !== 'keep-alive') return ended
        answered += 1
      }
    })
    await untilCounted('replies', 500, () => answered)
    await stopApp(service)
    // After its last reply, a client might reconnect, and finds no server.
    for (const end of await Promise.all(ends)) assert.equal(end, 'close')
  })
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
