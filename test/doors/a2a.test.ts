import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { loseRun } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { startSpeakingModel } from '../support/outside/speaking-model.ts'
import { until } from '../support/running/until.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const RULES = [
  { match: { equals: 'wait' }, reply: 'too late', delay_ms: 60_000 },
  { match: { equals: 'slowly' }, reply: 'one two three', delay_ms: 300 },
  { match: { equals: 'fail' }, fail: 'The engine is cold' },
  { reply: 'aye' },
]

const textOf = ({ artifacts: [first] }: Pick<Task, 'artifacts'>) =>
  first?.parts.map(({ content }) => content?.value).join('')

const WAITS = 'Waiting for a person to decide'

const LISTED = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }

/** Reads a stream to its end. `hears` is told the text so far, whenever there is more. */
async function gather(stream: AsyncIterable<StreamResponse>, hears?: (text: string) => Promise<void>) {
  const told: { states: (TaskState | undefined)[]; text: string; id: string } = { states: [], text: '', id: '' }
  for await (const { payload } of stream) {
    if (payload?.$case === 'task') told.id = payload.value.id
    if (payload?.$case === 'task' || payload?.$case === 'statusUpdate') told.states.push(payload.value.status?.state)
    if (payload?.$case === 'artifactUpdate') {
      const piece = textOf({ artifacts: payload.value.artifact ? [payload.value.artifact] : [] }) ?? ''
      told.text = payload.value.append ? told.text + piece : piece
      await hears?.(told.text)
    }
  }
  return told
}

onAnyEngine(
  'A2A clients',
  (service) => {
    before(async () => {
      const script = { model: 'builtin/script', script: { rules: RULES } }
      await createAgent(service(), 'pilot', { ...script, description: 'Brings ships into the harbour' })
    })

    test("a message repeated with its Idempotency-Key gets the first one's task, including in a stream", async () => {
      const send = async (method: string, key: string) => {
        const params = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'ahoy' }] } }
        const headers = { 'A2A-Version': '1.0', 'Idempotency-Key': key }
        const body = { jsonrpc: '2.0', id: 1, method, params }
        const { text } = await service().call('POST', '/v1/agents/pilot/a2a', { body, headers })
        return [/"id":"(req_[^"]+)"/.exec(text)?.[1], /"contextId":"([^"]+)"/.exec(text)?.[1], /aye/.test(text)]
      }
      for (const method of ['SendMessage', 'SendStreamingMessage']) {
        const first = await send(method, method)
        assert.deepEqual(await send(method, method), first)
        assert.deepEqual(first, [first[0], first[0], true])
        assert.equal((await service().call('GET', `/v1/agents/pilot/invocations/${first[0]}`)).status, 200)
      }
    })

    test("the card contains the agent's description and URL; without a key, it is 401 for any agent", async () => {
      const client = await connectA2a(service(), 'pilot')
      const card = await client.getAgentCard()
      const { body: pilot } = await service().call('GET', '/v1/agents/pilot')
      assert.deepEqual([card.name, card.description], ['pilot', 'Brings ships into the harbour'])
      assert.equal(card.supportedInterfaces[0]?.url, `${service().url}/v1/agents/${pilot.data.id}/a2a`)
      for (const name of ['pilot', 'nobody']) {
        const reply = await service().call('GET', `/v1/agents/${name}/.well-known/agent-card.json`, { key: null })
        assert.equal(reply.status, 401)
      }
    })

    test('an agent can make its card public, and only the card', async () => {
      const addresses = ['192.0.2.1']
      await createAgent(service(), 'beacon', { security: { publicCard: true } })
      await createAgent(service(), 'walled', {
        security: { publicCard: true, ipWhitelist: { enabled: true, addresses } },
      })
      const stranger = (method: string, path: string) => service().call(method, path, { key: null, body: {} })
      const card = await service().call('GET', '/v1/agents/beacon/.well-known/agent-card.json', { key: null })
      assert.deepEqual([card.status, card.body.name], [200, 'beacon'])
      assert.equal((await stranger('POST', '/v1/agents/beacon/a2a')).status, 401)
      assert.equal((await stranger('POST', '/v1/agents/beacon/invoke')).status, 401)
      const walled = await service().call('GET', '/v1/agents/walled/.well-known/agent-card.json', { key: null })
      assert.equal(walled.status, 401)
      const wrong = await service().call('GET', '/v1/agents/beacon/.well-known/agent-card.json', { key: 'mrg_wrong' })
      assert.equal(wrong.status, 401)
    })

    test("reading a public card does not count toward the callers' rate limit", async () => {
      const rateLimit = { enabled: true, requests: 2, window: '1h' }
      await createAgent(service(), 'busy', { security: { publicCard: true, rateLimit } })
      const path = '/v1/agents/busy/.well-known/agent-card.json'
      for (let asked = 0; asked < 4; asked++)
        assert.equal((await service().call('GET', path, { key: null })).status, 200)
      const reply = await service().call('POST', '/v1/agents/busy/invoke', { body: { message: 'hi' } })
      assert.equal(reply.status, 200, reply.text)
      const stranger = () => service().call('GET', path, { key: null })
      const statuses = await Promise.all(Array.from({ length: 120 }, async () => (await stranger()).status))
      assert.ok(statuses.includes(429), 'nothing limits a stranger')
    })

    test("an invalid request gets a plain error, not the runtime's message", async () => {
      for (const parts of [[null], [5], ['text']]) {
        const message = { messageId: '1', role: 'ROLE_USER', parts }
        for (const method of ['SendMessage', 'SendStreamingMessage']) {
          const { text } = await service().call('POST', '/v1/agents/pilot/a2a', {
            headers: { 'A2A-Version': '1.0' },
            body: { jsonrpc: '2.0', id: 1, method, params: { message } },
          })
          assert.doesNotMatch(text, /Cannot read|undefined|TypeError|-32603/)
          assert.match(text, /-3200\d|-32602/)
        }
      }
    })

    test('400 for a very long id, because each event would repeat it', async () => {
      const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'one two three' }] }
      const ask = (id: string) =>
        service().call('POST', '/v1/agents/pilot/a2a', {
          headers: { 'A2A-Version': '1.0' },
          body: { jsonrpc: '2.0', id, method: 'SendStreamingMessage', params: { message } },
        })
      assert.equal((await ask('x'.repeat(256))).status, 200)
      assert.equal((await ask('x'.repeat(257))).status, 400)
    })

    test('a message starts an invocation, its receipt is the task, and its context is the session', async () => {
      const client = await connectA2a(service(), 'pilot')
      const task = (await client.sendMessage(saying('ahoy', { contextId: 'trip' }))) as Task
      assert.deepEqual(
        [task.status?.state, textOf(task), task.contextId],
        [TaskState.TASK_STATE_COMPLETED, 'aye', 'trip'],
      )
      const { body } = await service().call('GET', `/v1/agents/pilot/invocations/${task.id}`)
      assert.deepEqual(
        [body.data.message, body.data.context, body.data.response],
        ['ahoy', { session_id: 'trip' }, 'aye'],
      )

      const got = await client.getTask({ tenant: '', id: task.id })
      assert.deepEqual([got.status?.state, textOf(got)], [TaskState.TASK_STATE_COMPLETED, 'aye'])
      assert.equal(got.history[0]?.parts[0]?.content?.value, 'ahoy')
      const listed = await client.listTasks({ ...LISTED, contextId: 'trip' })
      assert.deepEqual([listed.tasks.map(({ id }) => id), listed.totalSize], [[task.id], 1])
      const alone = (await client.sendMessage(saying('ahoy'))) as Task
      assert.equal(alone.contextId, alone.id)
    })

    test('a stream contains the task, the answer in chunks, and the end', async () => {
      const client = await connectA2a(service(), 'pilot')
      const { states, text } = await gather(client.sendMessageStream(saying('slowly')))
      assert.deepEqual(states, [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_COMPLETED])
      assert.equal(text, 'one two three')
    })

    test('a failed run is a failed task', async () => {
      const client = await connectA2a(service(), 'pilot')
      const task = (await client.sendMessage(saying('fail'))) as Task
      assert.equal(task.status?.state, TaskState.TASK_STATE_FAILED)
      assert.match(String(task.status?.message?.parts[0]?.content?.value), /The engine is cold/)
      const { states } = await gather(client.sendMessageStream(saying('fail')))
      assert.deepEqual(states, [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_FAILED])
    })

    test('a background task can be listed, followed and cancelled', async () => {
      const client = await connectA2a(service(), 'pilot')
      const task = (await client.sendMessage(saying('wait', { returnImmediately: true }))) as Task
      assert.equal(task.status?.state, TaskState.TASK_STATE_SUBMITTED)
      await until('it runs', async () => {
        const { tasks } = await client.listTasks({ ...LISTED, status: TaskState.TASK_STATE_WORKING })
        return tasks.some(({ id }) => id === task.id)
      })
      const following = client.resubscribeTask({ tenant: '', id: task.id })
      const { value: first } = await following.next()
      assert.equal(first?.payload?.$case, 'task')
      const cancelled = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined })
      assert.equal(cancelled.status?.state, TaskState.TASK_STATE_CANCELED)
      const { states } = await gather(following)
      assert.equal(states.at(-1), TaskState.TASK_STATE_CANCELED)
      const done = (await client.sendMessage(saying('ahoy'))) as Task
      await assert.rejects(client.cancelTask({ tenant: '', id: done.id, metadata: undefined }), {
        name: /NotCancelable/,
      })
      await assert.rejects(gather(client.resubscribeTask({ tenant: '', id: done.id })), {
        name: /UnsupportedOperation/,
      })
    })

    test('a task that waits for a person shows that to every client, and followers get the rest', async () => {
      const rule = { call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'Berth {{result}}' }
      const tools = [{ type: 'ask_person' }]
      await createAgent(service(), 'harbour', { model: 'builtin/script', script: { rules: [rule] }, tools })
      const client = await connectA2a(service(), 'harbour')
      const task = (await client.sendMessage(saying('ahoy'))) as Task
      const { TASK_STATE_INPUT_REQUIRED } = TaskState
      const listed = await client.listTasks({ ...LISTED, status: TASK_STATE_INPUT_REQUIRED })
      for (const { status } of [task, await client.getTask({ tenant: '', id: task.id })]) {
        const [words] = status?.message?.parts ?? []
        assert.deepEqual([status?.state, words?.content?.value], [TASK_STATE_INPUT_REQUIRED, 'Which berth?'])
      }
      assert.equal(listed.tasks[0]?.status?.message?.parts[0]?.content?.value, WAITS)
      assert.equal(listed.tasks.length, 1)
      const { states: streamed } = await gather(client.sendMessageStream(saying('ahoy again')))
      assert.deepEqual(streamed, [TaskState.TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED])
      const following = client.resubscribeTask({ tenant: '', id: task.id })
      await following.next()
      const secret = await approver(service())
      const decided = await service().call('POST', `/v1/agents/harbour/invocations/${task.id}/approvals/call_1`, {
        key: secret,
        body: { decision: 'approve', answer: 'seven' },
      })
      assert.equal(decided.status, 200, decided.text)
      const { states, text } = await gather(following)
      assert.deepEqual([states.at(-1), text], [TaskState.TASK_STATE_COMPLETED, 'Berth seven'])
    })

    test('a task continues after its client disconnects, and can be followed again', async (t) => {
      const held = await holdRuns(t, 'one two three')
      await createAgent(service(), 'held', held.agent)
      const client = await connectA2a(service(), 'held')
      let id = ''
      for await (const { payload } of client.sendMessageStream(saying('ahoy'))) {
        if (payload?.$case === 'task') id = payload.value.id
        break
      }
      const following = client.resubscribeTask({ tenant: '', id })
      await following.next()
      held.release()
      const { text } = await gather(following)
      assert.equal(text, 'one two three')
    })

    test('a run that is attempted again replaces the text of the first attempt', async (t) => {
      const model = await startSpeakingModel()
      t.after(model.close)
      const provider = await service().call('PUT', '/v1/providers/spoken', { body: { base_url: model.url } })
      assert.equal(provider.status, 200, provider.text)
      await createAgent(service(), 'lookout', { model: 'spoken/tiny' })
      const client = await connectA2a(service(), 'lookout')
      const { id } = (await client.sendMessage(saying('ahoy', { returnImmediately: true }))) as Task
      const dead = await model.next()
      dead.say('Fog, ')
      const { text, states } = await gather(client.resubscribeTask({ tenant: '', id }), async (said) => {
        if (said !== 'Fog, ') return
        await loseRun(service(), id)
        const again = await model.next()
        again.say('Clear ')
        again.say('sky')
        again.finish()
      })
      assert.deepEqual([text, states.at(-1)], ['Clear sky', TaskState.TASK_STATE_COMPLETED])
    })

    test("unknown tasks and invalid requests get the protocol's errors", async () => {
      const client = await connectA2a(service(), 'pilot')
      await assert.rejects(client.getTask({ tenant: '', id: 'req_none' }), { name: /TaskNotFound/ })
      await assert.rejects(client.sendMessage(saying('more', { taskId: 'req_none' })), { name: /TaskNotFound/ })
      await assert.rejects(client.sendMessage(saying('')), { name: /RequestMalformed/, message: /message/ })
      const old = await service().call('POST', '/v1/agents/pilot/a2a', {
        body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } },
      })
      assert.equal(old.body.error.code, -32_009)
    })

    test('a caller sees only the tasks that it started', async () => {
      const [one, other] = await Promise.all([1, 2].map(() => createKey(service(), { role: 'caller' })))
      const mine = await connectA2a(service(), 'pilot', { key: one?.secret ?? '' })
      const theirs = await connectA2a(service(), 'pilot', { key: other?.secret ?? '' })
      const task = (await mine.sendMessage(saying('ahoy'))) as Task
      assert.equal((await mine.getTask({ tenant: '', id: task.id })).id, task.id)
      await assert.rejects(theirs.getTask({ tenant: '', id: task.id }), { name: /TaskNotFound/ })
      assert.deepEqual((await theirs.listTasks(LISTED)).tasks, [])
    })
  },
  LOCAL_TOOLS,
)

onAnyEngine(
  'the card of a service with a public URL',
  (service) => {
    test('contains that URL, whatever host the request was sent to', async () => {
      const path = '/v1/agents/hello/.well-known/agent-card.json'
      const { body: card } = await service().call('GET', path, { headers: { Host: 'elsewhere.example' } })
      const { body: hello } = await service().call('GET', '/v1/agents/hello')
      const { url } = card.supportedInterfaces[0]
      assert.equal(url, `https://agents.example/moorage/v1/agents/${hello.data.id}/a2a`)
    })
  },
  { MOORAGE_SERVER__PUBLIC_URL: 'https://agents.example/moorage/' },
)
