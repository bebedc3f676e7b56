import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { askDoor, DOOR_REQUESTS } from '../support/clients/door-tellings.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { approver, decide, startTill, type Till, untilStatus } from '../support/slices/approvals.ts'
import { type RemoteServer, SIGNING_SECRET, setRemoteSecret, startRemote } from '../support/slices/remote-agents.ts'
import { createAgent } from '../support/slices/resources.ts'
import { answerSame, FORMS, startInPython, thinkSame } from '../support/slices/same-agent.ts'
import { sameShape } from '../support/slices/same-shape.ts'
import { openInbox } from '../support/slices/webhooks.ts'
import { findExecutable } from '../support/stores/daemon.ts'

const skipPython = !findExecutable('python3') && !process.env['CI'] && 'there is no python3 on this machine'
const forms = FORMS.filter((form) => form !== 'python' || !skipPython)
if (skipPython) test('one agent as data and in Python', { skip: skipPython })

const APPROVE = { decision: 'approve' }
const REJECT = { decision: 'reject', note: 'Not this one' }

type Receipt = Record<string, unknown>
type Log = { metadata: Record<string, unknown> }

/** A model that fails leaves no step. A program was told so by its step, and then failed by itself. */
function withoutSteps({ steps: _steps, model: _model, ...receipt }: Receipt): Receipt {
  return receipt
}

/** What a call that was broken off has used is estimated, by the time that it took. */
function withoutSpending(receipt: Receipt): Receipt {
  const { tokens_used, usage: _usage, ...rest } = withoutSteps(receipt)
  return { ...rest, hasSpent: Number(tokens_used) > 0 }
}

for (const engine of ANY_ENGINE) {
  describe(`one agent as data, in TypeScript and in Python, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    let till: Till
    let remote: RemoteServer
    let python: Awaited<ReturnType<typeof startInPython>> | undefined
    let key: string
    before(async () => {
      till = await startTill()
      ;({ service, model, stop } = await startWithModel(engine, LOCAL_TOOLS))
      model.replyBy(thinkSame)
      key = await approver(service)
      await setRemoteSecret(service)
      remote = await startRemote(() => service.now())
      remote.answer(answerSame)
      if (forms.includes('python')) python = await startInPython(SIGNING_SECRET.value)
      await createAll('')
    })
    after(async () => {
      await stop()
      await Promise.all([till.close(), remote.close(), python?.close()])
    })

    /** The agent in all its forms; the name of each is the form and this ending. */
    const createAll = async (ending: string, more: object = {}) => {
      const refund = { type: 'http', name: 'refund', method: 'POST', url: till.url, approval: 'always' }
      const tools = [refund, { type: 'ask_person' }]
      const definition = { model: 'local/tiny', tools, approvals: { self: true }, ...more }
      const elsewhere = (url = '') => ({ kind: 'remote', remote: { url, secret: 'REMOTE' } })
      const kinds = { data: {}, typescript: elsewhere(remote.url), python: elsewhere(python?.url) }
      for (const form of forms) await createAgent(service, form + ending, { ...definition, ...kinds[form] })
    }
    const get = async (path: string) => {
      const { status, body, text } = await service.call('GET', path)
      assert.equal(status, 200, text)
      return body.data
    }
    const newest = async (agent: string) => {
      const [{ request_id }] = await get(`/v1/agents/${agent}/invocations?limit=1`)
      return `/v1/agents/${agent}/invocations/${request_id}`
    }
    /** Tells the same story of each form, and compares what is told with what the agent with a model tells. */
    const compare = async (ending: string, tell: (agent: string) => Promise<unknown>) => {
      const stories = new Map<string, unknown>()
      for (const form of forms) {
        const agent = form + ending
        stories.set(form, sameShape(await tell(agent), agent))
      }
      for (const form of forms) assert.deepEqual(stories.get(form), stories.get('data'), form)
      return stories.get('data')
    }

    for (const [door, request] of Object.entries(DOOR_REQUESTS)) {
      test(`${door}: it answers, and fails if its model fails`, async () => {
        for (const [message, status] of [
          ['ahoy', 'completed'],
          ['fail', 'failed'],
        ] as const) {
          const story = await compare('', async (agent) => {
            const told = await askDoor(service, request(agent, message))
            const receipt = await get(await newest(agent))
            return { told, receipt: status === 'failed' ? withoutSteps(receipt) : receipt }
          })
          assert.equal((story as { receipt: { status: string } }).receipt.status, status)
        }
      })

      test(`${door}: it waits for a person, and continues`, async () => {
        // What a decision means does not depend on the door: it has one of its own.
        for (const decision of door === 'api' ? [APPROVE, REJECT] : [APPROVE]) {
          const made = till.refunds.length
          await compare('', async (agent) => {
            const told = await askDoor(service, request(agent, 'refund'))
            const path = await newest(agent)
            const waiting = await get(path)
            assert.equal(waiting.status, 'waiting')
            const decided = await decide(service, `${path}/approvals/call_1`, key, decision)
            assert.equal(decided.status, 200, decided.text)
            const receipt = await untilStatus(service, path, 'completed')
            return { told, waiting, decided: decided.body, receipt }
          })
          assert.equal(till.refunds.length - made, decision === APPROVE ? forms.length : 0)
        }
      })
    }

    test('it asks a person, and can be answered on the channels that allow it', async () => {
      const ask = (agent: string, door: string) =>
        askDoor(service, (DOOR_REQUESTS[door] ?? assert.fail())(agent, 'ask'))
      await compare('', async (agent) => {
        const told = await ask(agent, 'api')
        const path = await newest(agent)
        const decided = await decide(service, `${path}/approvals/call_1`, key, { decision: 'approve', answer: 'Seven' })
        const receipt = await untilStatus(service, path, 'completed')
        assert.equal(receipt.response, 'Said: Seven')
        return { told, decided: decided.body, receipt }
      })
      await compare('', async (agent) => {
        const streamed = await ask(agent, 'api, streamed')
        const told = await ask(agent, 'a2a')
        const { id: taskId } = (told.told[0] as { result: { task: { id: string } } }).result.task
        const message = { messageId: '2', taskId, role: 'ROLE_USER', parts: [{ text: 'Eight' }] }
        const answered = await askDoor(service, {
          path: `/v1/agents/${agent}/a2a`,
          headers: { 'A2A-Version': '1.0' },
          body: { jsonrpc: '2.0', id: 2, method: 'SendMessage', params: { message } },
        })
        assert.match(JSON.stringify(answered), /Said: Eight/)
        return { streamed, told, answered }
      })
    })

    test('a budget refuses it on every channel, with the same count', async () => {
      await createAll('-poor')
      const budgets: Record<string, string> = {}
      for (const form of forms) {
        const scope = { type: 'agent', id: (await get(`/v1/agents/${form}-poor`)).id }
        for (const limit of [{ tokens: 1_000_000 }, { runs: 1 }]) {
          const reply = await service.call('POST', '/v1/budgets', { body: { name: 'all', scope, limit, per: 'ever' } })
          budgets[form] ??= reply.body.data.id
        }
      }
      await compare('-poor', (agent) =>
        askDoor(service, { path: `/v1/agents/${agent}/invoke`, body: { message: 'ahoy' } }),
      )
      for (const request of Object.values(DOOR_REQUESTS)) {
        const story = await compare('-poor', async (agent) => {
          const told = await askDoor(service, request(agent, 'ahoy'))
          return { told, error: (await get(await newest(agent))).error?.code }
        })
        assert.equal((story as { error: string }).error, 'budget_exceeded')
      }
      await compare('-poor', async (agent) => {
        const { used, reserved } = await get(`/v1/budgets/${budgets[agent.replace('-poor', '')]}`)
        return { used, reserved }
      })
    })

    test('it gets the history, and knows the user', async () => {
      const ask = async (agent: string, message: string, session_id: string) => {
        const body = { message, context: { user_id: 'ada', session_id } }
        const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
        assert.equal(reply.status, 200, reply.text)
        return reply.body.data.response
      }
      const story = await compare('', async (agent) => {
        const told = [
          await ask(agent, 'Which boat is mine?', 'first'),
          await ask(agent, 'My boat is the Aurora', 'first'),
          await ask(agent, 'Which boat is mine?', 'first'),
          await ask(agent, 'Which boat is mine?', 'second'),
        ]
        const { steps } = await get(await newest(agent))
        const memories = await get(`/v1/agents/${agent}/memory?user_id=ada`)
        const words = memories.map(({ content, role, kind }: Record<string, string>) => [content, role, kind])
        return { told, recall: steps[0], memories: words, keys: Object.keys(memories[0]) }
      })
      const { told } = story as { told: string[] }
      assert.deepEqual(told, ['None, captain.', 'Aye, captain.', 'Aurora, captain.', 'Aurora, captain.'])
    })

    test('it times out, and can be cancelled', async () => {
      await createAll('-slow', { limits: { timeout_ms: 1_000 } })
      const story = await compare('-slow', async (agent) => {
        let told: unknown
        // On a busy machine its time may be over before it has come to its model.
        await inOneAttempt(async () => {
          model.reset()
          model.reply({ breaks: 'silence' })
          told = await askDoor(service, { path: `/v1/agents/${agent}/invoke`, body: { message: 'ahoy' } })
          assert.equal(model.requests.length, 1, 'its model is asked in time')
        })
        return { told, receipt: withoutSpending(await get(await newest(agent))) }
      })
      assert.equal((story as { told: { status: number } }).told.status, 504)
      await compare('', async (agent) => {
        model.reply({ breaks: 'silence' })
        const seen = model.nextRequest()
        const asked = askDoor(service, { path: `/v1/agents/${agent}/invoke`, body: { message: 'ahoy' } })
        const { closed } = await seen
        const path = await newest(agent)
        const cancelled = await service.call('POST', `${path}/cancel`)
        const told = await asked
        await closed
        const receipt = withoutSpending(await untilStatus(service, path, 'cancelled'))
        return { cancelled: cancelled.status, told, receipt }
      })
    })

    test('background and scheduled runs have the same events, logs and metrics', async (t) => {
      const inbox = await openInbox(t)
      await createAll('-quiet')
      await compare('-quiet', async (agent) => {
        const arrived = inbox.arrivals.length
        const headers = { Prefer: 'respond-async' }
        const body = { message: 'ahoy', callback: { url: inbox.url } }
        const asked = await service.call('POST', `/v1/agents/${agent}/invoke`, { headers, body })
        const path = `/v1/agents/${agent}/invocations/${asked.body.data.request_id}`
        const receipt = await untilStatus(service, path, 'completed')
        const arrivals = (await inbox.first(arrived + 1)).slice(arrived)
        const schedule = await service.call('POST', `/v1/agents/${agent}/schedules`, {
          body: { message: 'fail', every: '1d' },
        })
        const ticked = await service.call('POST', `/v1/agents/${agent}/schedules/${schedule.body.data.id}/run`)
        const failed = await untilStatus(
          service,
          `/v1/agents/${agent}/invocations/${ticked.body.data.request_id}`,
          'failed',
        )
        const logs = await get(`/v1/agents/${agent}/logs`)
        const ofProvider = logs.filter(({ metadata }: Log) => metadata['provider_message'] === 'no such model')
        // A new minute may have begun between the two runs: what all minutes have together is the same.
        const { buckets } = await get(`/v1/agents/${agent}/performance`)
        const sumOf = (name: 'requests' | 'errors') =>
          buckets.reduce((sum: number, bucket: Record<typeof name, number>) => sum + bucket[name], 0)
        const metrics = { requests: sumOf('requests'), errors: sumOf('errors') }
        assert.deepEqual(metrics, { requests: 2, errors: 1 })
        return {
          receipt,
          failed: withoutSteps(failed),
          events: arrivals.map((arrival) => JSON.parse(arrival.body)),
          logs: { fields: Object.keys(logs[0]), last: logs[0].message, ofProvider: ofProvider.length },
          metrics,
        }
      })
    })
  })
}
