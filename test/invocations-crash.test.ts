import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../src/storage/database.ts'
import { startChildService } from './support/child-service.ts'
import { startModelServer } from './support/model-server.ts'
import { ENGINES } from './support/service.ts'
import { allEvents, readEvents, type SseEvent } from './support/sse.ts'
import { until } from './support/until.ts'

const slow = (name: string, ms: number) => ({
  name,
  model: 'builtin/script',
  script: { rules: [{ reply: 'done', delay_ms: ms }] },
})

/** Half a minute passes: nobody renews the leases of the dead process. On SQLite its successor knows that it is dead. */
async function endLeases(db: Database): Promise<void> {
  await db.updateTable('invocations').set({ lease_until: 0 }).execute()
  await db.updateTable('claims').set({ lease_until: 0 }).execute()
}

for (const engine of ENGINES) {
  describe(`kill -9 during an invocation on ${engine}`, () => {
    test('one in the background starts over and completes', async (t) => {
      const service = await startChildService(t, engine)
      await service.call('POST', '/v1/agents', slow('worker', 700))
      const { data } = await service.call(
        'POST',
        '/v1/agents/worker/invoke',
        { message: 'go' },
        { Prefer: 'respond-async' },
      )
      const receipt = `/v1/agents/worker/invocations/${data.request_id}`
      await until('the run', async () => (await service.call('GET', receipt)).data.status === 'running')
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      await until('the answer', async () => (await service.call('GET', receipt)).data.status === 'completed')
      const { data: done } = await service.call('GET', receipt)
      assert.equal(done.response, 'done')
      const { pagination } = await service.call('GET', '/v1/agents/worker/logs')
      assert.equal(pagination.total, 1)
    })

    test('a stream that is taken up again says that the answer began anew, and tells it whole', async (t) => {
      const model = await startModelServer()
      t.after(() => model.close())
      const providers = JSON.stringify([{ name: 'local', baseUrl: model.url }])
      const service = await startChildService(t, engine, { MOORAGE_PROVIDERS: providers })
      await service.call('POST', '/v1/agents', { name: 'teller', model: 'local/tiny' })
      model.reply({ text: ['Once there was '], breaks: 'silence' }, { text: ['There was a ship'] })
      const background = { Prefer: 'respond-async' }
      const { data } = await service.call('POST', '/v1/agents/teller/invoke', { message: 'go' }, background)
      const path = `/v1/agents/teller/invocations/${data.request_id}`
      let last: SseEvent | undefined
      for await (const event of readEvents(await service.open(`${path}/stream`))) {
        last = event
        if (event.event === 'delta') break
      }
      assert.equal(last?.id, '1.15.0')
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      for (const when of ['while it runs or soon after', 'afterwards']) {
        for (const id of ['1.15.0', '15.0']) {
          const events = await allEvents(await service.open(`${path}/stream`, { 'Last-Event-ID': id }))
          const told = events.map(({ event, data: said }) => [event, (said as { text?: string }).text ?? ''])
          assert.deepEqual(told[0], ['restart', ''], `${when}, after ${id}`)
          assert.equal(
            told
              .slice(1, -1)
              .map(([, text]) => text)
              .join(''),
            'There was a ship',
          )
          assert.equal(told.at(-1)?.[0], 'done')
        }
      }
      const { data: receipt } = await service.call('GET', path)
      assert.equal(receipt.response, 'There was a ship')
    })

    test('one that carried an Idempotency-Key can be asked for again at once', async (t) => {
      const service = await startChildService(t, engine)
      await service.call('POST', '/v1/agents', slow('keyed', 1_500))
      const invoke = () =>
        service.send('POST', '/v1/agents/keyed/invoke', { message: 'go' }, { 'Idempotency-Key': 'retried' })
      const cutShort = invoke()
      const list = '/v1/agents/keyed/invocations'
      await until('the stored run', async () => (await service.call('GET', list)).pagination.total === 1)
      await service.kill()
      assert.equal(await cutShort, undefined)
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      const started = performance.now()
      assert.equal((await invoke())?.status, 200)
      assert.ok(performance.now() - started < 10_000, 'it did not wait for the lease of a dead process')
      const { data } = await service.call('GET', list)
      assert.deepEqual(
        data.map(({ status, background }: Record<string, unknown>) => [status, background]),
        [['completed', false]],
        'the run that was cut short went on, and the retry got its answer',
      )
    })

    test('one that somebody waited for is marked failed, with its log, metric and event', async (t) => {
      const service = await startChildService(t, engine, {
        MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
        MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
      })
      const { data: agent } = await service.call('POST', '/v1/agents', slow('waiter', 60_000))
      const hook = { agent_id: agent.id, url: 'http://127.0.0.1:59998/hook', events: ['*'] }
      const { data: webhook } = await service.call('POST', '/v1/webhooks', hook)
      const answer = service.send('POST', '/v1/agents/waiter/invoke', { message: 'go' })
      const list = '/v1/agents/waiter/invocations'
      await until('the stored run', async () => (await service.call('GET', list)).pagination.total === 1)
      await service.kill()
      assert.equal(await answer, undefined)
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
      await until('the end', async () => (await service.call('GET', list)).data[0].status === 'failed')
      const { data } = await service.call('GET', list)
      assert.equal(data[0].error.message, 'The service stopped while the agent was answering')
      const logs = await service.call('GET', '/v1/agents/waiter/logs?level=error')
      assert.equal(logs.pagination.total, 1)
      const deliveries = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries`)
      assert.deepEqual(
        deliveries.data.map(({ event }: { event: string }) => event),
        ['agent.failed'],
      )
    })
  })
}
