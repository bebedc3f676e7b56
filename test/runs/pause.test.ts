import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, test } from 'node:test'
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { DOORS } from '../support/clients/doors.ts'
import { allEvents } from '../support/clients/sse.ts'
import { liveRuns, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer, SeenRequest } from '../support/outside/model-server.ts'
import { inTime } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { ANY_ENGINE, inProject, type Reply, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { approver, refundingAgent, startTill } from '../support/slices/approvals.ts'
import { createKey } from '../support/slices/resources.ts'

const REASON = 'a loop of agent 7'
const PAUSED = `The project is paused: ${REASON}`
const SILENCE = { text: ['Half an '], breaks: 'silence', usage: { prompt_tokens: 40, completion_tokens: 2 } } as const
const WHOLE = { text: ['A whole answer'], usage: { prompt_tokens: 100, completion_tokens: 3 } }

const HOUR = 3_600_000

/** How soon a call of a model must be ended. */
const WITHIN_MS = 1_000

for (const engine of ANY_ENGINE) {
  describe(`a pause on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let receiver: LocalServer
    before(async () => {
      receiver = await startLocalServer((_request, response) => response.end())
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
    })
    afterEach(async () => {
      await resume()
      await resume({ scope: 'service' })
      model.reset()
    })
    after(async () => {
      await stop()
      await receiver.close()
    })

    const pause = async (body: object = { reason: REASON }, at = service) => {
      const reply = await at.call('POST', '/v1/pause', { body })
      assert.equal(reply.status, 200, reply.text)
      return reply
    }
    const resume = async (body: object = {}, at = service) => {
      const reply = await at.call('POST', '/v1/resume', { body })
      assert.equal(reply.status, 200, reply.text)
      return reply
    }
    const invoke = (agent: string, headers = {}, at = service): Promise<Reply> =>
      at.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' }, headers })
    const receiptOf = async (agent: string, request_id: string, at = service) =>
      (await at.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const ended = (agent: string, request_id: string, at = service) =>
      until('the end of the run', async () => {
        const receipt = await receiptOf(agent, request_id, at)
        return receipt.finished_at === null ? undefined : receipt
      })
    /** Pauses, and resolves when the runs in progress have heard of it, as the client of one of them notices. */
    const pauseRuns = async () => {
      const agent = await newAgent(service, { model: 'local/m' })
      model.reply({ breaks: 'silence' })
      const asked = model.nextRequest()
      const answer = invoke(agent)
      await asked
      await pause()
      assert.equal((await answer).status, 202)
    }
    /** Resolves with how long it took until the model's reader hung up. */
    const hungUp = async ({ closed }: SeenRequest, since = performance.now()) => {
      assert.deepEqual(await closed, { answered: false })
      return performance.now() - since
    }

    test('a synchronous run stops within a second, returns 202, and continues after the pause', () =>
      inTime(WITHIN_MS, async () => {
        model.reset()
        const agent = await newAgent(service, { model: 'local/m' })
        model.reply(SILENCE, WHOLE)
        const asked = model.nextRequest()
        const answer = invoke(agent)
        const call = await asked
        const since = performance.now()
        const told = await pause()
        const took = await hungUp(call, since)
        const { status, body, headers } = await answer
        assert.equal(status, 202)
        const { request_id } = body.data
        assert.deepEqual(body.data, { request_id, status: 'waiting', approvals: [], reason: PAUSED })
        assert.equal(headers.get('location'), `/v1/agents/${agent}/invocations/${request_id}`)
        const { paused_at, paused_by } = told.body.data.project
        assert.deepEqual(told.body.data, {
          paused: true,
          project: { reason: REASON, paused_by, paused_at },
          service: null,
        })
        assert.deepEqual((await service.call('GET', '/v1/pause')).body.data, told.body.data)

        const waiting = await receiptOf(agent, request_id)
        assert.equal(waiting.status, 'waiting')
        // The model's text before the interruption is counted.
        const { steps } = waiting
        assert.deepEqual([steps.length, steps[0].kind, steps[0].reason], [1, 'wait', 'Paused'])
        assert.equal(steps[0].usage.input_tokens > 0, true)
        assert.equal(waiting.tokens_used, steps[0].usage.total_tokens)
        assert.equal(waiting.cost_usd, steps[0].cost_usd)

        const over = await resume()
        assert.deepEqual(over.body.data, { paused: false, project: null, service: null })
        const receipt = await ended(agent, request_id)
        assert.deepEqual(
          [receipt.status, receipt.response, receipt.attempts.length, receipt.tokens_used],
          ['completed', 'A whole answer', 2, waiting.tokens_used + 103],
        )
        assert.equal(model.requests.length, 2)
        return took
      }))

    test('a stream reports that its run waits, and the rest can be followed later', async () => {
      const agent = await newAgent(service, { model: 'local/m' })
      model.reply(SILENCE, WHOLE)
      const asked = model.nextRequest()
      const headers = { Authorization: `Bearer ${service.admin}`, 'Content-Type': 'application/json' }
      const streaming = fetch(`${service.url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: { ...headers, Accept: 'text/event-stream' },
        body: JSON.stringify({ message: 'go' }),
      }).then(allEvents)
      const call = await asked
      await until('the first words', async () => liveRuns(service)[0]?.told.characters)
      await pause()
      await hungUp(call)
      const events = await streaming
      assert.deepEqual(
        events.map(({ event }) => event),
        ['start', 'delta', 'waiting'],
      )
      const { request_id } = (events[0] as (typeof events)[number]).data as { request_id: string }
      assert.deepEqual(events.at(-1)?.data, { request_id, status: 'waiting', approvals: [], reason: PAUSED })

      const following = fetch(`${service.url}/v1/agents/${agent}/invocations/${request_id}/stream`, {
        headers: { ...headers, 'Last-Event-ID': events.at(-1)?.id ?? '' },
      }).then(allEvents)
      await resume()
      const told = (await following).filter(({ event }) => event !== 'waiting')
      assert.deepEqual(
        told.map(({ event, data }) => [event, (data as { text?: string }).text]),
        [
          ['restart', undefined],
          ['delta', 'A whole answer'],
          ['done', undefined],
        ],
      )
    })

    test('an interrupted A2A task still shows as working, says why it waits, and asks the client nothing', async () => {
      const agent = await newAgent(service, { model: 'local/m' })
      const client = await connectA2a(service, agent)
      /** What a stream has told last of the state of its task. */
      const lastOf = async (stream: AsyncIterable<StreamResponse>) => {
        let [id, status]: [string, Task['status']] = ['', undefined]
        for await (const { payload } of stream) {
          if (payload?.$case === 'task') id = payload.value.id
          if (payload?.$case === 'statusUpdate') status = payload.value.status
        }
        return { id, status }
      }
      model.reply({ breaks: 'silence' }, { breaks: 'silence' }, WHOLE, WHOLE)
      const first = model.nextRequest()
      const streamed = lastOf(client.sendMessageStream(saying('go')))
      await first
      const second = model.nextRequest()
      const sent = client.sendMessage(saying('go')) as Promise<Task>
      await second
      await pause()
      const tasks = [await streamed, await sent]
      for (const { status } of tasks) {
        const words = status?.message?.parts[0]?.content?.value
        assert.deepEqual([status?.state, words], [TaskState.TASK_STATE_WORKING, PAUSED])
      }
      await resume()
      for (const { id } of tasks) assert.equal((await ended(agent, id)).response, 'A whole answer')
    })

    test('every channel refuses new messages with the reason, but repeats stored replies', async () => {
      const agent = await newAgent(service)
      const once = { 'Idempotency-Key': randomUUID() }
      const answered = await invoke(agent, once)
      assert.equal(answered.status, 200)
      await pause()
      for (const [name, ask] of Object.entries(DOORS)) {
        const name_of_agent = (await service.call('GET', `/v1/agents/${agent}`)).body.data.name
        const told = await ask(service, { agent: name_of_agent, message: 'go', key: service.admin })
        assert.deepEqual(told, { code: 'agent_paused', status: 409 }, name)
      }
      for (const prefer of [{}, { Prefer: 'respond-async' }]) {
        const { status, body } = await invoke(agent, prefer)
        assert.deepEqual([status, body.error.code], [409, 'agent_paused'])
      }
      assert.equal((await invoke(agent, once)).text, answered.text)
      const schedule = await service.call('POST', `/v1/agents/${agent}/schedules`, {
        body: { every: '1h', message: 'tick' },
      })
      const now = await service.call('POST', `/v1/agents/${agent}/schedules/${schedule.body.data.id}/run`)
      assert.deepEqual([now.status, now.body.error.code], [409, 'agent_paused'])
      await resume()
      assert.equal((await invoke(agent)).status, 200)
    })

    test('a retry of a waiting request gets 202, and the answer after the pause', async () => {
      const agent = await newAgent(service, { model: 'local/m' })
      const headers = { 'Idempotency-Key': randomUUID() }
      model.reply({ breaks: 'silence' }, WHOLE)
      const asked = model.nextRequest()
      const first = invoke(agent, headers)
      await asked
      await pause()
      const waiting = await first
      assert.equal(waiting.status, 202, waiting.text)
      const again = await invoke(agent, headers)
      assert.deepEqual([again.status, again.body], [202, waiting.body])
      await resume()
      const { request_id } = waiting.body.data
      assert.equal((await ended(agent, request_id)).response, 'A whole answer')
      assert.equal(model.requests.length, 2)
    })

    test('background runs wait after their current step, and tool calls in progress finish first', async (t) => {
      const held = await holdRuns(t, 'done: {{result}}')
      const agent = await newAgent(service, held.agent)
      const { request_id } = (await invoke(agent, { Prefer: 'respond-async' })).body.data
      await until('the tool', held.count)
      await pauseRuns()
      assert.equal((await receiptOf(agent, request_id)).status, 'running')
      held.release()
      const waiting = await until('the wait', async () => {
        const receipt = await receiptOf(agent, request_id)
        return receipt.status === 'waiting' ? receipt : undefined
      })
      const kinds = (steps: { kind: string }[]) => steps.map(({ kind }) => kind)
      assert.deepEqual(kinds(waiting.steps), ['model', 'tool', 'wait'])
      await resume()
      const receipt = await ended(agent, request_id)
      assert.deepEqual([receipt.status, receipt.response], ['completed', 'done: released'])
      assert.deepEqual(kinds(receipt.steps), ['model', 'tool', 'wait', 'model'])
      assert.equal(held.count(), 1)
    })

    test("a tool that takes longer than its run's timeout ends the run, as without a pause", async (t) => {
      const held = await holdRuns(t)
      const agent = await newAgent(service, { ...held.agent, limits: { timeout_ms: 1_500 } })
      // The machine may be so busy that the time is over before the tool is called.
      const request_id = await until('a run that has called its tool', async () => {
        const { body } = await invoke(agent, { Prefer: 'respond-async' })
        const isOver = async () => (await receiptOf(agent, body.data.request_id)).finished_at !== null
        await until('the tool, or the end', async () => held.count() > 0 || (await isOver()))
        return held.count() > 0 && body.data.request_id
      })
      await pause()
      const receipt = await ended(agent, request_id)
      assert.deepEqual([receipt.status, receipt.error.code], ['failed', 'timeout'])
      await resume()
      assert.equal(held.count(), 1)
    })

    test('queued runs stay queued, and approvals decided meanwhile take effect afterwards', async (t) => {
      const till = await startTill()
      t.after(() => till.close())
      const agent = await newAgent(service, refundingAgent(till))
      const asked = await invoke(agent)
      assert.equal(asked.status, 202)
      const { request_id, approvals } = asked.body.data
      await pause()
      const key = await approver(service)
      const path = `/v1/agents/${agent}/invocations/${request_id}/approvals/${approvals[0].call_id}`
      const decided = await service.call('POST', path, { key, body: { decision: 'approve' } })
      assert.equal(decided.status, 200, decided.text)
      wakeJobs(service)
      assert.equal((await receiptOf(agent, request_id)).status, 'queued')
      // A run of a project that is not paused overtakes it.
      await service.call('POST', '/v1/projects', { body: { name: `free-${engine}` } })
      const other = inProject(service, `free-${engine}`)
      const free = await newAgent(other)
      const background = await invoke(free, { Prefer: 'respond-async' }, other)
      assert.equal((await ended(free, background.body.data.request_id, other)).status, 'completed')
      assert.deepEqual([(await receiptOf(agent, request_id)).status, till.refunds.length], ['queued', 0])
      await resume()
      assert.equal((await ended(agent, request_id)).status, 'completed')
      assert.equal(till.refunds.length, 1)
    })

    test('a waiting run can be cancelled, and pausing its agent cancels it', async () => {
      const runs = []
      for (let i = 0; i < 2; i++) {
        const agent = await newAgent(service, { model: 'local/m' })
        model.reply({ breaks: 'silence' })
        const asked = model.nextRequest()
        const answer = invoke(agent)
        await asked
        runs.push({ agent, answer })
      }
      await pause()
      const [one, other] = await Promise.all(
        runs.map(async ({ agent, answer }) => ({ agent, request_id: (await answer).body.data.request_id as string })),
      )
      assert.ok(one && other)
      const cancelled = await service.call('POST', `/v1/agents/${one.agent}/invocations/${one.request_id}/cancel`)
      assert.equal(cancelled.body.data.status, 'cancelled', cancelled.text)
      await service.call('PATCH', `/v1/agents/${other.agent}`, { body: { status: 'paused' } })
      assert.equal((await ended(other.agent, other.request_id)).status, 'cancelled')
    })

    test('a pause of the service applies to every project, and ends separately', async () => {
      const name = `both-${engine}`
      const made = await service.call('POST', '/v1/projects', { body: { name } })
      const project = inProject(service, name)
      const agent = await newAgent(project)
      await pause({ reason: 'all of it', scope: 'service' })
      await pause({ reason: 'another one' }, project)
      // A new reason for the project does not change the service's pause.
      await pause({ reason: 'this one' }, project)
      const key = await createKey(project, { permissions: ['invoke', 'read', 'manage'] })
      const heard = await project.call('GET', '/v1/pause', { key: key.secret })
      const { service: ofService, project: ofProject } = heard.body.data
      assert.deepEqual([ofService.reason, ofService.paused_by, ofProject.reason], ['all of it', null, 'this one'])
      assert.match((await service.call('GET', '/v1/pause')).body.data.service.paused_by, /^key_/)
      assert.match((await invoke(agent, {}, project)).body.error.message, /service.*: all of it$/)
      // A key of one project ends its own pause and no other.
      const refused = await project.call('POST', '/v1/resume', { key: key.secret, body: { scope: 'service' } })
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'])
      await resume({ scope: 'service' })
      assert.match((await invoke(agent, {}, project)).body.error.message, /project.*: this one$/)
      const own = await newAgent(service)
      assert.equal((await invoke(own)).status, 200)
      await service.call('DELETE', `/v1/projects/${made.body.data.id}?name=${name}`)
      assert.deepEqual((await service.call('GET', '/v1/pause')).body.data.paused, false)
    })

    test('it requires manage on the whole project, is in the audit log, and only affected projects get events', async () => {
      const hook = await service.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['*'] } })
      const elsewhere = `hears-${engine}`
      await service.call('POST', '/v1/projects', { body: { name: elsewhere } })
      const other = inProject(service, elsewhere)
      const otherHook = await other.call('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['*'] } })
      const agent_id = await newAgent(service)
      const narrow = await createKey(service, { permissions: ['manage'], agent_id })
      const writer = await createKey(service, { permissions: ['write', 'invoke', 'read'] })
      for (const { secret: key } of [narrow, writer]) {
        const refused = await service.call('POST', '/v1/pause', { key, body: { reason: 'x' } })
        assert.equal(refused.status, 403, refused.text)
      }
      assert.equal((await service.call('POST', '/v1/pause', { body: {} })).status, 400)
      await pause()
      await pause({ reason: 'for another reason' })
      assert.equal((await service.call('GET', '/v1/pause')).body.data.project.reason, 'for another reason')
      await resume()
      await resume()
      await pause({ reason: 'all', scope: 'service' })
      await resume({ scope: 'service' })
      const eventsOf = async (at: Service, id: string) =>
        (await at.call('GET', `/v1/webhooks/${id}/deliveries?sort=created_at`)).body.data.map(
          ({ event }: { event: string }) => event,
        )
      assert.deepEqual(await eventsOf(service, hook.body.data.id), [
        'project.paused',
        'project.resumed',
        'service.paused',
        'service.resumed',
      ])
      assert.deepEqual(await eventsOf(other, otherHook.body.data.id), [])
      const audit = await service.call('GET', '/v1/audit-log?action=beginPause&outcome=success')
      assert.deepEqual(audit.body.data[0].fields, ['reason', 'scope'])
      await service.call('DELETE', `/v1/webhooks/${hook.body.data.id}`)
    })

    test('a scheduled run that is due during the pause starts afterwards', async () => {
      const agent = await newAgent(service)
      await pause()
      const { body } = await service.call('POST', `/v1/agents/${agent}/schedules`, {
        body: { at: new Date(service.now() + HOUR).toISOString(), message: 'tick', catch_up: 'one' },
      })
      service.advance(HOUR + 1)
      wakeJobs(service)
      const path = `/v1/agents/${agent}/schedules/${body.data.id}`
      assert.equal((await service.call('GET', path)).body.data.last_request_id, null)
      await resume()
      const request_id = await until('its run', async () => (await service.call('GET', path)).body.data.last_request_id)
      assert.equal((await ended(agent, request_id)).status, 'completed')
    })

    test('a paused service is still paused after a restart', async () => {
      const agent = await newAgent(service, { model: 'local/m' })
      model.reply({ breaks: 'silence' }, WHOLE)
      const asked = model.nextRequest()
      const answer = invoke(agent)
      await asked
      await pause()
      const { request_id } = (await answer).body.data
      await service.restart()
      assert.equal((await invoke(agent)).body.error.code, 'agent_paused')
      wakeJobs(service)
      assert.equal((await receiptOf(agent, request_id)).status, 'waiting')
      await resume()
      assert.equal((await ended(agent, request_id)).response, 'A whole answer')
    })
  })
}
