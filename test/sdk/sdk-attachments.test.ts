import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type Attachable, type Client, createClient } from '../../sdk/client.ts'
import { fromPath } from '../../sdk/from-path.ts'
import { type Service, startService } from '../support/service/service.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('attachments through the SDK', () => {
  let service: Service
  let client: Client
  let folder: string
  before(async () => {
    service = await startService('sqlite')
    client = createClient({ url: service.url, key: service.admin })
    folder = mkdtempSync(join(tmpdir(), 'moorage-attach-'))
    writeFileSync(join(folder, 'dot.png'), Buffer.from(PNG, 'base64'))
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    await service.stop()
  })

  const receiptOf = async (request_id: string) =>
    (await client.invocations.get('hello', request_id)).attachments.map(({ name, media_type, size }) => [
      name,
      media_type,
      size,
    ])

  test('a path, a File, a Blob, bytes, base64 and a stored file become files of the user', async () => {
    const { id: file_id } = await client.files.create(new Blob(['stored']), { name: 'stored.txt', user_id: 'ada' })
    const attachments: Attachable[] = [
      await fromPath(join(folder, 'dot.png')),
      new File(['a,b'], 'table.csv', { type: 'text/csv' }),
      new Blob(['{}'], { type: 'application/json' }),
      new Uint8Array(Buffer.from(PNG, 'base64')),
      { data: 'aGVsbG8=', media_type: 'text/plain', name: 'note.txt' },
      { file_id },
    ]
    const asked = { message: 'What is this?', context: { user_id: 'ada' }, attachments }
    const { request_id } = await client.agents.invoke('hello', asked)
    assert.deepEqual(await receiptOf(request_id), [
      ['dot.png', 'image/png', 70],
      ['table.csv', 'text/csv', 3],
      ['file', 'application/json', 2],
      ['file', 'image/png', 70],
      ['note.txt', 'text/plain', 5],
      ['stored.txt', 'text/plain', 6],
    ])
    assert.equal((await client.files.list({ user_id: 'ada' })).pagination.total, 6)
  })

  test('a stream and a run in the background take them too', async () => {
    const attachments = [new File(['one'], 'one.txt', { type: 'text/plain' })]
    let streamed = ''
    for await (const event of client.agents.stream('hello', { message: 'Look', attachments })) {
      if (event.type === 'done') streamed = event.data.request_id
    }
    const { request_id } = await client.agents.start('hello', { message: 'Look', attachments })
    for (const id of [streamed, request_id]) assert.deepEqual(await receiptOf(id), [['one.txt', 'text/plain', 3]])
  })

  test('a call that is repeated under its idempotency key runs once, and uploads once', async () => {
    const earlier = (await client.files.list()).pagination.total
    const idempotencyKey = 'k'.repeat(255)
    const ask = () =>
      client.agents.invoke('hello', { message: 'Once', attachments: [new Blob(['again'])] }, { idempotencyKey })
    assert.deepEqual(await ask(), await ask())
    assert.equal((await client.files.list()).pagination.total, earlier + 1)
  })

  test('a file that cannot be uploaded is an error of the call, and nothing is asked', async () => {
    const earlier = (await client.invocations.list('hello')).pagination.total
    const asked = { message: 'Empty', attachments: [new Blob([])] }
    await assert.rejects(client.agents.invoke('hello', asked), { code: 'invalid_request' })
    assert.equal((await client.invocations.list('hello')).pagination.total, earlier)
    await assert.rejects(fromPath(join(folder, 'nothing.png')), { code: 'ENOENT' })
  })
})
