import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readlink } from 'node:fs/promises'
import { get } from 'node:http'
import { describe, test } from 'node:test'
import { until } from '../support/running/until.ts'
import { onBothEngines, type Service } from '../support/service/service.ts'
import { download, storedBytes, untilStored, upload, uploaded } from '../support/slices/files.ts'
import { createKey } from '../support/slices/resources.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** The files below the folder of the service's data that this process has open. Only Linux tells. */
async function openFiles({ data }: Service): Promise<string[]> {
  const handles = await readdir('/proc/self/fd').catch(() => [])
  const paths = await Promise.all(handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => '')))
  return paths.filter((path) => path.startsWith(`${data}/files/`))
}

onBothEngines('files', (service) => {
  describe('POST /v1/files', () => {
    test('stores the body unchanged, and returns its media type', async () => {
      const { status, body, headers } = await upload(service(), PNG, { type: 'image/png', query: '?name=dot.png' })
      assert.equal(status, 201)
      const { id, created_by, created_at, ...rest } = body.data
      assert.match(id, /^file_[0-9A-Z]{26}$/)
      assert.equal(headers.get('location'), `/v1/files/${id}`)
      assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000)
      const self = await service().call('GET', '/v1/keys/self')
      assert.equal(created_by, self.body.data.id)
      assert.deepEqual(rest, {
        name: 'dot.png',
        media_type: 'image/png',
        size: PNG.length,
        sha256: sha256(PNG),
        user_id: null,
        created_by_name: self.body.data.name,
        expires_at: null,
      })
      assert.deepEqual((await service().call('GET', `/v1/files/${id}`)).body, body)
      const { bytes } = await download(service(), id)
      assert.deepEqual(bytes, PNG)
    })

    test('a form with one file sets its name and type', async () => {
      const form = new FormData()
      form.append('file', new Blob([PNG], { type: 'image/png' }), 'photo.png')
      const { status, text, body } = await upload(service(), form, { type: null })
      assert.equal(status, 201, text)
      const { name, media_type, size } = body.data
      assert.deepEqual({ name, media_type, size }, { name: 'photo.png', media_type: 'image/png', size: PNG.length })
      assert.deepEqual((await download(service(), body.data.id)).bytes, PNG)
    })

    test('files of any number of chunks are returned unchanged', async () => {
      for (const size of [1, 262_143, 262_144, 262_145, 3_000_001]) {
        const bytes = randomBytes(size)
        const id = await uploaded(service(), bytes)
        const got = await download(service(), id)
        assert.equal(got.bytes.length, size)
        assert.equal(sha256(got.bytes), sha256(bytes))
      }
    })

    test('with the same Idempotency-Key, the same content becomes one file, and other content is 422', async () => {
      const headers = { 'Idempotency-Key': `upload-${service().engine}` }
      const first = await upload(service(), 'the same', { headers })
      const again = await upload(service(), 'the same', { headers })
      assert.deepEqual(again.body, first.body)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      const other = await upload(service(), 'different', { headers })
      assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_key_reused'])
      const asLong = await upload(service(), 'the sane', { headers })
      assert.deepEqual([asLong.status, asLong.body.error?.code], [422, 'idempotency_key_reused'])
      const named = await upload(service(), 'the same', { headers, query: '?name=other' })
      assert.deepEqual([named.status, named.body.error?.code], [422, 'idempotency_key_reused'])
    })

    test('uploads and deletions are in the audit log', async () => {
      const id = await uploaded(service(), 'for the record')
      await service().call('DELETE', `/v1/files/${id}`)
      const { body } = await service().call('GET', '/v1/audit-log?limit=100')
      const actions = body.data
        .filter(({ target }: { target: string }) => target === id)
        .map(({ action }: { action: string }) => action)
      assert.deepEqual(actions, ['deleteFile', 'createFile'])
    })
  })

  describe('GET /v1/files', () => {
    test('lists the newest first, and filters', async () => {
      const ids = []
      for (const name of ['a', 'b', 'c']) {
        ids.unshift(
          await uploaded(service(), `listed ${name}`, { type: 'text/csv', query: `?name=${name}&user_id=lou` }),
        )
      }
      const { body } = await service().call('GET', '/v1/files?user_id=lou&media_type=text/csv&limit=2')
      assert.deepEqual(
        body.data.map(({ id }: { id: string }) => id),
        ids.slice(0, 2),
      )
      assert.deepEqual(body.pagination, { limit: 2, offset: 0, total: 3, has_more: true })
      const byName = await service().call('GET', '/v1/files?user_id=lou&sort=name')
      assert.deepEqual(
        byName.body.data.map(({ name }: { name: string }) => name),
        ['a', 'b', 'c'],
      )
    })
  })

  describe('DELETE /v1/files/{file_id}', () => {
    test('removes the file at once, and bytes that no other file has', async () => {
      await untilSettled()
      const before = (await storedBytes(service())).length
      const [one, two] = [await uploaded(service(), 'twice'), await uploaded(service(), 'twice')]
      await untilStored(service(), before + 1)
      const reply = await service().call('DELETE', `/v1/files/${one}`)
      assert.deepEqual(reply.body, { success: true, data: { id: one, deleted: true } })
      assert.equal((await service().call('GET', `/v1/files/${one}`)).status, 404)
      assert.equal((await download(service(), one)).status, 404)
      assert.equal((await download(service(), two)).bytes.toString(), 'twice')
      await service().call('DELETE', `/v1/files/${two}`)
      await untilStored(service(), before)
    })
  })

  const untilSettled = async () => {
    const { body } = await service().call('GET', '/v1/files?limit=100')
    const different = new Set(body.data.map(({ sha256: sum }: { sha256: string }) => sum))
    await untilStored(service(), different.size)
  }

  describe('GET /v1/files/{file_id}/content', () => {
    test('is sent as an attachment that browsers neither display nor sniff', async () => {
      const id = await uploaded(service(), '<svg onload="alert(1)">', { type: 'image/svg+xml', query: '?name=x.svg' })
      const { status, headers } = await download(service(), id)
      assert.equal(status, 200)
      const shown = ['content-type', 'content-length', 'content-disposition', 'etag', 'accept-ranges']
      assert.deepEqual(
        shown.map((name) => headers.get(name)),
        [
          'image/svg+xml',
          '23',
          `attachment; filename="x.svg"; filename*=UTF-8''x.svg`,
          `"${sha256(Buffer.from('<svg onload="alert(1)">'))}"`,
          'bytes',
        ],
      )
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'")
    })

    test('closes stored files when clients disconnect during a download', async () => {
      const { url, admin } = service()
      const id = await uploaded(service(), randomBytes(9_000_000))
      const headers = { Authorization: `Bearer ${admin}` }
      const hangUp = () =>
        new Promise<number | undefined>((resolve) => {
          const asked = get(`${url}/v1/files/${id}/content`, { headers }, (response) => {
            response.once('readable', () => {
              asked.destroy()
              resolve(response.statusCode)
            })
          })
          asked.on('error', () => {})
        })
      for (let i = 0; i < 5; i++) assert.equal(await hangUp(), 200)
      await until('the files are closed', async () => (await openFiles(service())).length === 0, 3_000)
    })

    test('HEAD has the same headers and no body', async () => {
      const id = await uploaded(service(), 'headless')
      const [whole, head] = [await download(service(), id), await download(service(), id, { method: 'HEAD' })]
      assert.equal(head.status, 200)
      assert.equal(head.bytes.length, 0)
      for (const name of ['content-length', 'etag', 'content-type', 'content-disposition']) {
        assert.equal(head.headers.get(name), whole.headers.get(name), name)
      }
    })
  })

  test('a caller sees only the files that it uploaded', async () => {
    const caller = await createKey(service(), { role: 'caller' })
    const other = await uploaded(service(), 'of another')
    const own = await uploaded(service(), 'of the caller', { key: caller.secret })
    const list = await service().call('GET', '/v1/files', { key: caller.secret })
    assert.deepEqual(
      list.body.data.map(({ id }: { id: string }) => id),
      [own],
    )
    assert.equal((await download(service(), own, { key: caller.secret })).bytes.toString(), 'of the caller')
    assert.equal((await download(service(), other, { key: caller.secret })).status, 404)
    assert.equal((await service().call('GET', `/v1/files/${other}`, { key: caller.secret })).status, 404)
    assert.equal((await service().call('DELETE', `/v1/files/${own}`, { key: caller.secret })).status, 403)
  })
})
