import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { betweenNodes, inProject, onManyNodes, type Service } from '../support/service/service.ts'
import { createWebhook, openInbox } from '../support/slices/webhooks.ts'

const DAY = 86_400_000
const FULL =
  'The project has reached its limit of concurrent runs (limits.concurrent_runs). Try again shortly, or raise the limit.'

const limitedProject = async (service: Service, name: string, limits: object): Promise<Service> => {
  const { status, text } = await service.call('POST', '/v1/projects', { body: { name, limits } })
  assert.equal(status, 201, text)
  return inProject(service, name)
}
const invoke = (project: Service, agent: string, headers: Record<string, string> = {}) =>
  project.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
const BACKGROUND = { Prefer: 'respond-async' }

onManyNodes(
  'limits of a project',
  (service, engine) => {
    test('can be changed one by one, and null removes one', async () => {
      const none = {
        requests_per_minute: null,
        concurrent_runs: null,
        stored_bytes: null,
        file_bytes: null,
        retention_days: null,
      }
      const change = async (limits: object) =>
        (await service().call('PATCH', '/v1/projects/default', { body: { limits } })).body
      assert.deepEqual((await service().call('GET', '/v1/projects/default')).body.data.limits, none)
      assert.deepEqual((await change({ concurrent_runs: 9 })).data.limits, { ...none, concurrent_runs: 9 })
      const both = { ...none, concurrent_runs: 9, retention_days: 30 }
      assert.deepEqual((await change({ retention_days: 30 })).data.limits, both)
      assert.deepEqual((await change({ concurrent_runs: null, retention_days: null })).data.limits, none)
      assert.deepEqual(fieldsOf(await change({ concurrent_runs: 0 })), ['limits.concurrent_runs'])
    })

    test('concurrent_runs counts the runs of all agents; at the limit, a synchronous run gets 429 and a background run waits', async (t) => {
      const held = await holdRuns(t)
      const project = await limitedProject(service(), 'narrow', { concurrent_runs: 2 })
      const [one, two] = [await newAgent(project, held.agent), await newAgent(project, held.agent)]
      const answers = [invoke(project, one), invoke(project, two)]
      await until('both run', () => held.count() === 2)

      const refused = await invoke(project, two)
      assert.deepEqual(
        [refused.status, refused.body.error.code, refused.body.error.message, refused.headers.get('retry-after')],
        [429, 'rate_limited', FULL, '1'],
      )
      const chat = { model: two, messages: [{ role: 'user', content: 'go' }] }
      const openai = await project.call('POST', '/v1/chat/completions', { body: chat })
      assert.deepEqual(
        [openai.status, openai.body.error],
        [429, { message: FULL, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' }],
      )
      const queued = await Promise.all([one, two, one].map((agent) => invoke(project, agent, BACKGROUND)))
      assert.deepEqual(
        queued.map(({ status }) => status),
        [202, 202, 202],
      )
      const elsewhere = await newAgent(service())
      const other = await invoke(service(), elsewhere, BACKGROUND)
      await until('a run of another project has ended', async () => {
        const path = `/v1/agents/${elsewhere}/invocations/${other.body.data.request_id}`
        return (await service().call('GET', path)).body.data.status === 'completed'
      })
      assert.equal(held.count(), 2, 'those in the background wait')
      held.release()
      for (const answered of await Promise.all(answers)) assert.equal(answered.status, 200, answered.text)
      await until('all have run', async () => {
        const { body } = await project.call('GET', '/v1/invocations?status=completed')
        return body.pagination.total === 5
      })
    })

    test('if a project and an agent both have limits, both apply, and the refusal names the one that was exceeded', async (t) => {
      const held = await holdRuns(t)
      const project = await limitedProject(service(), 'both', { concurrent_runs: 2 })
      const narrow = await newAgent(project, { ...held.agent, limits: { max_concurrency: 1 } })
      const { name } = (await project.call('GET', `/v1/agents/${narrow}`)).body.data
      const answers = [invoke(project, narrow)]
      await until('one runs', () => held.count() === 1)
      assert.equal(
        (await invoke(project, narrow)).body.error.message,
        `Agent "${name}" has reached its limit of concurrent runs (limits.max_concurrency: 1). Try again shortly.`,
      )
      answers.push(invoke(project, await newAgent(project, held.agent)))
      await until('two run', () => held.count() === 2)
      assert.equal((await invoke(project, narrow)).body.error.message, FULL)
      held.release()
      for (const answered of await Promise.all(answers)) assert.equal(answered.status, 200, answered.text)
    })

    betweenNodes(engine)('two nodes together never exceed concurrent_runs, even at once', async (t) => {
      const second = await service().beside()
      t.after(() => second.stop())
      const held = await holdRuns(t)
      const first = await limitedProject(service(), 'two-nodes', { concurrent_runs: 3 })
      const nodes = [first, inProject(second, 'two-nodes')]
      const agents = [
        await newAgent(first, held.agent),
        await newAgent(first, { ...held.agent, limits: { max_concurrency: 2 } }),
      ]
      const each = (headers = {}) =>
        Array.from({ length: 20 }, (_, i) => invoke(nodes[i % 2] as Service, agents[(i >> 1) % 2] as string, headers))
      const statuses: number[] = []
      const answers = each().map(async (reply) => statuses.push((await reply).status))
      await until('three run and all others are refused', () => held.count() === 3 && statuses.length === 17)
      assert.deepEqual(new Set(statuses), new Set([429]))
      for (const reply of await Promise.all(each(BACKGROUND))) assert.equal(reply.status, 202, reply.text)
      held.release()
      await Promise.all(answers)
      assert.deepEqual(statuses.slice(17), [200, 200, 200])
      await until('all in the background have run', async () => {
        const { body } = await first.call('GET', '/v1/invocations?status=completed')
        return body.pagination.total === 23
      })
    })

    test('stored_bytes: a full project accepts no new data until something is deleted', async () => {
      const project = await limitedProject(service(), 'small', { stored_bytes: 17_000 })
      const agent = await newAgent(project)
      const every = { every: '1h', message: 'go' }
      const { body: scheduled } = await project.call('POST', `/v1/agents/${agent}/schedules`, { body: every })
      const schedule = scheduled.data.id
      const shown = async () => (await project.call('GET', '/v1/projects/small')).body.data.stored_bytes
      const measured = async () => {
        await ranAgain(service(), 'project sizes', 61_000)
        return shown()
      }
      assert.equal(await shown(), null, 'not measured yet')
      const note = { content: 'x'.repeat(9_000), context: {} }
      const write = () => project.call('POST', `/v1/agents/${agent}/memory`, { body: { items: [note] } })
      assert.equal((await write()).status, 201)
      const some = await measured()
      assert.ok(some >= 9_000 && some < 17_000, `${some}`)
      assert.equal((await invoke(project, agent)).status, 200)
      const { body: second } = await write()
      assert.ok((await measured()) >= 17_000)

      const chat = { model: agent, messages: [{ role: 'user', content: 'go' }] }
      const refused = [
        await project.call('POST', `/v1/agents/${agent}/schedules/${schedule}/run`),
        await invoke(project, agent),
        await invoke(project, agent, BACKGROUND),
        await write(),
        await project.call('POST', '/v1/chat/completions', { body: chat }),
      ]
      for (const { status, body } of refused) {
        assert.equal(status, 409)
        assert.match(body.error.message, /limits\.stored_bytes/)
      }
      const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
      const { body: toA2a } = await project.call('POST', `/v1/agents/${agent}/a2a`, {
        body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
        headers: { 'A2A-Version': '1.0' },
      })
      assert.equal(toA2a.result, undefined, 'nothing was admitted, so there is no task')
      assert.match(toA2a.error.message, /limits\.stored_bytes/)
      assert.equal((await invoke(service(), await newAgent(service()))).status, 200, 'others are not held up')

      const { body: made } = await project.call('POST', `/v1/agents/${agent}/schedules`, {
        body: { message: 'go', every: '1m' },
      })
      service().advance(61_000)
      wakeJobs(service())
      await until('the tick is skipped', async () => {
        const { body } = await project.call('GET', `/v1/agents/${agent}/schedules/${made.data.id}`)
        return body.data.skipped > 0
      })
      await project.call('DELETE', `/v1/agents/${agent}/schedules/${made.data.id}`)
      const { id } = second.data.items[0]
      assert.equal((await project.call('DELETE', `/v1/agents/${agent}/memory/${id}`)).status, 200)
      assert.ok((await measured()) < 17_000)
      assert.equal((await invoke(project, agent)).status, 200)
      const { body } = await service().call('PATCH', '/v1/projects/small', { body: { limits: { stored_bytes: null } } })
      assert.equal(body.data.stored_bytes, null)
    })

    test('retention_days deletes older data within an hour, and only in that project', async (t) => {
      const inbox = await openInbox(t)
      const left = async (project: Service, agent: string, webhook: string) => {
        const totals: Record<string, number> = {}
        for (const [what, path] of Object.entries({
          receipts: `/v1/agents/${agent}/invocations`,
          logs: `/v1/agents/${agent}/logs`,
          deliveries: `/v1/webhooks/${webhook}/deliveries`,
          replays: `/v1/agents/${agent}/replays`,
        })) {
          totals[what] = Math.min(1, (await project.call('GET', path)).body.pagination.total)
        }
        const found = await project.call('POST', `/v1/agents/${agent}/memory/search`, { body: { query: 'rope' } })
        return { ...totals, memories: Math.min(1, found.body.data.length) }
      }
      const filled = async (project: Service) => {
        const agent = await newAgent(project)
        const { id } = await createWebhook(project, { url: inbox.url })
        const body = { message: 'the rope is wet', context: { user_id: 'ada', session_id: 's' } }
        assert.equal((await project.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
        await until('it is delivered', async () => {
          const { body: page } = await project.call('GET', `/v1/webhooks/${id}/deliveries?status=delivered`)
          return page.pagination.total === 1
        })
        const replay = { working_copy: true, filter: {}, last: 1 }
        assert.equal((await project.call('POST', `/v1/agents/${agent}/replays`, { body: replay })).status, 201)
        await until('it was replayed', async () => {
          const { body: page } = await project.call('GET', `/v1/agents/${agent}/replays`)
          return page.data[0].status === 'completed'
        })
        return () => left(project, agent, id)
      }
      const short = await filled(await limitedProject(service(), 'short', { retention_days: 2 }))
      const long = await filled(await limitedProject(service(), 'long', { retention_days: 20 }))
      const ordinary = await filled(service())
      const all = { receipts: 1, logs: 1, deliveries: 1, replays: 1, memories: 1 }
      assert.deepEqual([await short(), await long(), await ordinary()], [all, all, all])
      await ranAgain(service(), 'retention', 1.9 * DAY)
      assert.deepEqual(await short(), all)
      await ranAgain(service(), 'retention', 0.2 * DAY)
      assert.deepEqual(await short(), { receipts: 0, logs: 0, deliveries: 0, replays: 0, memories: 0 })
      assert.deepEqual([await long(), await ordinary()], [all, all])
    })
  },
  LOCAL_TOOLS,
)
