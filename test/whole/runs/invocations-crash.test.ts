import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { allEvents, readEvents, type SseEvent } from '../../support/clients/sse.ts'
import { LOCAL_TOOLS, NOWHERE } from '../../support/outside/local-server.ts'
import { startModelServer } from '../../support/outside/model-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import { type ChildService, startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { ANY_ENGINE, type Reply } from '../../support/service/service.ts'

/** Agents whose model falls silent in its first answer, and gives the second one whole. */
const ONCE_CUT_SHORT = ['worker', 'keyed', 'teller']

for (const engine of ANY_ENGINE) {
  describe(`kill -9 during invocations of every kind on ${engine}`, () => {
    const ends: (() => Promise<unknown>)[] = []
    let service: ChildService
    let webhook: string
    let background: string
    let told: string
    let keyed: Promise<Reply | undefined>
    let awaited: Promise<Reply | undefined>

    const invoke = (agent: string, headers: Record<string, string> = {}) =>
      service.send('POST', `/v1/agents/${agent}/invoke`, { message: 'go' }, headers)
    const askRetried = () => invoke('keyed', { 'Idempotency-Key': 'retried' })
    const queue = async (agent: string): Promise<string> =>
      `/v1/agents/${agent}/invocations/${(await invoke(agent, { Prefer: 'respond-async' }))?.body.data.request_id}`
    const isStored = async (agent: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations`)).pagination.total === 1

    // One process dies for all of them, with one invocation of each kind in progress.
    before(async () => {
      const models = await Promise.all(ONCE_CUT_SHORT.map(() => startModelServer()))
      for (const { close } of models) ends.push(async () => close())
      const providers = models.map(({ url }, i) => ({ name: ONCE_CUT_SHORT[i], baseUrl: url }))
      service = await startChildService({ after: (end) => ends.push(end) }, engine, {
        MOORAGE_PROVIDERS: JSON.stringify(providers),
        ...LOCAL_TOOLS,
      })
      for (const [i, name] of ONCE_CUT_SHORT.entries()) {
        models[i]?.reply({ text: ['Once there was '], breaks: 'silence' }, { text: ['There was a ship'] })
        await service.call('POST', '/v1/agents', { name, model: `${name}/tiny` })
      }
      const script = { rules: [{ reply: 'done', delay_ms: 60_000 }] }
      const { data: waiter } = await service.call('POST', '/v1/agents', {
        name: 'waiter',
        model: 'builtin/script',
        script,
      })
      const hook = { agent_id: waiter.id, url: `${NOWHERE}/hook`, events: ['*'] }
      webhook = (await service.call('POST', '/v1/webhooks', hook)).data.id

      told = await queue('teller')
      let last: SseEvent | undefined
      for await (const event of readEvents(await service.open(`${told}/stream`))) {
        last = event
        if (event.event === 'delta') break
      }
      assert.equal(last?.id, '1.15.0')
      background = await queue('worker')
      await until('the run', async () => (await service.call('GET', background)).data.status === 'running')
      // Clients wait for these two, and not for long.
      awaited = invoke('waiter')
      keyed = askRetried()
      await until('the run that somebody waits for is stored', () => isStored('waiter'))
      await until('the run with a key is stored', () => isStored('keyed'))
      await until('every model is asked', () => models.every(({ requests }) => requests.length === 1))
      await service.kill()
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()
    })
    after(async () => {
      for (const end of ends.toReversed()) await end()
    })

    test('a run with an Idempotency-Key can be retried immediately', async () => {
      assert.equal(await keyed, undefined)
      const started = performance.now()
      assert.equal((await askRetried())?.status, 200)
      assert.ok(performance.now() - started < 10_000 * PATIENCE, 'it did not wait for the lease of a dead process')
      const { data } = await service.call('GET', '/v1/agents/keyed/invocations')
      assert.deepEqual(
        data.map(({ status, background: queued }: Record<string, unknown>) => [status, queued]),
        [['completed', false]],
        'the run that was cut short went on, and the retry got its answer',
      )
    })

    test('a background run starts again and completes', async () => {
      await until('the answer', async () => (await service.call('GET', background)).data.status === 'completed')
      const { data: done } = await service.call('GET', background)
      assert.equal(done.response, 'There was a ship')
      const { pagination } = await service.call('GET', '/v1/agents/worker/logs')
      assert.equal(pagination.total, 1)
    })

    test('a resumed stream says that the answer starts again, and sends all of it', async () => {
      for (const when of ['while it runs or soon after', 'afterwards']) {
        const events = await allEvents(await service.open(`${told}/stream`, { 'Last-Event-ID': '1.15.0' }))
        const heard = events.map(({ event, data: said }) => [event, (said as { text?: string }).text ?? ''])
        assert.deepEqual(heard[0], ['restart', ''], when)
        const text = heard.slice(1, -1).map(([, piece]) => piece)
        assert.equal(text.join(''), 'There was a ship')
        assert.equal(heard.at(-1)?.[0], 'done')
      }
      const { data: receipt } = await service.call('GET', told)
      assert.equal(receipt.response, 'There was a ship')
    })

    test('a synchronous run is marked as failed, with its log, metric and event', async () => {
      assert.equal(await awaited, undefined)
      const list = '/v1/agents/waiter/invocations'
      await until('the end', async () => (await service.call('GET', list)).data[0].status === 'failed')
      const { data } = await service.call('GET', list)
      assert.equal(data[0].error.code, 'server_error')
      const logs = await service.call('GET', '/v1/agents/waiter/logs?level=error')
      assert.equal(logs.pagination.total, 1)
      const deliveries = await service.call('GET', `/v1/webhooks/${webhook}/deliveries`)
      assert.deepEqual(
        deliveries.data.map(({ event }: { event: string }) => event),
        ['agent.failed'],
      )
    })
  })
}
