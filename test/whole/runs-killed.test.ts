import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { allEvents } from '../support/clients/sse.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { type WatchedWorld, watchWorld } from '../support/outside/watched-world.ts'
import { until } from '../support/running/until.ts'
import { startChildService } from '../support/service/child-service.ts'
import { endLeases } from '../support/service/end-leases.ts'
import { ENGINES } from '../support/service/service.ts'

const ROUNDS = [{ text: 'Let me see.', calls: ['read'] }, { calls: ['write', 'refund'] }, { text: 'All is done.' }]

/** Everything that the run does, in order. */
const CALLS = ['model 1', 'read', 'model 2', 'write', 'refund', 'model 3']

/** During which calls the process dies. On PostgreSQL few do here: another node goes on after each of them elsewhere. */
const DEATHS = {
  sqlite: ['model 1', 'read', 'model 2', 'refund', 'refund', 'model 3'],
  postgres: ['model 2', 'refund'],
}

const agentOf = ({ url }: WatchedWorld) => ({
  name: 'clerk',
  model: 'local/tiny',
  tools: [
    { type: 'http', name: 'read', url: `${url}/read` },
    { type: 'http', name: 'write', method: 'POST', url: `${url}/write` },
    { type: 'http', name: 'refund', method: 'POST', url: `${url}/refund`, retry: 'safe' },
  ],
})

for (const engine of ENGINES) {
  describe(`kill -9 after every commit of a run, on ${engine}`, () => {
    test('no call that ended is made again, and everything is left once', async (t) => {
      const world = await watchWorld(t, ROUNDS)
      const service = await startChildService(t, engine, world.settings)
      const { data: agent } = await service.call('POST', '/v1/agents', agentOf(world))
      const hook = { agent_id: agent.id, url: `${NOWHERE}/hook`, events: ['*'] }
      const { data: webhook } = await service.call('POST', '/v1/webhooks', hook)

      // Each of these calls is in progress when the process dies: everything before it is on disk, and nothing more.
      const deaths = DEATHS[engine]
      let held = world.hold(deaths[0] as string)
      const body = { message: 'go', context: { user_id: 'ada', session_id: 's' } }
      const { data } = await service.call('POST', '/v1/agents/clerk/invoke', body, { Prefer: 'respond-async' })
      const path = `/v1/agents/clerk/invocations/${data.request_id}`
      const keptSteps = (count: number) =>
        until('the steps', async () => (await service.call('GET', path)).data.steps.length >= count)
      for (const [i, call] of deaths.entries()) {
        await held
        // The call beside the one that is held has ended.
        if (world.count('write').came > 0) await keptSteps(4)
        await service.kill()
        if (engine === 'postgres') await service.inStore(endLeases)
        held = world.hold(deaths[i + 1] ?? 'nothing more')
        await service.start()
        // What the run began with answers, whatever becomes of the working copy meanwhile.
        if (call === 'model 2') await service.call('PATCH', '/v1/agents/clerk', { model: 'builtin/echo', tools: [] })
      }
      await until('the answer', async () => (await service.call('GET', path)).data.status === 'completed')
      await service.kill()
      await service.start()

      // A call that was in progress when the process died was made again; one that may not be made twice was not.
      for (const call of CALLS) {
        const came = 1 + deaths.filter((death) => death === call).length
        assert.deepEqual(world.count(call), { came, answered: 1 }, call)
      }
      const keysOf = (label: string) => [...new Set(world.calls.filter((c) => c.label === label).map(({ key }) => key))]
      assert.deepEqual(keysOf('read'), [`${data.request_id}-2`])
      assert.deepEqual(keysOf('write'), [`${data.request_id}-4`])
      assert.deepEqual(keysOf('refund'), [`${data.request_id}-5`])

      const { data: receipt } = await service.call('GET', path)
      assert.equal(receipt.response, 'Let me see.\n\nAll is done.')
      assert.equal(receipt.tokens_used, 45)
      assert.equal(receipt.attempts.length, 1 + deaths.length)
      const attemptOf = (call: string) =>
        1 + deaths.filter((death) => CALLS.indexOf(death) <= CALLS.indexOf(call)).length
      assert.deepEqual(
        receipt.steps.map(({ attempt }: { attempt: number }) => attempt),
        CALLS.map(attemptOf),
      )
      const names = receipt.steps.map(({ kind, name = kind }: { kind: string; name?: string }) => name)
      assert.deepEqual(names, ['model', 'read', 'model', 'write', 'refund', 'model'])
      const logs = await service.call('GET', `/v1/agents/clerk/logs?request_id=${data.request_id}&limit=100`)
      assert.deepEqual(logs.data.map(({ message }: { message: string }) => message).toSorted(), [
        'Invocation completed',
        'Tool read answered',
        'Tool refund answered',
        'Tool write answered',
      ])
      const memory = await service.call('GET', '/v1/agents/clerk/memory?user_id=ada')
      assert.equal(memory.pagination.total, 2, 'one exchange')
      const deliveries = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries`)
      assert.deepEqual(
        deliveries.data.map(({ event }: { event: string }) => event),
        ['agent.completed'],
      )
      await service.kill()
      await service.inStore(async (db) => {
        const rows = await db
          .selectFrom('version_metrics')
          .select(['count', 'errors'])
          .where('minutes', '=', 0)
          .execute()
        assert.deepEqual(rows, [{ count: 1, errors: 0 }])
        assert.deepEqual(await db.selectFrom('steps').selectAll().execute(), [])
      })
    })

    test('a call that may not be made twice is not, and the model learns that its outcome is unknown', async (t) => {
      const world = await watchWorld(t, [{ text: 'One moment.', calls: ['write'] }, { text: 'Who knows.' }])
      const service = await startChildService(t, engine, world.settings)
      await service.call('POST', '/v1/agents', agentOf(world))
      const held = world.hold('write')
      const answer = service.send(
        'POST',
        '/v1/agents/clerk/invoke',
        { message: 'go' },
        { 'Idempotency-Key': 'order-1' },
      )
      await held
      await service.kill()
      assert.equal(await answer, undefined)
      if (engine === 'postgres') await service.inStore(endLeases)
      await service.start()

      // The run continues by itself; whoever asks again under the same key gets its answer.
      const again = await service.send(
        'POST',
        '/v1/agents/clerk/invoke',
        { message: 'go' },
        { 'Idempotency-Key': 'order-1' },
      )
      assert.equal(again?.status, 200, String(again?.text))
      assert.equal(again?.body.data.response, 'One moment.\n\nWho knows.')
      const { data, pagination } = await service.call('GET', '/v1/agents/clerk/invocations')
      assert.equal(pagination.total, 1)
      const [receipt] = data
      assert.equal(receipt.request_id, again?.body.data.request_id)
      assert.match(receipt.steps[1].error, /^The outcome of this call is unknown/)
      assert.deepEqual(world.count('write'), { came: 1, answered: 0 })
      assert.deepEqual(world.count('model 1'), { came: 1, answered: 1 })
      const replay = await service.send(
        'POST',
        '/v1/agents/clerk/invoke',
        { message: 'go' },
        { 'Idempotency-Key': 'order-1' },
      )
      assert.equal(replay?.headers.get('idempotent-replayed'), 'true')

      // A client that had heard the first step continues from there; one that had heard more is told to forget it.
      const follow = async (id: string) =>
        (
          await allEvents(
            await service.open(`/v1/agents/clerk/invocations/${receipt.request_id}/stream`, { 'Last-Event-ID': id }),
          )
        ).map(({ event }) => event)
      assert.deepEqual(await follow('1.11.1'), ['tool_result', 'delta', 'done'])
      assert.deepEqual(await follow('1.12.1'), ['restart', 'delta', 'tool_call', 'tool_result', 'delta', 'done'])
    })
  })
}
