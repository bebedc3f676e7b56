import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { gathered, openaiClient } from '../support/clients/openai.ts'
import { storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'

onAnyEngine("/v1/files with OpenAI's client", (service) => {
  test('a file is created, retrieved, read, listed in pages and deleted', async () => {
    const client = openaiClient(service())
    const made = await client.files.create({ file: await toFile(Buffer.from('one'), 'a.txt'), purpose: 'user_data' })
    const { id, created_at } = made
    assert.ok(Math.abs(created_at - Date.now() / 1000) < 600)
    const told = {
      id,
      object: 'file',
      bytes: 3,
      created_at,
      filename: 'a.txt',
      purpose: 'user_data',
      status: 'processed',
    }
    assert.deepEqual(made, told)
    assert.deepEqual(await client.files.retrieve(id), told)
    assert.equal(await (await client.files.content(id)).text(), 'one')
    assert.equal((await client.files.waitForProcessing(id)).id, id)

    const ids = [id]
    for (const text of ['two', 'three']) {
      const file = await toFile(Buffer.from(text), `${text}.txt`)
      ids.push((await client.files.create({ file, purpose: 'assistants' })).id)
    }
    const listed = async (query: object) => (await gathered(client.files.list(query))).map((file) => file.id)
    assert.deepEqual(await listed({}), ids.toReversed())
    assert.deepEqual(await listed({ limit: 1, order: 'asc' }), ids)
    assert.deepEqual(await listed({ limit: 2, order: 'desc', purpose: 'user_data' }), ids.toReversed())
    const page = await client.files.list({ limit: 2 })
    assert.deepEqual([page.has_more, page.data.length], [true, 2])

    assert.deepEqual(await client.files.delete(id), { id, deleted: true, object: 'file' })
    await assert.rejects(client.files.retrieve(id), (error: InstanceType<typeof OpenAI.APIError>) => {
      assert.deepEqual([error.status, error.code], [404, 'not_found'])
      return true
    })
    // Requests without OpenAI's headers get the same reply as before.
    const own = await service().call('GET', `/v1/files?limit=1&sort=created_at`)
    assert.deepEqual(Object.keys(own.body), ['data', 'pagination'])
    assert.equal(own.body.data[0].name, 'two.txt')
  })

  test('a file with a damaged row is left out of the list, and all others are listed', async () => {
    const client = openaiClient(service())
    const made: string[] = []
    for (const name of ['whole.txt', 'damaged.txt']) {
      made.push((await client.files.create({ file: await toFile(Buffer.from(name), name), purpose: 'user_data' })).id)
    }
    const [whole = '', damaged = ''] = made
    const db = storeOf(service())
    alterStore(db)
    // A time before the year 0.
    await db.updateTable('files').set({ created_at: -70_000_000_000_000 }).where('id', '=', damaged).execute()
    const ids = new Set((await gathered(client.files.list())).map(({ id }) => id))
    assert.deepEqual([ids.has(whole), ids.has(damaged)], [true, false])
    assert.match(service().log(), new RegExp(`The stored item ${damaged} is damaged`))
    await db.deleteFrom('files').where('id', '=', damaged).execute()
  })

  test("a key with only invoke can see the files that it uploaded, and can't delete them", async () => {
    const { secret } = await createKey(service(), { role: 'caller' })
    const client = openaiClient({ url: service().url, admin: secret })
    const { id } = await client.files.create({ file: await toFile(Buffer.from('mine'), 'm.txt'), purpose: 'user_data' })
    assert.deepEqual(
      (await gathered(client.files.list())).map((file) => file.id),
      [id],
    )
    await assert.rejects(client.files.delete(id), { status: 403 })
  })

  test('400 for a form with an unknown field', async () => {
    const file = await toFile(Buffer.from('x'), 'x.txt')
    const expires_after = { anchor: 'created_at' as const, seconds: 3600 }
    await assert.rejects(openaiClient(service()).files.create({ file, purpose: 'user_data', expires_after }), {
      status: 400,
      message:
        '400 The form must contain exactly one file. Except for `purpose`, send other fields in the query string.',
    })
  })
})
