import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { stepWrite } from '../../src/invocations/steps/step-store.ts'
import { writeRows } from '../../src/storage/journal/write-rows.ts'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { reopenRun } from '../support/stores/moved-run.ts'

onAnyEngine('a background invocation that the service gives up on', (service) => {
  /** A run as a node that died during its last attempt left it. */
  const plant = async ({ lease_until }: { lease_until: number }) => {
    const db = storeOf(service())
    const agent_id = await newAgent(service())
    const { body: queued } = await service().call('POST', `/v1/agents/${agent_id}/invoke`, {
      body: { message: 'hi', context: { user_id: 'ada' } },
      headers: { Prefer: 'respond-async' },
    })
    const { request_id } = queued.data
    const path = `/v1/agents/${agent_id}/invocations/${request_id}`
    const receipt = async () => (await service().call('GET', path)).body.data
    await until('the run has ended', async () => (await receipt()).status === 'completed')
    await service().call('POST', '/v1/webhooks', {
      body: { url: 'https://example.com/hook', events: ['agent.failed'], agent_id },
    })
    await reopenRun(db, request_id, { status: 'running', owner: 'a dead node', lease_until, lapses: 9 })
    const events = async () => {
      const rows = await db.selectFrom('events').select('body').execute()
      return rows.map(({ body }) => JSON.parse(body)).filter((event) => event.agent_id === agent_id)
    }
    wakeJobs(service())
    return { agent_id, request_id, receipt, events }
  }

  test("fails if its definition can't be read", async () => {
    const agent_id = await newAgent(service())
    const path = `/v1/agents/${agent_id}`
    const deployment = { environment: 'production', version: 'v1' }
    assert.equal((await service().call('POST', `${path}/deployments`, { body: deployment })).status, 201)
    const { body } = await service().call('POST', `${path}/invoke`, {
      body: { message: 'hi' },
      headers: { Prefer: 'respond-async' },
    })
    const receipt = async () => (await service().call('GET', `${path}/invocations/${body.data.request_id}`)).body.data
    await until('the run has ended', async () => (await receipt()).status === 'completed')
    const db = storeOf(service())
    await db.updateTable('versions').set({ definition: '{' }).where('agent_id', '=', agent_id).execute()
    const lost = { status: 'running', owner: 'a dead node', lease_until: 1, lapses: 9 }
    const { request_id } = body.data
    const times = { attempt: 1, started_at: 1, finished_at: 2, logs: [] }
    const spent = { usage: { input_tokens: 7, output_tokens: 5 }, cost_nano: 3 }
    const answer = { calls: [{ id: 'call_1', name: 'look', arguments: '{}' }], finish: 'stop' as const }
    const step = { kind: 'model' as const, ...times, ...spent, model: 'local/tiny', text: 'Well', answer }
    await db.transaction().execute((held) => writeRows(held, [stepWrite(request_id, 0, step)]))
    await reopenRun(db, request_id, lost)
    // A restart clears the cached version.
    await service().restart()
    await until('failed', async () => (await receipt()).status === 'failed')
    const { error, steps, tokens_used } = await receipt()
    assert.equal(error.code, 'server_error')
    assert.deepEqual([steps.length, tokens_used], [1, 12], 'what it has done and used stays')
    const reopened = storeOf(service())
    const left = await reopened.selectFrom('steps').select('request_id').where('request_id', '=', request_id).execute()
    assert.deepEqual(left, [])
  })

  describe('after its node died during the last attempt', () => {
    test('fails like any other run: receipt, event, log and metric', async () => {
      const { agent_id, request_id, receipt, events } = await plant({ lease_until: Date.now() - 1 })
      await until('failed', async () => (await receipt()).status === 'failed')
      const { error, finished_at, response } = await receipt()
      assert.deepEqual(
        [error, response],
        [{ code: 'server_error', message: 'The service gave up on this run after several attempts.' }, null],
      )
      assert.ok(finished_at)
      assert.deepEqual(
        (await events()).map(({ type, data }) => [type, data.request_id, data.error, data.context]),
        [['agent.failed', request_id, error, { user_id: 'ada', session_id: null }]],
      )
      const logs = await service().call('GET', `/v1/agents/${agent_id}/logs?level=error`)
      assert.deepEqual(
        logs.body.data.map((entry: { message: string }) => entry.message),
        [`Invocation failed: ${error.message}`],
      )
      const metrics = await service().call('GET', `/v1/agents/${agent_id}/metrics?metric=error_rate`)
      assert.ok(
        metrics.body.data.values.some(({ value }: { value: number }) => value > 0),
        metrics.text,
      )
    })

    test('belongs to the other node until its lease ends', async () => {
      const { receipt, events } = await plant({ lease_until: Date.now() + 60_000 })
      // Runs that are queued later start later.
      await service().call('POST', '/v1/agents/hello/invoke', {
        body: { message: 'hi' },
        headers: { Prefer: 'respond-async' },
      })
      await until('the queue was looked through', async () => {
        const { body } = await service().call('GET', '/v1/agents/hello/invocations?status=completed')
        return body.pagination.total === 1
      })
      assert.equal((await receipt()).status, 'running')
      assert.deepEqual(await events(), [])
      service().advance(90_000)
      wakeJobs(service())
      await until('failed', async () => (await receipt()).status === 'failed')
      assert.equal((await events()).length, 1)
    })
  })
})
