import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as webhooks from '../../src/webhooks/store.ts'
import { signingSecrets } from '../../src/webhooks/webhook.ts'
import { keyringOf, storageOf } from '../support/inside.ts'
import { meanwhile } from '../support/running/meanwhile.ts'
import { type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { createWebhook } from '../support/slices/webhooks.ts'

// On SQLite transactions take turns, so none of this can happen there.
describe('when another node at the same time', () => {
  let service: Service
  before(async () => {
    service = await startService('postgres')
  })
  after(() => service.stop())

  const copyAgent = (name: string) =>
    `insert into agents (id, project_id, name, status, definition, created_at, updated_at)
     select 'agt_copy_${name}', project_id, '${name}', status, definition, created_at, updated_at
     from agents where name = 'hello'`

  test('takes the name of a new agent: 409', async () => {
    const create = () => service.call('POST', '/v1/agents', { body: { name: 'just-taken' } })
    const [reply] = await meanwhile(service, copyAgent('just-taken'), create)
    assert.equal(reply?.status, 409)
  })

  test('takes the new name of an agent: 503, and 409 on a retry', async () => {
    await createAgent(service, 'renamed')
    const rename = () => service.call('PATCH', '/v1/agents/renamed', { body: { name: 'taken-too' } })
    const [reply] = await meanwhile(service, copyAgent('taken-too'), rename)
    assert.equal(reply?.status, 503)
    assert.deepEqual([reply?.body.error.code, reply?.body.error.retry_after], ['unavailable', 1])
    assert.equal((await rename()).status, 409)
  })

  test('deletes the agent of a new key: 503, and 400 on a retry', async () => {
    const id = await createAgent(service, 'half-gone')
    const body = { name: 'orphan', role: 'viewer', agent_id: id }
    const create = () => service.call('POST', '/v1/keys', { body })
    const [reply] = await meanwhile(service, `delete from agents where id = '${id}'`, create)
    assert.equal(reply?.status, 503)
    assert.equal((await create()).status, 400)
  })

  test('deletes an agent that is being changed: 404', async () => {
    const id = await createAgent(service, 'changed-and-gone')
    const change = () => service.call('PATCH', `/v1/agents/${id}`, { body: { temperature: 1 } })
    const remove = () => service.call('DELETE', `/v1/agents/${id}`)
    const replies = await meanwhile(service, `delete from agents where id = '${id}'`, change, remove)
    assert.deepEqual(
      replies.map(({ status }) => status),
      [404, 404],
    )
  })

  test('rotates the key that is being rotated: both new secrets work, and the old one in its grace period', async () => {
    const { id, secret } = await createKey(service, { role: 'viewer' })
    const rotate = () => service.call('POST', `/v1/keys/${id}/rotate`)
    const replies = await meanwhile(service, `select id from keys where id = '${id}' for update`, rotate, rotate)
    const [first, second] = replies.map(({ body }) => body.data.secret)
    const works = async (key: string) => (await service.call('GET', '/v1/keys/self', { key })).status
    assert.deepEqual([await works(secret), await works(first), await works(second)], [200, 200, 200])
  })
  test('changes the webhook that is being changed: both changes stay', async () => {
    const { id } = await createWebhook(service, { url: 'https://example.com/a' })
    const patch = (body: object) => () => service.call('PATCH', `/v1/webhooks/${id}`, { body })
    const hold = `select id from webhooks where id = '${id}' for update`
    await meanwhile(service, hold, patch({ url: 'https://example.com/b' }), patch({ description: 'kept' }))
    const { data } = (await service.call('GET', `/v1/webhooks/${id}`)).body
    assert.deepEqual([data.url, data.description], ['https://example.com/b', 'kept'])
  })

  test('rotates the same webhook secret: deliveries are signed with all secrets that have not expired', async () => {
    const { id, secret } = await createWebhook(service, { url: 'https://example.com/' })
    const rotate = () => service.call('POST', `/v1/webhooks/${id}/rotate-secret`)
    const replies = await meanwhile(service, `select id from webhooks where id = '${id}' for update`, rotate, rotate)
    const storage = storageOf(service)
    const keyring = keyringOf(service)
    const { now } = service
    const signing = signingSecrets(await webhooks.get(storage.db, id), keyring, now())
    assert.deepEqual(signing.toSorted(), [secret, ...replies.map(({ body }) => body.data.secret)].toSorted())
  })
})
