import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

const { TASK_STATE_INPUT_REQUIRED, TASK_STATE_SUBMITTED } = TaskState

const ASKING = {
  model: 'builtin/script',
  tools: [{ type: 'ask_person' }],
  script: {
    rules: [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: 'Berth {{result}}' }],
  },
  approvals: { self: true },
}

const SMALL_TIER = { MOORAGE_LIMITS__TIERS: '{"small":{"requestsPerMinute":20,"burst":20}}' }

/** How many requests an answer takes: to read the task, to find its question, and to decide. */
const TO_ANSWER = 3

async function tasksIn(stream: AsyncIterable<StreamResponse>): Promise<(Task | undefined)[]> {
  const tasks: (Task | undefined)[] = []
  for await (const { payload } of stream) tasks.push(payload?.$case === 'task' ? payload.value : undefined)
  return tasks
}

onAnyEngine(
  'A2A at the limit of requests',
  (service) => {
    before(async () => {
      await createAgent(service(), 'pilot')
      await createAgent(service(), 'harbour', ASKING)
      // The clock is held, so no requests become available during a test.
      service().holdClock()
    })

    /** A client, and a function that uses up its requests until this many are left. */
    const connect = async (agent: string) => {
      const { secret: key } = await createKey(service(), { role: 'admin', tier: 'small' })
      const left = async () => {
        const { headers } = await service().call('GET', '/v1/keys/self', { key })
        return Number(headers.get('x-ratelimit-remaining'))
      }
      const leave = async (count: number) => {
        while ((await left()) > count) {}
      }
      return { client: await connectA2a(service(), agent, { key }), leave }
    }
    const untilAnswered = (agent: string, id: string) =>
      until('the answer', async () => {
        const { body } = await service().call('GET', `/v1/agents/${agent}/invocations/${id}`)
        return body.data.status === 'completed' && body.data.response
      })

    for (const isStreamed of [false, true]) {
      const how = isStreamed ? 'in a stream' : 'in the reply'

      test(`a task that has begun is reported ${how}, so that its client does not begin it again`, async (t) => {
        const inbox = await openInbox(t)
        const { client, leave } = await connect('pilot')
        const push = { tenant: '', id: '', taskId: '', url: `${inbox.url}hook`, token: '', authentication: undefined }
        const contextId = `begun ${how}`
        const message = saying('ahoy', { push, contextId })
        await leave(1)
        const told = isStreamed
          ? await tasksIn(client.sendMessageStream(message))
          : [(await client.sendMessage(message)) as Task]
        const [task] = told
        assert.deepEqual([told.length, task?.status?.state, task?.contextId], [1, TASK_STATE_SUBMITTED, contextId])
        assert.equal(await untilAnswered('pilot', task?.id ?? ''), 'ahoy')
        const path = `/v1/agents/pilot/invocations?session_id=${encodeURIComponent(contextId)}`
        assert.equal((await service().call('GET', path)).body.pagination.total, 1)
      })

      test(`a task whose question is answered is reported ${how}`, async () => {
        for (const returnImmediately of isStreamed ? [false] : [false, true]) {
          const { client, leave } = await connect('harbour')
          const asking = (await client.sendMessage(saying('ahoy'))) as Task
          assert.equal(asking.status?.state, TASK_STATE_INPUT_REQUIRED)
          const answer = saying('seven', { taskId: asking.id, returnImmediately })
          await leave(TO_ANSWER)
          const told = isStreamed
            ? await tasksIn(client.sendMessageStream(answer))
            : [(await client.sendMessage(answer)) as Task]
          const [task] = told
          assert.deepEqual(
            [told.length, task?.id, task?.contextId, task?.status?.state],
            [1, asking.id, asking.contextId, TASK_STATE_SUBMITTED],
          )
          assert.equal(await untilAnswered('harbour', asking.id), 'Berth seven')
        }
      })
    }

    test('an answer that was not taken is refused, and can be sent again', async () => {
      const { client, leave } = await connect('harbour')
      const { id } = (await client.sendMessage(saying('ahoy'))) as Task
      await leave(TO_ANSWER - 1)
      await assert.rejects(client.sendMessage(saying('seven', { taskId: id })), /Rate limit exceeded/)
      service().advance(60_000)
      const { artifacts } = (await client.sendMessage(saying('seven', { taskId: id }))) as Task
      assert.equal(artifacts[0]?.parts[0]?.content?.value, 'Berth seven')
    })
  },
  { ...SMALL_TIER, ...LOCAL_RECEIVERS },
)
