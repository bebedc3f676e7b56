import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { enrol } from '../support/clients/mfa.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { approver, decide, refundingAgent, startTill, type Till, untilStatus } from '../support/slices/approvals.ts'

type Request = { path: string; body: object; headers?: Record<string, string> }

const a2a = (method: string) => (agent: string, text: string) => ({
  path: `/v1/agents/${agent}/a2a`,
  body: {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text }] } },
  },
  headers: { 'A2A-Version': '1.0' },
})

/** The same message through every channel that takes an Idempotency-Key. */
const DOORS: Record<string, (agent: string, message: string) => Request> = {
  api: (agent, message) => ({ path: `/v1/agents/${agent}/invoke`, body: { message } }),
  'api, streamed': (agent, message) => ({
    path: `/v1/agents/${agent}/invoke`,
    body: { message },
    headers: { Accept: 'text/event-stream' },
  }),
  'chat completion': (model, content) => ({
    path: '/v1/chat/completions',
    body: { model, messages: [{ role: 'user', content }] },
  }),
  'chat completion, streamed': (model, content) => ({
    path: '/v1/chat/completions',
    body: { model, stream: true, messages: [{ role: 'user', content }] },
  }),
  response: (model, input) => ({ path: '/v1/responses', body: { model, input } }),
  'response, streamed': (model, input) => ({ path: '/v1/responses', body: { model, input, stream: true } }),
  mcp: (agent, message) => ({
    path: `/v1/agents/${agent}/mcp`,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: agent, arguments: { message } } },
    headers: { Accept: 'application/json, text/event-stream' },
  }),
  a2a: a2a('SendMessage'),
  'a2a, streamed': a2a('SendStreamingMessage'),
  'ag-ui': (agent, content) => ({
    path: `/v1/agents/${agent}/ag-ui`,
    body: { threadId: 't1', runId: '1', messages: [{ id: '1', role: 'user', content }] },
  }),
}

onBothEngines(
  'a request whose run waits for a person, repeated with its Idempotency-Key',
  (service) => {
    let till: Till
    let key: string
    before(async () => {
      till = await startTill()
      key = await approver(service())
    })
    after(() => till.close())

    const start = async (door: string, order = door.replaceAll(/\W+/g, '-')) => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { name } = (await service().call('GET', `/v1/agents/${agent}`)).body.data
      const { path, body, headers } = (DOORS[door] as (typeof DOORS)[string])(name, order)
      const ask = (more: Record<string, string> = {}) =>
        service().call('POST', path, { body, headers: { ...headers, 'Idempotency-Key': order, ...more } })
      const first = await ask()
      const runs = async () => (await service().call('GET', `/v1/agents/${agent}/invocations`)).body.data
      const run = `/v1/agents/${agent}/invocations/${(await runs())[0]?.request_id}`
      return { order, ask, first, run, runs }
    }

    describe('gets the state of the run', () => {
      for (const door of Object.keys(DOORS)) {
        test(door, async () => {
          const { order, ask, first, run, runs } = await start(door)
          for (const { text } of [first, await ask()]) assert.doesNotMatch(text, /Said:/)
          assert.equal((await service().call('GET', run)).body.data.status, 'waiting')
          await decide(service(), `${run}/approvals/call_1`, key, { decision: 'approve' })
          await untilStatus(service(), run, 'completed')
          for (let i = 0; i < 2; i++) {
            const { status, text } = await ask()
            assert.equal(status, 200, text)
            // A stream can divide the words.
            const said = [...text.matchAll(/"(?:delta|text|content|response)":"((?:[^"\\]|\\.)*)"/g)].map(
              ([, word]) => word,
            )
            assert.ok(said.join('').includes('refunded'), text)
          }
          assert.deepEqual([(await runs()).length, till.of(order).length], [1, 1])
        })
      }

      test('an error, if the run was cancelled; it is not started again', async () => {
        const { ask, first, run, runs } = await start('api', 'cancelled')
        assert.equal(first.status, 202, first.text)
        await service().call('POST', `${run}/cancel`, { body: {} })
        for (const headers of [{}, {}, { Prefer: 'respond-async' }]) {
          const { status, body } = await ask(headers)
          assert.deepEqual([status, body.error.code], [409, 'conflict'])
        }
        assert.equal((await runs()).length, 1)
      })

      test('also with its spent one-time code', async () => {
        const security = { mfa: { enabled: true, requiredFor: ['invoke'] } }
        const { body } = await service().call('POST', '/v1/keys', { body: { name: 'test', role: 'admin' } })
        const app = await enrol(service(), body.data.id)
        const agent = await newAgent(service(), { ...refundingAgent(till), security })
        service().advance(600_000)
        const headers = { 'X-Service-OTP': app.code(), 'Idempotency-Key': 'code' }
        const ask = () =>
          service().call('POST', `/v1/agents/${agent}/invoke`, {
            key: body.data.secret,
            body: { message: 'code' },
            headers,
          })
        const replies = [await ask(), await ask()]
        assert.deepEqual(
          replies.map(({ status }) => status),
          [202, 202],
        )
      })

      test('404, once the run is erased', async () => {
        const { ask, run, runs } = await start('api', 'erased')
        await decide(service(), `${run}/approvals/call_1`, key, { decision: 'reject' })
        await untilStatus(service(), run, 'completed')
        assert.equal((await ask()).status, 200)
        assert.equal((await service().call('DELETE', run)).status, 200)
        for (let i = 0; i < 2; i++) assert.equal((await ask()).status, 404)
        assert.equal((await runs()).length, 1)
      })
    })
  },
  LOCAL_TOOLS,
)
