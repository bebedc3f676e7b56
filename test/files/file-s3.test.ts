import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { wakeJobs } from '../support/inside.ts'
import { type S3Server, startS3Server } from '../support/outside/s3-server.ts'
import { until } from '../support/running/until.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { download, upload, uploaded } from '../support/slices/files.ts'

for (const engine of ANY_ENGINE) {
  describe(`files in S3, with ${engine}`, () => {
    let s3: S3Server
    let service: Service
    before(async () => {
      s3 = await startS3Server()
      service = await startService(engine, s3.settings)
    })
    after(async () => {
      await service.stop()
      await s3.close()
    })

    test('go there and come back, whole and in parts, with signatures that hold', async () => {
      const bytes = randomBytes(1_000_001)
      const id = await uploaded(service, bytes)
      assert.deepEqual([...s3.objects.values()], [bytes])
      assert.deepEqual((await download(service, id)).bytes, bytes)
      const part = await download(service, id, { headers: { Range: 'bytes=70000-70009' } })
      assert.deepEqual([part.status, part.bytes], [206, bytes.subarray(70_000, 70_010)])
      assert.deepEqual(s3.refused, [])
      await service.call('DELETE', `/v1/files/${id}`)
      await until('the object is gone', () => s3.objects.size === 0)
      const left = (await readdir(service.data)).filter((name) => name.startsWith('upload'))
      assert.deepEqual(left, [])
    })

    test('a server that fails now and then is asked again', async () => {
      s3.failures = 2
      const id = await uploaded(service, 'patient')
      s3.failures = 2
      assert.equal((await download(service, id)).bytes.toString(), 'patient')
      s3.failures = 2
      await service.call('DELETE', `/v1/files/${id}`)
      await until('the object is gone', () => s3.objects.size === 0)
    })

    test('503 while it is unavailable, no row without bytes, and the secret appears nowhere', async () => {
      const id = await uploaded(service, 'before')
      s3.failures = 1_000
      const reply = await upload(service, 'in vain')
      assert.deepEqual([reply.status, reply.body.error.code], [503, 'unavailable'])
      assert.equal((await download(service, id)).status, 503)
      assert.equal((await service.call('DELETE', `/v1/files/${id}`)).status, 200)
      const list = await service.call('GET', '/v1/files')
      assert.deepEqual(list.body.data, [])
      s3.failures = 0
      service.advance(700_000)
      wakeJobs(service)
      await until('what could not be removed is removed later', () => s3.objects.size === 0)
      assert.doesNotMatch(service.log(), /the-secret-of-the-bucket/)
    })

    test('a page or an error with status 200 is a failure: nothing is stored, or it is deleted later', async () => {
      for (const page of ['<html>Sign in</html>', '\n<?xml version="1.0"?><Error><Code>InternalError</Code></Error>']) {
        s3.page = page
        const { status, body } = await upload(service, 'in vain')
        s3.page = undefined
        assert.deepEqual([status, body.error?.code], [503, 'unavailable'])
      }
      assert.deepEqual((await service.call('GET', '/v1/files')).body.data, [])
      const id = await uploaded(service, 'in the way')
      s3.page = '<html>Sign in</html>'
      assert.equal((await service.call('DELETE', `/v1/files/${id}`)).status, 200)
      s3.page = undefined
      assert.equal(s3.objects.size, 1)
      service.advance(700_000)
      wakeJobs(service)
      await until('what was not removed is removed later', () => s3.objects.size === 0)
    })

    test('whatever it answers, a client gets the bytes that were stored, or an error', async () => {
      const id = await uploaded(service, '0123456789'.repeat(5))
      const asked = async (lie: S3Server['lie'], Range?: string) => {
        s3.lie = lie
        const { status, bytes } = await download(service, id, { headers: Range ? { Range } : {} })
        s3.lie = undefined
        return [status, status < 300 ? bytes.toString() : JSON.parse(bytes.toString()).error.code]
      }
      const smuggled = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')
      const whole = (bytes: Buffer) => ({ status: 200, headers: {}, bytes })
      const more = (_object: Buffer, part: Buffer) => ({ bytes: Buffer.concat([part, smuggled]) })
      assert.deepEqual(await asked(whole), [200, '0123456789'.repeat(5)])
      assert.deepEqual(await asked(whole, 'bytes=10-12'), [503, 'unavailable'])
      assert.deepEqual(await asked(whole, 'bytes=0-2'), [500, 'server_error'])
      assert.deepEqual(await asked(more, 'bytes=10-12'), [500, 'server_error'])
      assert.deepEqual(await asked(more), [500, 'server_error'])
      const other = (object: Buffer) => ({
        bytes: object.subarray(11, 14),
        headers: { 'Content-Range': 'bytes 11-13/50' },
      })
      assert.deepEqual(await asked(other, 'bytes=10-12'), [503, 'unavailable'])
      assert.deepEqual(await asked((object) => ({ bytes: Buffer.alloc(object.length, 'x') })), [500, 'server_error'])
      assert.deepEqual(await asked(undefined, 'bytes=10-12'), [206, '012'])
      await service.call('DELETE', `/v1/files/${id}`)
      await until('the object is gone', () => s3.objects.size === 0)
      assert.match(service.log(), /are more than the stored size/)
      assert.match(service.log(), /don't match what was stored/)
    })

    test('503 for a bucket that does not know the key', async () => {
      const other = await startService(engine, { ...s3.settings, MOORAGE_FILES__S3__SECRET_ACCESS_KEY: 'wrong' })
      try {
        assert.equal((await upload(other, 'x')).status, 503)
        assert.deepEqual(new Set(s3.refused), new Set(['SignatureDoesNotMatch']))
      } finally {
        await other.stop()
      }
    })
  })
}

test('files from before S3 was configured stay readable, and new ones go to S3', async () => {
  const s3 = await startS3Server()
  const service = await startService('postgres')
  try {
    const old = await uploaded(service, 'in the database')
    const node = await service.beside(s3.settings)
    try {
      const fresh = await uploaded(node, 'in the bucket')
      assert.equal(s3.objects.size, 1)
      assert.equal((await download(node, old)).bytes.toString(), 'in the database')
      assert.equal((await download(node, fresh)).bytes.toString(), 'in the bucket')
      const unconfigured = await download(service, fresh)
      assert.equal(unconfigured.status, 503)
    } finally {
      await node.stop()
    }
  } finally {
    await service.stop()
    await s3.close()
  }
})
