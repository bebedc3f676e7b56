import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskState } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { until } from '../support/running/until.ts'
import { onBothEngines } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const ASYNC = { Prefer: 'respond-async' }
const LISTED = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
const { TASK_STATE_COMPLETED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_WORKING } = TaskState

onBothEngines('ListTasks', (service) => {
  const begin = async (agent: string, body: object) => {
    const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body, headers: ASYNC })
    assert.equal(reply.status, 202, reply.text)
    const { request_id } = reply.body.data
    await until('the run to wait', async () => {
      const { body: receipt } = await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      return receipt.data.status === 'waiting'
    })
    return request_id as string
  }
  /** The listed tasks of an agent with a state, the states that they show, and their number. */
  const listedOf = async (agent: string, status: TaskState) => {
    const client = await connectA2a(service(), agent)
    const { tasks, totalSize } = await client.listTasks({ ...LISTED, status, pageSize: 1 })
    const shown = await Promise.all(tasks.map(({ id }) => client.getTask({ tenant: '', id })))
    return { ids: tasks.map(({ id }) => id), shown: [...tasks, ...shown].map((task) => task.status?.state), totalSize }
  }

  test('the status filter finds tasks by the state they show: one that waits for a budget is working, one that asks needs input', async () => {
    const script = { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'ok' }] }
    const asker = { model: 'builtin/script', script, tools: [{ type: 'ask_person' }] }
    await createAgent(service(), 'asker', asker)
    const tools = [{ type: 'agent', name: 'ask', agent: 'asker' }]
    const calling = { rules: [{ call: { tool: 'ask', arguments: { message: 'berth?' } }, reply: 'ok' }] }
    await createAgent(service(), 'caller', { model: 'builtin/script', script: calling, tools })
    const id = await createAgent(service(), 'saver')
    const scope = { type: 'agent', id }
    const budget = { name: 'tight', scope, limit: { runs: 1 }, per: 'ever' }
    assert.equal((await service().call('POST', '/v1/budgets', { body: budget })).status, 201)
    await service().call('POST', '/v1/agents/saver/invoke', { body: { message: 'first' } })

    const saving = await begin('saver', { message: 'second', on_budget: 'wait' })
    const working = { ids: [saving], shown: [TASK_STATE_WORKING, TASK_STATE_WORKING], totalSize: 1 }
    const none = { ids: [], shown: [], totalSize: 0 }
    assert.deepEqual(await listedOf('saver', TASK_STATE_WORKING), working)
    assert.deepEqual(await listedOf('saver', TASK_STATE_INPUT_REQUIRED), none)

    const called = await begin('caller', { message: 'go' })
    await until('the agent that it called to ask', async () => {
      const { body } = await service().call('GET', '/v1/approvals?status=pending')
      return body.data.length === 1
    })
    const asked = { ids: [called], shown: [TASK_STATE_INPUT_REQUIRED, TASK_STATE_INPUT_REQUIRED], totalSize: 1 }
    assert.deepEqual(await listedOf('caller', TASK_STATE_INPUT_REQUIRED), asked)
    assert.deepEqual(await listedOf('caller', TASK_STATE_WORKING), none)
    const { totalSize } = await listedOf('asker', TASK_STATE_INPUT_REQUIRED)
    assert.equal(totalSize, 1)
  })

  test('has artifacts only if the client asks for them', async () => {
    await createAgent(service(), 'teller')
    const client = await connectA2a(service(), 'teller')
    await client.sendMessage(saying('ahoy'))
    for (const [includeArtifacts, artifacts] of [
      [undefined, 0],
      [false, 0],
      [true, 1],
    ] as const) {
      const { tasks } = await client.listTasks({ ...LISTED, status: TASK_STATE_COMPLETED, includeArtifacts })
      assert.deepEqual(
        tasks.map((task) => task.artifacts.length),
        [artifacts],
      )
    }
  })
})
