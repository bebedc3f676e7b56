import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAgent } from './support/resources.ts'
import { type Service, type Settings, withService } from './support/service.ts'
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

  test('what takes longer than the time to drain is cut off', () =>
    withSlowAgent(
      60_000,
      async (service, invoke) => {
        const running = invoke('endless').then(
          ({ status }) => status,
          () => 'cut off',
        )
        await until('it runs', () => service.app.parts.live.all().length === 1)
        const started = performance.now()
        await service.app.stop()
        assert.ok(performance.now() - started < 10_000)
        assert.notEqual(await running, 200)
      },
      { MOORAGE_SERVER__DRAIN_TIMEOUT: '200ms' },
    ))

  test('twice is once', () =>
    withService('sqlite', async (service) => {
      await Promise.all([service.app.stop(), service.app.stop()])
    }))
})

type Invoke = (message: string, headers?: Record<string, string>) => ReturnType<Service['call']>

function withSlowAgent(
  delay_ms: number,
  story: (service: Service, invoke: Invoke) => Promise<void>,
  settings: Settings = {},
) {
  return withService(
    'sqlite',
    async (service) => {
      const script = { rules: [{ reply: 'at last', delay_ms }] }
      await createAgent(service, 'slow', { model: 'builtin/script', script })
      await story(service, (message, headers = {}) =>
        service.call('POST', '/v1/agents/slow/invoke', { body: { message }, headers }),
      )
    },
    settings,
  )
}
