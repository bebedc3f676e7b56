import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { storeOf } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { untilCounted } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, onBothEngines, type Service } from '../support/service/service.ts'
import { storedBytes, untilStored, uploaded } from '../support/slices/files.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, delivery, LOCAL_RECEIVERS } from '../support/slices/webhooks.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

onBothEngines(
  'erasing a user from a project, whatever has happened to its agents',
  (service) => {
    const newProject = async () => {
      const { body } = await service().call('POST', '/v1/projects', { body: { name: `p${randomUUID().slice(0, 8)}` } })
      return inProject(service(), body.data.id)
    }
    const erase = async (at: Service, user_id: string, key = at.admin) => {
      const { status, body, text } = await at.call('DELETE', `/v1/users/${user_id}`, { key })
      assert.equal(status, 200, text)
      return body.data
    }
    const usersIn = async (at: Service) => {
      const { body } = await at.call('GET', '/v1/usage?group_by=user')
      return body.data.rows.map(({ user_id }: { user_id: string | null }) => user_id)
    }
    /** An agent of a project has answered a user; what was sent of it to a webhook for all agents. */
    const answered = async (at: Service, user_id: string) => {
      const hook = await createWebhook(at, { url: NOWHERE, events: ['agent.completed'] })
      const agent = await newAgent(at)
      const body = { message: `secret words of ${user_id}`, context: { user_id } }
      const headers = { 'Idempotency-Key': randomUUID() }
      const ask = () => at.call('POST', `/v1/agents/${agent}/invoke`, { body, headers })
      assert.equal((await ask()).status, 200)
      const { id } = await delivery(at, hook.id, 1)
      const sent = async () =>
        (await at.call('GET', `/v1/webhooks/${hook.id}/deliveries/${id}`)).body.data.body as string
      assert.match(await sent(), /secret words/)
      assert.deepEqual(await usersIn(at), [user_id])
      return { agent, sent }
    }

    test('removes usage, events and stored replies of a deleted agent', async () => {
      const [here, there] = [await newProject(), await newProject()]
      const gone = await answered(here, 'ada')
      const other = await answered(there, 'ada')
      assert.equal((await here.call('DELETE', `/v1/agents/${gone.agent}`)).status, 200)
      const db = storeOf(service())
      const replies = () =>
        db.selectFrom('claims').select('body').where('body', 'like', '%secret words of ada%').execute()
      assert.equal((await replies()).length, 2)

      assert.equal((await erase(here, 'ada')).events, 1)
      assert.doesNotMatch(await gone.sent(), /ada/)
      assert.deepEqual(await usersIn(here), [null])
      await untilCounted('replies with the words of ada', 1, async () => (await replies()).length)

      assert.match(await other.sent(), /secret words of ada/, 'the same name in another project is another user')
      assert.deepEqual(await usersIn(there), ['ada'])
    })

    test("covers the project in which an agent answered, and the agent's own events in its new project", async () => {
      const [old, now] = [await newProject(), await newProject()]
      const { agent, sent } = await answered(old, 'bob')
      const own = await createWebhook(old, { url: NOWHERE, agent_id: agent, events: ['agent.completed'] })
      const body = { message: 'more secret words', context: { user_id: 'bob' } }
      assert.equal((await old.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
      const { id } = await delivery(old, own.id, 1)
      const moved = await old.call('POST', `/v1/agents/${agent}/move`, { body: { project: now.project } })
      assert.equal(moved.status, 200, moved.text)

      await erase(now, 'bob')
      const { body: told } = await now.call('GET', `/v1/webhooks/${own.id}/deliveries/${id}`)
      assert.doesNotMatch(told.data.body, /bob|secret/)
      assert.deepEqual(await usersIn(old), ['bob'], 'what the old project paid for is told there')
      await erase(old, 'bob')
      assert.deepEqual(await usersIn(old), [null])
      assert.doesNotMatch(await sent(), /bob|secret/)
    })

    test('deletes attached files before the reply', async () => {
      const at = await newProject()
      const before = await storedBytes(service())
      const agent = await newAgent(at)
      const attachments = [{ name: 'note.txt', data: Buffer.from('secret').toString('base64') }]
      const invoked = { message: 'look', context: { user_id: 'cyd' }, attachments }
      assert.equal((await at.call('POST', `/v1/agents/${agent}/invoke`, { body: invoked })).status, 200)
      const image_url = { url: `data:image/png;base64,${PIXEL}` }
      const content = [{ type: 'image_url', image_url }]
      const chat = { model: agent, user: 'cyd', messages: [{ role: 'user', content }] }
      assert.equal((await at.call('POST', '/v1/chat/completions', { body: chat })).status, 200)
      await uploaded(at, 'of cyd', { query: '?user_id=cyd' })
      assert.equal((await storedBytes(service())).length, before.length + 3)

      const { secret } = await createKey(at, { role: 'admin', agent_id: agent })
      assert.equal((await erase(at, 'cyd', secret)).files, 2, 'a key of one agent removes what came with its runs')
      assert.equal((await storedBytes(service())).length, before.length + 1)
      assert.equal((await erase(at, 'cyd')).files, 1)
      assert.deepEqual(await storedBytes(service()), before)
    })

    test('and erasing a single invocation deletes its files, too', async () => {
      const before = await storedBytes(service())
      const agent = await newAgent(service())
      const attachments = [{ name: 'note.txt', data: Buffer.from('only this').toString('base64') }]
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'x', attachments },
      })
      assert.equal((await storedBytes(service())).length, before.length + 1)
      const path = `/v1/agents/${agent}/invocations/${body.data.request_id}`
      const { status, text } = await service().call('DELETE', path)
      assert.equal(status, 200, text)
      assert.deepEqual(await storedBytes(service()), before)
    })

    test('and files that a killed process left behind are deleted at the next start', async () => {
      const before = await storedBytes(service())
      const id = await uploaded(service(), 'left behind')
      const db = storeOf(service())
      const { blob_id } = await db.selectFrom('files').select('blob_id').where('id', '=', id).executeTakeFirstOrThrow()
      await db.deleteFrom('files').where('id', '=', id).execute()
      await db.updateTable('blobs').set({ state: 'dropped' }).where('id', '=', blob_id).execute()
      assert.ok((await storedBytes(service())).includes(blob_id))
      await service().restart()
      await untilStored(service(), before.length)
    })
  },
  LOCAL_RECEIVERS,
)
