import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver } from '../support/slices/approvals.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const { TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_WORKING } = TaskState

const ASKING = {
  model: 'builtin/script',
  tools: [{ type: 'ask_person' }],
  script: {
    rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'Berth {{result}}' }],
  },
}

const told = ({ status, artifacts }: Task) => ({
  state: status?.state,
  words: status?.message?.parts[0]?.content?.value,
  text: artifacts[0]?.parts[0]?.content?.value,
})
const WAITING = { state: TASK_STATE_INPUT_REQUIRED, words: 'Which berth?', text: undefined }
const DONE = { state: TASK_STATE_COMPLETED, words: undefined, text: 'Berth seven' }

async function statesOf(stream: AsyncIterable<StreamResponse>) {
  const states: (TaskState | undefined)[] = []
  for await (const { payload } of stream) {
    if (payload?.$case === 'task' || payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
  }
  return states
}

onAnyEngine(
  'an A2A task that asks a question',
  (service) => {
    before(async () => {
      await createAgent(service(), 'harbour', { ...ASKING, approvals: { self: true } })
      await createAgent(service(), 'strict', ASKING)
    })

    test('reports the question, and accepts a message as the answer', async () => {
      const client = await connectA2a(service(), 'harbour')
      const task = (await client.sendMessage(saying('ahoy'))) as Task
      assert.deepEqual(told(task), WAITING)
      assert.deepEqual(told(await client.getTask({ tenant: '', id: task.id })), WAITING)
      const answered = (await client.sendMessage(saying('seven', { taskId: task.id }))) as Task
      assert.deepEqual([answered.id, answered.contextId, told(answered)], [task.id, task.contextId, DONE])
      const heard = ({ history }: Task) => history.map(({ parts: [part] }) => part?.content?.value)
      assert.deepEqual(heard(answered), ['ahoy', 'seven'])
      for (const [historyLength, kept] of [
        [0, []],
        [1, ['seven']],
        [9, ['ahoy', 'seven']],
      ] as const) {
        assert.deepEqual(heard(await client.getTask({ tenant: '', id: task.id, historyLength })), kept)
      }
      await assert.rejects(client.sendMessage(saying('eight', { taskId: task.id })), {
        name: /UnsupportedOperation/,
        message: /isn't waiting for an answer/,
      })
    })

    test('fails with the reason if its run fails after the answer', async () => {
      const [rule] = ASKING.script.rules
      const script = { rules: [{ call: rule?.call, fail: 'The quay is flooded' }] }
      await createAgent(service(), 'flooded', { ...ASKING, script, approvals: { self: true } })
      const client = await connectA2a(service(), 'flooded')
      const { id } = (await client.sendMessage(saying('ahoy'))) as Task
      const failed = (await client.sendMessage(saying('seven', { taskId: id }))) as Task
      assert.deepEqual([failed.id, failed.status?.state], [id, TASK_STATE_FAILED])
      assert.match(String(told(failed).words), /The quay is flooded/)
    })

    test('reports the rest in a stream, or to a later request', async () => {
      const client = await connectA2a(service(), 'harbour')
      const streamed = await statesOf(client.sendMessageStream(saying('ahoy', { contextId: 'quay' })))
      assert.deepEqual(streamed, [TASK_STATE_WORKING, TASK_STATE_INPUT_REQUIRED])
      const list = { tenant: '', contextId: 'quay', status: 0, pageToken: '', statusTimestampAfter: undefined }
      const { tasks } = await client.listTasks(list)
      const answer = saying('seven', { taskId: tasks[0]?.id ?? '', contextId: 'quay' })
      const states = await statesOf(client.sendMessageStream(answer))
      assert.equal(states.at(-1), TASK_STATE_COMPLETED)

      const other = (await client.sendMessage(saying('ahoy'))) as Task
      const soon = saying('seven', { taskId: other.id, returnImmediately: true })
      const { id } = (await client.sendMessage(soon)) as Task
      await statesOf(client.resubscribeTask({ tenant: '', id })).catch(() => {})
      assert.deepEqual(told(await client.getTask({ tenant: '', id })), DONE)
    })

    test('sends the same events with the same times to every follower', async () => {
      const client = await connectA2a(service(), 'harbour')
      const { id } = (await client.sendMessage(saying('ahoy'))) as Task
      const follow = async () => {
        const events: StreamResponse[] = []
        for await (const event of client.resubscribeTask({ tenant: '', id })) if (events.push(event) === 2) break
        return events
      }
      const [one, other] = await Promise.all([follow(), follow()])
      assert.deepEqual(one, other)
      assert.equal(one?.length, 2)
    })

    test('accepts a configuration and an Idempotency-Key with the answer; a refused answer sets no configuration', async () => {
      const { secret: caller } = await createKey(service(), { permissions: ['invoke', 'approve'] })
      const send = async (agent: string, message: object, more: object = {}) => {
        const params = { message: { messageId: '1', role: 'ROLE_USER', ...message }, ...more }
        const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
        const headers = { 'A2A-Version': '1.0', ...('taskId' in message && { 'Idempotency-Key': `answer-${agent}` }) }
        const { body: reply } = await service().call('POST', `/v1/agents/${agent}/a2a`, { body, headers, key: caller })
        return reply
      }
      for (const [agent, callbacks] of [
        ['harbour', 1],
        ['strict', 0],
      ] as const) {
        const { id: taskId } = (await send(agent, { parts: [{ text: 'ahoy' }] })).result.task
        const taskPushNotificationConfig = { url: 'https://example.com/told' }
        const configuration = { returnImmediately: true, taskPushNotificationConfig }
        const reply = await send(agent, { taskId, parts: [{ text: 'seven' }] }, { configuration })
        assert.equal(reply.error === undefined, agent === 'harbour', JSON.stringify(reply))
        const listed = await service().call('GET', `/v1/agents/${agent}/invocations/${taskId}/callbacks`, {
          key: caller,
        })
        assert.equal(listed.body.data.length, callbacks, listed.text)
        if (agent === 'strict') continue
        // The client might have lost the first reply.
        const again = await send(agent, { taskId, parts: [{ text: 'seven' }] }, { configuration })
        assert.equal(again.result?.task?.id, taskId, JSON.stringify(again))
        const other = await send(agent, { taskId, parts: [{ text: 'eight' }] }, { configuration })
        assert.match(other.error?.message, /isn't waiting for an answer/)
      }
    })

    test('refuses an answer in another context', async () => {
      const client = await connectA2a(service(), 'harbour')
      const task = (await client.sendMessage(saying('ahoy'))) as Task
      const elsewhere = saying('seven', { taskId: task.id, contextId: 'elsewhere' })
      await assert.rejects(client.sendMessage(elsewhere), { name: /RequestMalformed/, message: /contextId/ })
    })

    test('accepts answers only from a client that can decide on approvals', async () => {
      const began = await connectA2a(service(), 'strict')
      const task = (await began.sendMessage(saying('ahoy'))) as Task
      const answer = saying('seven', { taskId: task.id })
      await assert.rejects(began.sendMessage(answer), /The key that started a run can't decide on its approvals/)
      const { secret: caller } = await createKey(service(), { role: 'caller' })
      const stranger = await connectA2a(service(), 'strict', { key: caller })
      await assert.rejects(stranger.sendMessage(answer), { name: /TaskNotFound/ })
      const { secret: reader } = await createKey(service(), { permissions: ['read', 'invoke'] })
      const clerk = await connectA2a(service(), 'strict', { key: reader })
      await assert.rejects(clerk.sendMessage(answer), /doesn't have the permission "approve"/)
      const secret = await approver(service(), { role: undefined, permissions: ['read', 'invoke', 'approve'] })
      const decider = await connectA2a(service(), 'strict', { key: secret })
      assert.deepEqual(told((await decider.sendMessage(answer)) as Task), DONE)
    })

    test('does not take a message as approval of a tool call', async (t) => {
      const shop = await startLocalServer((_request, response) => response.end('paid'))
      t.after(() => shop.close())
      const tools = [{ type: 'http', name: 'pay', url: shop.url, approval: 'always' }]
      const script = { rules: [{ call: { tool: 'pay', arguments: {} }, reply: '{{result}}' }] }
      await createAgent(service(), 'cashier', { model: 'builtin/script', tools, script, approvals: { self: true } })
      const client = await connectA2a(service(), 'cashier')
      const task = (await client.sendMessage(saying('pay'))) as Task
      assert.deepEqual(told(task), { ...WAITING, words: 'Waiting for a person to decide' })
      await assert.rejects(client.sendMessage(saying('yes', { taskId: task.id })), {
        name: /UnsupportedOperation/,
        message: /waiting for a person to approve/,
      })
    })
  },
  LOCAL_TOOLS,
)
