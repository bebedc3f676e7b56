import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { StreamResponse, type Task, type TaskPushNotificationConfig, TaskState } from '@a2a-js/sdk'
import { callbackOf } from '../../src/invocations/callbacks/callback.ts'
import { takeUpRuns } from '../../src/invocations/tend-runs.ts'
import * as callbacks from '../../src/webhooks/callback-store.ts'
import { connectA2a, saying } from '../support/clients/a2a-client.ts'
import { partsOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { type Arrival, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'
import { everythingStored } from '../support/stores/stored.ts'

const RULES = [
  { match: { equals: 'wait' }, reply: 'too late', delay_ms: 60_000 },
  { match: { equals: 'slowly' }, reply: 'one two three', delay_ms: 300 },
  { match: { equals: 'fail' }, fail: 'The engine is cold' },
  { match: { equals: 'much' }, reply: 'ö'.repeat(20_000) },
  { reply: 'aye' },
]

function pushTo(url: string, more: Partial<TaskPushNotificationConfig> = {}): TaskPushNotificationConfig {
  return { tenant: '', id: '', taskId: '', url, token: '', authentication: undefined, ...more }
}

/** The task that a notification tells, read by the official SDK. */
function taskIn({ body }: Arrival): Task {
  const { payload } = StreamResponse.fromJSON(JSON.parse(body))
  assert.ok(payload?.$case === 'task', body)
  return payload.value
}

const textOf = ({ artifacts: [first] }: Task) => first?.parts.map(({ content }) => content?.value).join('')

onAnyEngine(
  'push notifications of A2A tasks',
  (service) => {
    before(async () => {
      await createAgent(service(), 'pilot', { model: 'builtin/script', script: { rules: RULES } })
    })

    test("a message can include a configuration: the end of its task is sent with the client's token and credentials", async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      assert.equal((await client.getAgentCard()).capabilities?.pushNotifications, true)
      const authentication = { scheme: 'Bearer', credentials: 'open sesame' }
      const push = pushTo(`${inbox.url}hook`, { token: 'for-you', authentication })
      const task = (await client.sendMessage(saying('ahoy', { push, contextId: 'trip' }))) as Task
      assert.deepEqual([task.status?.state, textOf(task)], [TaskState.TASK_STATE_COMPLETED, 'aye'])
      const [arrival] = await inbox.first(1)
      assert.ok(arrival)
      const told = taskIn(arrival)
      assert.deepEqual(
        [told.id, told.contextId, told.status?.state, textOf(told)],
        [task.id, 'trip', TaskState.TASK_STATE_COMPLETED, 'aye'],
      )
      const { headers } = arrival
      assert.equal(headers['content-type'], 'application/a2a+json')
      assert.equal(headers['x-a2a-notification-token'], 'for-you')
      assert.equal(headers.authorization, 'Bearer open sesame')
      assert.match(String(headers['webhook-signature']), /^v1,/)
      assert.equal(headers['x-service-event'], 'agent.completed')
      assert.doesNotMatch(service().log(), /for-you|open sesame/)
      assert.doesNotMatch(await everythingStored(service()), /for-you|open sesame/)
    })

    test('403 for a key that can write webhooks if it redirects, tests or re-signs a callback, which would reveal its credentials', async (t) => {
      const inbox = await openInbox(t)
      const headers = { Prefer: 'respond-async' }
      const callback = { url: `${inbox.url}hook`, authorization: 'Bearer of-the-caller', format: 'a2a' }
      const { body: begun } = await service().call('POST', '/v1/agents/pilot/invoke', {
        body: { message: 'ahoy', callback },
        headers,
      })
      const { request_id } = begun.data
      const { body } = await service().call('GET', `/v1/agents/pilot/invocations/${request_id}/callbacks`)
      const path = `/v1/webhooks/${body.data[0].id}`
      for (const [method, where, sent] of [
        ['PATCH', path, { url: `${inbox.url}mine` }],
        ['POST', `${path}/test`, undefined],
        ['POST', `${path}/rotate-secret`, {}],
      ] as const) {
        assert.equal((await service().call(method, where, sent && { body: sent })).status, 404, `${method} ${where}`)
      }
      const [arrival] = await inbox.first(1)
      assert.equal(arrival?.path, '/hook')
      const { body: listed } = await service().call('GET', `${path}/deliveries`)
      const found = await service().call('GET', `/v1/deliveries/${listed.data[0].id}`)
      assert.equal(found.body.data.body, arrival?.body, 'to the byte')
    })

    test('a run has at most ten callbacks, even if twenty are created at once', async () => {
      const headers = { Prefer: 'respond-async' }
      const run = await service().call('POST', '/v1/agents/pilot/invoke', { headers, body: { message: 'wait' } })
      const path = `/v1/agents/pilot/invocations/${run.body.data.request_id}/callbacks`
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => service().call('POST', path, { body: { url: 'https://example.com' } })),
      )
      const statuses = replies.map(({ status }) => status).toSorted()
      const other = replies.find(({ status }) => status !== 201 && status !== 409)
      assert.deepEqual(statuses, [...Array(10).fill(201), ...Array(10).fill(409)], other?.text ?? String(statuses))
      assert.equal((await service().call('GET', path)).body.data.length, 10)
      await service().call('POST', `${path.replace('/callbacks', '')}/cancel`)
    })

    test("a run's callbacks are listed in pages, sorted by creation time in either order", async () => {
      const headers = { Prefer: 'respond-async' }
      const run = await service().call('POST', '/v1/agents/pilot/invoke', { headers, body: { message: 'wait' } })
      const path = `/v1/agents/pilot/invocations/${run.body.data.request_id}/callbacks`
      for (const name of ['first', 'second', 'third']) {
        await service().call('POST', path, { body: { url: 'https://example.com', name } })
        service().advance(1_000)
      }
      for (const [query, names] of [
        ['', ['third', 'second', 'first']],
        ['?sort=created_at', ['first', 'second', 'third']],
        ['?limit=1&offset=1', ['second']],
        ['?limit=2&offset=2', ['first']],
      ] as const) {
        const { body } = await service().call('GET', path + query)
        assert.deepEqual(
          [body.data.map(({ name }: { name: string }) => name), body.pagination.total],
          [names, 3],
          query,
        )
      }
      await service().call('POST', `${path.replace('/callbacks', '')}/cancel`)
    })

    test('the end of a streamed or background task is sent, too, and a failure with its reason', async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const kinds: unknown[] = []
      for await (const { payload } of client.sendMessageStream(saying('slowly', { push: pushTo(inbox.url) }))) {
        kinds.push(payload?.$case)
      }
      assert.deepEqual([kinds.at(0), kinds.at(-1)], ['task', 'statusUpdate'])
      const failing = saying('fail', { push: pushTo(inbox.url), returnImmediately: true })
      const failed = (await client.sendMessage(failing)) as Task
      assert.equal(failed.status?.state, TaskState.TASK_STATE_SUBMITTED)
      const arrivals = (await inbox.first(2)).map(taskIn)
      const last = arrivals.find(({ id }) => id === failed.id)
      assert.equal(last?.status?.state, TaskState.TASK_STATE_FAILED)
      assert.match(String(last?.status?.message?.parts[0]?.content?.value), /The engine is cold/)
    })

    test('a response that is too long for an event is left out of the artifacts, and the task contains all of it', async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const task = (await client.sendMessage(saying('much', { push: pushTo(inbox.url) }))) as Task
      assert.equal(textOf(task), 'ö'.repeat(20_000))
      const [arrival] = await inbox.first(1)
      const told = arrival && taskIn(arrival)
      assert.deepEqual([told?.status?.state, told?.artifacts], [TaskState.TASK_STATE_COMPLETED, []])
    })

    test("a task's configurations can be set, read, listed, replaced and deleted; their secrets are never returned", async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const { id: taskId } = (await client.sendMessage(saying('wait', { returnImmediately: true }))) as Task
      const hidden = { token: 'for-you', authentication: { scheme: 'Basic', credentials: 'c2VjcmV0' } }
      const own = await client.createTaskPushNotificationConfig(pushTo(inbox.url, { taskId, id: 'mine', ...hidden }))
      const other = await client.createTaskPushNotificationConfig(pushTo(inbox.url, { taskId }))
      assert.equal(own.id, 'mine')
      assert.match(other.id, /^whk_/)
      await client.createTaskPushNotificationConfig(pushTo(`${inbox.url}again`, { taskId, id: 'mine', ...hidden }))
      const got = await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'mine' })
      assert.deepEqual(got, pushTo(`${inbox.url}again`, { taskId, id: 'mine' }))
      const third = await client.createTaskPushNotificationConfig(pushTo(`${inbox.url}third`, { taskId }))
      const listed: string[] = []
      let pageToken = ''
      do {
        const page = await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 1, pageToken })
        listed.push(...page.configs.map(({ id }) => id))
        pageToken = page.nextPageToken
      } while (pageToken !== '' && listed.length < 4)
      assert.deepEqual(listed.toSorted(), ['mine', other.id, third.id].toSorted())
      await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: third.id })
      await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: other.id })
      await assert.rejects(client.getTaskPushNotificationConfig({ tenant: '', taskId, id: other.id }), /not found|No /i)
      // A client that does not know whether its first request arrived deletes it again.
      await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: other.id })
      await client.cancelTask({ tenant: '', id: taskId, metadata: undefined })
      const [arrival] = await inbox.first(1)
      assert.deepEqual(
        [arrival?.path, arrival && taskIn(arrival).status?.state],
        ['/again', TaskState.TASK_STATE_CANCELED],
      )
      const { body } = await service().call('GET', '/v1/webhooks')
      assert.deepEqual(body.data, [], 'a callback is no webhook of the service')
    })

    test('a configuration set after the task has ended is notified immediately, and deleted with the task', async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const { id: taskId } = (await client.sendMessage(saying('ahoy'))) as Task
      await client.createTaskPushNotificationConfig(pushTo(inbox.url, { taskId, id: 'late' }))
      // Its delivery is stored with it. Otherwise it could take ten seconds until a sweep finds it.
      const { body: made } = await service().call('GET', `/v1/agents/pilot/invocations/${taskId}/callbacks`)
      const { body: sent } = await service().call('GET', `/v1/webhooks/${made.data[0].id}/deliveries`)
      assert.deepEqual(
        sent.data.map(({ event }: { event: string }) => event),
        ['agent.completed'],
      )
      const [arrival] = await inbox.first(1)
      assert.equal(arrival && taskIn(arrival).id, taskId)
      await service().call('DELETE', `/v1/agents/pilot/invocations/${taskId}`)
      const { configs } = await client.listTaskPushNotificationConfig({
        tenant: '',
        taskId,
        pageSize: 0,
        pageToken: '',
      })
      assert.deepEqual(configs, [])
    })

    test('a configuration set at the moment when the task ends is notified once, by the next sweep', async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const { id: request_id } = (await client.sendMessage(saying('ahoy'))) as Task
      const { body } = await service().call('GET', '/v1/agents/pilot')
      const parts = partsOf(service())
      const run = { project_id: 'prj_default', agent_id: body.data.id, request_id }
      const { callback } = callbackOf({ url: inbox.url, format: 'a2a' }, run, parts)
      await parts.storage.transaction((db) => callbacks.insert(db, callback))
      await Promise.all([takeUpRuns(parts), takeUpRuns(parts)])
      const [arrival] = await inbox.first(1)
      assert.equal(arrival && taskIn(arrival).id, request_id)
      const sent = await service().call('GET', `/v1/webhooks/${callback.id}/deliveries`)
      assert.equal(sent.body.pagination.total, 1)
    })

    test('a configuration is deleted if its task no longer exists', async () => {
      const { body } = await service().call('GET', '/v1/agents/pilot')
      const parts = partsOf(service())
      const run = { project_id: 'prj_default', agent_id: body.data.id, request_id: 'req_that_is_gone' }
      const { callback } = callbackOf({ url: `${NOWHERE}/`, format: 'event' }, run, parts)
      await parts.storage.transaction((db) => callbacks.insert(db, callback))
      const later = parts.now() + 2 * 3_600_000
      assert.equal(await callbacks.removeOfMissingRuns(parts.storage.db, later, 10), 1)
      assert.deepEqual(await callbacks.listOfRequest(parts.storage.db, run.request_id), [])
    })

    test("URLs and header values are checked, and a client can't set a configuration for another client's task", async (t) => {
      const inbox = await openInbox(t)
      const client = await connectA2a(service(), 'pilot')
      const { id: taskId } = (await client.sendMessage(saying('wait', { returnImmediately: true }))) as Task
      const create = (more: Partial<TaskPushNotificationConfig>) =>
        client.createTaskPushNotificationConfig(pushTo(inbox.url, { taskId, ...more }))
      await assert.rejects(create({ url: 'http://192.168.0.1/' }), /url/)
      await assert.rejects(create({ token: 'two\nlines' }), /token/)
      await assert.rejects(client.sendMessage(saying('ahoy', { push: pushTo('file:///etc/passwd') })), /url/)
      const { secret } = await createKey(service(), { role: 'caller' })
      const stranger = await connectA2a(service(), 'pilot', { key: secret })
      const config = pushTo(inbox.url, { taskId })
      await assert.rejects(stranger.createTaskPushNotificationConfig(config), { name: /TaskNotFound/ })
      const { id: own } = (await stranger.sendMessage(saying('ahoy'))) as Task
      assert.equal((await stranger.createTaskPushNotificationConfig({ ...config, taskId: own })).taskId, own)
      for (let n = 0; n < 10; n++) await create({})
      await assert.rejects(create({}), /at most 10 callbacks/)
      await client.cancelTask({ tenant: '', id: taskId, metadata: undefined })
    })
  },
  LOCAL_RECEIVERS,
)
