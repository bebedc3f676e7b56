import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { allEvents, readEvents } from '../support/clients/sse.ts'
import { wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { inTime } from '../support/running/attempts.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine, withService } from '../support/service/service.ts'
import {
  approver,
  decide,
  refundingAgent,
  startTill,
  startWaiting,
  type Till,
  untilStatus,
} from '../support/slices/approvals.ts'

const APPROVE = { decision: 'approve' }

onAnyEngine(
  'approvals',
  (service) => {
    let till: Till
    let key: string
    before(async () => {
      till = await startTill()
      key = await approver(service())
    })
    after(() => till.close())
    const invoke = (agent: string, message: string, headers: Record<string, string> = {}) =>
      service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message }, headers })

    describe('a run that needs an approval', () => {
      test('a synchronous caller gets 202 with the call to approve; the call is made once, when it is approved', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const reply = await invoke(agent, 'sync-1')
        assert.equal(reply.status, 202, reply.text)
        const { request_id, status, approvals } = reply.body.data
        const path = `/v1/agents/${agent}/invocations/${request_id}`
        assert.equal(reply.headers.get('location'), path)
        assert.equal(reply.headers.get('preference-applied'), null)
        assert.equal(status, 'waiting')
        const [{ created_at, expires_at, ...asked }] = approvals
        assert.ok(Date.parse(created_at) <= Date.now())
        const days = (Date.parse(expires_at) - Date.now()) / 86_400_000
        assert.ok(days > 6.9 && days <= 7, expires_at)
        assert.deepEqual(asked, {
          call_id: 'call_1',
          kind: 'tool',
          tool: 'refund',
          arguments: { order: 'sync-1', amount: 120 },
        })
        const { body: waiting } = await service().call('GET', path)
        assert.equal(waiting.data.status, 'waiting')
        assert.equal(waiting.data.background, true)
        assert.deepEqual(till.of('sync-1'), [])

        const decided = await decide(service(), `${path}/approvals/call_1`, key, APPROVE)
        assert.equal(decided.status, 200, decided.text)
        assert.equal(decided.body.data.status, 'approved')
        const receipt = await untilStatus(service(), path, 'completed')
        assert.equal(receipt.response, 'Said: refunded 120')
        assert.deepEqual(
          receipt.steps.map(({ kind }: { kind: string }) => kind),
          ['model', 'approval', 'tool', 'model'],
        )
        assert.deepEqual(till.of('sync-1'), [{ order: 'sync-1', amount: 120, key: `${request_id}-2` }])
        assert.ok(receipt.duration_ms < 60_000)
      })

      test('the stream ends with the event waiting, and the client can follow the run from there to its end', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const headers = { Authorization: `Bearer ${service().admin}`, Accept: 'text/event-stream' }
        const response = await fetch(`${service().url}/v1/agents/${agent}/invoke`, {
          method: 'POST',
          headers: { ...headers, 'Content-Type': 'application/json' },
          body: JSON.stringify({ message: 'stream-1' }),
        })
        const events = await allEvents(response)
        assert.deepEqual(
          events.map(({ event }) => event),
          ['start', 'tool_call', 'waiting'],
        )
        const last = events.at(-1)
        const { request_id, status, approvals } = Object(last?.data)
        assert.equal(status, 'waiting')
        assert.equal(approvals[0].call_id, 'call_1')

        const path = `/v1/agents/${agent}/invocations/${request_id}`
        /** Resolves when the client has seen that the run waits. Decisions made before that need not be waited for. */
        const follow = async (id?: string) => {
          const followed = await fetch(`${service().url}${path}/stream`, {
            headers: { ...headers, ...(id && { 'Last-Event-ID': id }) },
          })
          const waits = Promise.withResolvers<void>()
          const readNames = async () => {
            const names: string[] = []
            for await (const { event } of readEvents(followed)) {
              names.push(event)
              if (event === 'waiting') waits.resolve()
            }
            return names
          }
          const names = readNames()
          await Promise.race([waits.promise, names])
          return { names }
        }
        const [again, anew] = await Promise.all([follow(last?.id), follow()])
        await decide(service(), `${path}/approvals/call_1`, key, APPROVE)
        const rest = ['waiting', 'tool_result', 'delta', 'delta', 'delta', 'done']
        assert.deepEqual(await again.names, rest)
        assert.deepEqual(await anew.names, ['start', 'tool_call', ...rest])
      })

      test('repeating the request with its Idempotency-Key returns the same 202', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const first = await invoke(agent, 'keyed-1', { 'Idempotency-Key': 'keyed-1' })
        assert.equal(first.status, 202, first.text)
        const again = await invoke(agent, 'keyed-1', { 'Idempotency-Key': 'keyed-1' })
        assert.equal(again.status, 202, again.text)
        assert.equal(again.text, first.text)
        assert.equal(again.headers.get('idempotent-replayed'), 'true')
        const path = `/v1/agents/${agent}/invocations/${first.body.data.request_id}`
        await decide(service(), `${path}/approvals/call_1`, key, APPROVE)
        await untilStatus(service(), path, 'completed')
        assert.equal(till.of('keyed-1').length, 1)
      })

      test('needs no approval if the arguments are invalid or no condition matches', async () => {
        const small = { approval: { when: [{ argument: 'amount', greater_than: 100 }] } }
        const agent = await newAgent(service(), refundingAgent(till, small, 99))
        assert.equal((await invoke(agent, 'small-1')).body.data.response, 'Said: refunded 99')
        const large = await newAgent(service(), refundingAgent(till, small, 101))
        assert.equal((await invoke(large, 'large-1')).status, 202)
        const schema = { input_schema: { type: 'object', properties: { amount: { type: 'string' } } } }
        const wrong = await newAgent(service(), refundingAgent(till, { approval: 'always', ...schema }))
        assert.match((await invoke(wrong, 'wrong-1')).body.data.response, /^Said: Invalid arguments/)
        assert.deepEqual([till.of('large-1').length, till.of('wrong-1').length], [0, 0])
      })
    })

    describe('POST …/approvals/{call_id}', () => {
      test('the tool gets the changed arguments, and the receipt shows them', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { path, approval, request_id } = await startWaiting(service(), agent, 'changed-1')
        const bad = await decide(service(), approval, key, {
          ...APPROVE,
          arguments: { order: 'changed-1', amount: 'a' },
        })
        assert.equal(bad.status, 400, bad.text)
        assert.equal(bad.body.error.details[0].field, 'arguments')
        assert.match(bad.body.error.details[0].error, /^does not match the input_schema of refund: arguments\.amount/)
        const changed = { order: 'changed-1', amount: 60 }
        const reply = await decide(service(), approval, key, { ...APPROVE, arguments: changed })
        assert.deepEqual(reply.body.data.changed_arguments, changed)
        assert.deepEqual(reply.body.data.arguments, { order: 'changed-1', amount: 120 })
        const receipt = await untilStatus(service(), path, 'completed')
        assert.deepEqual(till.of('changed-1'), [{ ...changed, key: `${request_id}-2` }])
        assert.deepEqual(receipt.steps[1].arguments, changed)
        assert.deepEqual(receipt.steps[2].arguments, changed)
      })

      test('the model gets a rejection with its note, and the tool is not called', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { path, approval } = await startWaiting(service(), agent, 'rejected-1')
        const reply = await decide(service(), approval, key, { decision: 'reject', note: 'Ask me tomorrow' })
        assert.equal(reply.status, 200, reply.text)
        const { response } = await untilStatus(service(), path, 'completed')
        assert.equal(response, 'Said: A person rejected this call: Ask me tomorrow')
        assert.deepEqual(till.of('rejected-1'), [])
      })

      test('of two simultaneous decisions one succeeds, and the other is 409 with the decision', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { path, approval } = await startWaiting(service(), agent, 'race-1')
        const other = await approver(service())
        const replies = await Promise.all([
          decide(service(), approval, key, APPROVE),
          decide(service(), approval, other, { decision: 'reject' }),
        ])
        assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409])
        const [won, lost] = replies.toSorted((a, b) => a.status - b.status)
        const { status, decided_by_name } = won?.body.data ?? {}
        assert.match(lost?.body.error.message, new RegExp(`${status} by ${decided_by_name}`))
        await untilStatus(service(), path, 'completed')
        assert.equal(till.of('race-1').length, status === 'approved' ? 1 : 0)
      })

      test('400 for an answer without a question, 404 for another call, 409 once the run has ended', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { path, approval } = await startWaiting(service(), agent, 'mistakes-1')
        const answer = await decide(service(), approval, key, { ...APPROVE, answer: 'yes' })
        assert.deepEqual(fieldsOf(answer.body), ['answer'])
        assert.equal((await decide(service(), `${path}/approvals/call_2`, key, APPROVE)).status, 404)
        const cancelled = await service().call('POST', `${path}/cancel`)
        assert.equal(cancelled.body.data.status, 'cancelled')
        const late = await decide(service(), approval, key, APPROVE)
        assert.equal(late.status, 409, late.text)
        assert.equal(late.body.error.code, 'conflict')
        assert.deepEqual(till.of('mistakes-1'), [])
      })

      test('a decision is in the audit log', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { approval } = await startWaiting(service(), agent, 'audited-1')
        const { id } = (await decide(service(), approval, key, { decision: 'reject', note: 'no' })).body.data
        const { body } = await service().call('GET', `/v1/audit-log?agent_id=${agent}&action=decideApproval`)
        assert.equal(body.data.length, 1)
        const { target, fields, outcome } = body.data[0]
        assert.deepEqual([target, fields, outcome], [id, ['decision', 'note'], 'success'])
      })
    })

    describe('ask_person', () => {
      const asking = {
        model: 'builtin/script',
        tools: [{ type: 'ask_person' }],
        script: { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which {{message}}?' } } }] },
      }

      test("the agent asks a question, and the tool's result is the answer", async () => {
        const agent = await newAgent(service(), asking)
        const { path } = await startWaiting(service(), agent, 'colour')
        const approval = `${path}/approvals/call_1`
        const { body } = await service().call('GET', approval)
        assert.equal(body.data.kind, 'question')
        assert.deepEqual(body.data.arguments, { question: 'Which colour?' })
        const missing = await decide(service(), approval, key, APPROVE)
        assert.deepEqual(fieldsOf(missing.body), ['answer'])
        const decided = await decide(service(), approval, key, { ...APPROVE, answer: 'Blue' })
        assert.equal(decided.body.data.answer, 'Blue')
        assert.equal((await untilStatus(service(), path, 'completed')).response, 'Blue')
      })

      test('a person can reject the question instead of answering it', async () => {
        const agent = await newAgent(service(), asking)
        const { path } = await startWaiting(service(), agent, 'size')
        await decide(service(), `${path}/approvals/call_1`, key, { decision: 'reject' })
        assert.equal((await untilStatus(service(), path, 'completed')).response, 'The person did not answer')
      })
    })

    describe('a run waiting for approval', () => {
      test('is rejected as expired if no one decides in time', async () => {
        const soon = { approval: { expires_after_seconds: 3600 } }
        const agent = await newAgent(service(), refundingAgent(till, soon))
        const { path, approval } = await startWaiting(service(), agent, 'expired-1')
        service().advance(3_601_000)
        try {
          const late = await decide(service(), approval, key, APPROVE)
          assert.equal(late.status, 409, late.text)
          wakeJobs(service())
          const { response } = await untilStatus(service(), path, 'completed')
          assert.equal(response, 'Said: No person decided in time, so it was not called')
          const { body } = await service().call('GET', approval)
          assert.deepEqual([body.data.status, body.data.decided_by], ['expired', null])
          assert.deepEqual(till.of('expired-1'), [])
        } finally {
          service().advance(-3_601_000)
        }
      })

      test('is cancelled when its agent is paused, and can no longer be decided', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { path, approval } = await startWaiting(service(), agent, 'paused-1')
        await service().call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
        await untilStatus(service(), path, 'cancelled')
        assert.equal((await service().call('GET', approval)).body.data.status, 'cancelled')
        assert.equal((await decide(service(), approval, key, APPROVE)).status, 409)
        assert.deepEqual(till.of('paused-1'), [])
      })

      test('is deleted with its agent', async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const { approval, request_id } = await startWaiting(service(), agent, 'deleted-1')
        await service().call('DELETE', `/v1/agents/${agent}`)
        assert.equal((await decide(service(), approval, key, APPROVE)).status, 404)
        const { body } = await service().call('GET', `/v1/approvals?request_id=${request_id}`)
        assert.equal(body.pagination.total, 0)
      })

      test('occupies no slot: an agent with one slot can run others at the same time', async () => {
        const agent = await newAgent(service(), { ...refundingAgent(till), limits: { max_concurrency: 1 } })
        const waiting = [
          await startWaiting(service(), agent, 'place-1'),
          await startWaiting(service(), agent, 'place-2'),
        ]
        for (const { approval } of waiting) await decide(service(), approval, key, APPROVE)
        for (const { path } of waiting) await untilStatus(service(), path, 'completed')
        assert.equal(till.of('place-1').length + till.of('place-2').length, 2)
      })
    })
  },
  LOCAL_TOOLS,
)

// Every ten seconds, a node looks for forgotten runs. Runs that have just started to wait are not among them.
test('a run whose approval expires continues within moments', () =>
  inTime(5_000, async () => {
    let took = 0
    await withService('sqlite', async (service) => {
      const agent = await newAgent(service, {
        model: 'builtin/script',
        tools: [{ type: 'ask_person' }],
        script: { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'Any.' }] },
        approvals: { expires_after_seconds: 3600 },
      })
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'ahoy' } })
      assert.equal(reply.status, 202, reply.text)
      service.advance(3_601_000)
      const since = performance.now()
      await untilStatus(service, `/v1/agents/${agent}/invocations/${reply.body.data.request_id}`, 'completed')
      took = performance.now() - since
    })
    return took
  }))
