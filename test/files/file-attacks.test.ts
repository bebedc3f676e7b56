import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, rm, stat, truncate } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { storeOf } from '../support/inside.ts'
import { inOneAttempt, inTime } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { onOneEngine, type Service } from '../support/service/service.ts'
import { download, storedBytes, untilSettled, untilStored, upload, uploaded } from '../support/slices/files.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const HTML = '<!doctype html><script>alert(1)</script>'
const ZIP = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(60)])

const SETTINGS = { MOORAGE_FILES__MAX_BYTES: '100KiB' }

/** An upload of which only the head was sent so far. */
async function begin({ url, admin }: Service, head: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\n${head}\r\n\r\n`)
  return socket
}

onOneEngine(
  'malicious files',
  (service) => {
    const form = (...parts: [name: string, value: string | Blob, filename?: string][]) => {
      const data = new FormData()
      for (const [name, value, filename] of parts) {
        if (value instanceof Blob) data.append(name, value, filename)
        else data.append(name, value)
      }
      return data
    }
    const error = ({ status, body }: { status: number; body: { error: { code: string } } }) => [status, body.error.code]

    describe('types of files', () => {
      for (const [what, bytes, declared, type] of [
        ['a page that calls itself a picture', HTML, 'image/png', 'text/plain'],
        ['a page that says so', HTML, 'text/html; charset=utf-8', 'text/html'],
        ['a picture that calls itself a page', PNG, 'text/html', 'image/png'],
        ['a picture that says nothing', PNG, null, 'image/png'],
        ['a picture of another kind', PNG, 'image/jpg', 'image/png'],
        ['text that begins like a PDF', '%PDF-1.7 is how a PDF begins', 'text/plain', 'text/plain'],
        ['a PDF that calls itself octets', '%PDF-1.7\n%\u0000\u0001', 'application/octet-stream', 'application/pdf'],
        ['a drawing', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml', 'image/svg+xml'],
        ['JSON', '{"a": 1}', 'application/json', 'application/json'],
        ['a table', 'a,b\n1,2\n', 'text/csv', 'text/csv'],
        [
          'a document in a zip',
          ZIP,
          'application/vnd.oasis.opendocument.text',
          'application/vnd.oasis.opendocument.text',
        ],
        ['a zip that calls itself a picture', ZIP, 'image/png', 'application/zip'],
        ['bytes that call themselves text', Buffer.from([0, 1, 2, 255]), 'text/plain', 'application/octet-stream'],
        ['bytes of a type that is no type', Buffer.from([0, 1, 2]), 'x"y/../z', 'application/octet-stream'],
        ['bytes of a kind that nobody knows', Buffer.from([0, 1, 2]), 'application/x-mine', 'application/x-mine'],
      ] as const) {
        test(`${what}: ${type}, as an attachment`, async () => {
          const reply = await upload(service(), bytes, { type: declared })
          assert.equal(reply.status, 201, reply.text)
          assert.equal(reply.body.data.media_type, type)
          const { headers } = await download(service(), reply.body.data.id)
          assert.equal(headers.get('content-type'), type)
          assert.match(headers.get('content-disposition') ?? '', /^attachment;/)
          assert.equal(headers.get('content-security-policy'), "sandbox; default-src 'none'")
        })
      }
    })

    describe('names of files', () => {
      for (const [what, name] of [
        ['a path', '../../etc/passwd'],
        ['a path of Windows', '..\\boot.ini'],
        ['a folder', '..'],
        ['line breaks', 'a\r\nSet-Cookie: x=1'],
        ['a change of direction', 'photo\u202egnp.exe'],
        ['256 characters', 'x'.repeat(256)],
      ] as const) {
        test(`400 for ${what}, in the query`, async () => {
          const reply = await upload(service(), 'x', { query: `?name=${encodeURIComponent(name)}` })
          assert.equal(reply.status, 400, reply.text)
          assert.equal(reply.body.error.details[0].field, 'name')
        })
      }

      test('a file name in a form loses its path', async () => {
        const body = `--b\r\nContent-Disposition: form-data; name="file"; filename="../../x.txt"\r\n\r\nhi\r\n--b--\r\n`
        const reply = await upload(service(), body, { type: 'multipart/form-data; boundary=b' })
        assert.equal(reply.status, 201, reply.text)
        assert.equal(reply.body.data.name, 'x.txt')
      })

      test('400 for a file name in a form with characters that hide its extension', async () => {
        const reply = await upload(service(), form(['file', new Blob(['x']), 'photo\u202egnp.exe']), { type: null })
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.details[0].field, 'name')
      })

      test('a download keeps names with any script, quotes and percent signs (RFC 6266)', async () => {
        const name = `кот "50%" (1)'*.png`
        const id = await uploaded(service(), 'x', { query: `?name=${encodeURIComponent(name)}` })
        const { headers } = await download(service(), id)
        assert.equal(
          headers.get('content-disposition'),
          `attachment; filename="___ _50__ (1)'*.png"; filename*=UTF-8''%D0%BA%D0%BE%D1%82%20%2250%25%22%20%281%29%27%2A.png`,
        )
      })
    })

    describe('uploads as forms', () => {
      test('400 for two files', async () => {
        const two = form(['one', new Blob(['1']), '1.txt'], ['two', new Blob(['2']), '2.txt'])
        assert.deepEqual(error(await upload(service(), two, { type: null })), [400, 'invalid_request'])
      })
      test('400 for 10,000 parts', async () => {
        const part = '--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n\r\n'
        const body = `${part.repeat(1_500)}--b--\r\n`
        const reply = await upload(service(), body, { type: 'multipart/form-data; boundary=b' })
        assert.deepEqual(error(reply), [400, 'invalid_request'])
        const many = `${part.repeat(10_000)}--b--\r\n`
        const larger = await upload(service(), many, { type: 'multipart/form-data; boundary=b' })
        assert.equal(larger.status, 413, larger.text)
      })
      test('400 without a file, without a boundary, and without an end', async () => {
        assert.deepEqual(error(await upload(service(), form(['a', 'b']), { type: null })), [400, 'invalid_request'])
        const type = 'multipart/form-data; boundary=b'
        const [bare, cut] = [
          await upload(service(), 'x', { type: 'multipart/form-data; charset=utf-8' }),
          await upload(service(), '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nhalf', {
            type,
          }),
        ]
        for (const reply of [bare, cut]) assert.deepEqual(error(reply), [400, 'invalid_request'])
      })
      test('no byte of a form that was refused is kept', async () => {
        const before = await storedBytes(service())
        const large = new Blob([Buffer.alloc(2_000, 'x')])
        const after = form(['one', large, '1.txt'], ['two', new Blob(['2']), '2.txt'])
        assert.equal((await upload(service(), after, { type: null })).status, 400)
        const named = form(['one', large, '1.txt'], ['colour', 'blue'])
        assert.equal((await upload(service(), named, { type: null })).status, 400)
        assert.equal((await upload(service(), form(['one', large, '\u202e']), { type: null })).status, 400)
        assert.deepEqual(await storedBytes(service()), before)
      })
      test('400 for an empty file in it', async () => {
        const reply = await upload(service(), form(['file', new Blob([]), 'x.txt']), { type: null })
        assert.deepEqual(error(reply), [400, 'invalid_request'])
      })
    })

    describe('sizes of files', () => {
      const LARGE = [413, 'payload_too_large']
      test('400 for an empty body', async () => {
        assert.deepEqual(error(await upload(service(), '')), [400, 'invalid_request'])
      })
      test('a file of exactly the maximum size is accepted, and one byte more is 413: raw, in a form and without a length', async () => {
        const [fits, large] = [Buffer.alloc(102_400, 1), Buffer.alloc(102_401, 1)]
        const stream = (bytes: Buffer<ArrayBuffer>) => new Blob([bytes]).stream()
        assert.equal((await upload(service(), fits)).status, 201)
        assert.equal((await upload(service(), form(['f', new Blob([fits]), 'f']), { type: null })).status, 201)
        assert.deepEqual(error(await upload(service(), large)), LARGE)
        assert.deepEqual(error(await upload(service(), form(['f', new Blob([large]), 'f']), { type: null })), LARGE)
        const response = await fetch(`${service().url}/v1/files`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${service().admin}` },
          body: stream(large),
          duplex: 'half',
        })
        assert.equal(response.status, 413)
      })
      test('413 for a form whose other parts are too large, with the maximum file size', async () => {
        const type = 'multipart/form-data; boundary=b'
        assert.deepEqual(error(await upload(service(), Buffer.alloc(200_000, 1), { type })), LARGE)
        const endless = `--b\r\nContent-Disposition: form-data; name="${'x'.repeat(200_000)}`
        const response = await fetch(`${service().url}/v1/files`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${service().admin}`, 'Content-Type': type },
          body: new Blob([endless]).stream(),
          duplex: 'half',
        })
        assert.match(await response.text(), /Files can be at most 102400 bytes/)
      })
      test('413 for a client that reads no reply before it has sent everything, even if that takes two seconds', async () => {
        const socket = await begin(service(), 'Content-Length: 2000000\r\nContent-Type: text/plain')
        socket.pause().on('error', () => {})
        for (let sent = 0; sent < 2_000_000; sent += 80_000) {
          socket.write(Buffer.alloc(80_000, 'x'))
          await sleep(100)
          assert.equal(socket.destroyed, false, `the connection is cut after ${sent} bytes`)
        }
        assert.match(await text(socket), /^HTTP\/1\.1 413 .*Files can be at most 102400 bytes/s)
      })
      test('a client without a key whose body never ends is disconnected within seconds', () =>
        inTime(15_000, async () => {
          const socket = await begin({ ...service(), admin: 'wrong' }, 'Content-Length: 90000000')
          socket.on('error', () => {}).resume()
          const began = performance.now()
          await until('the connection is cut', () => {
            if (!socket.destroyed) socket.write('x')
            return socket.destroyed
          })
          return performance.now() - began
        }))
      test('415 for a body with a content encoding', async () => {
        const reply = await upload(service(), 'x', { headers: { 'Content-Encoding': 'gzip' } })
        assert.equal(reply.status, 415)
      })
    })

    test('an upload that breaks off leaves no data', async () => {
      const { body } = await service().call('GET', '/v1/files?limit=100')
      const different = new Set(body.data.map(({ sha256 }: { sha256: string }) => sha256))
      await untilStored(service(), different.size)
      const socket = await begin(service(), 'Content-Length: 90000')
      socket.write(Buffer.alloc(40_000, 7))
      await untilStored(service(), different.size + 1)
      socket.destroy()
      await untilStored(service(), different.size)
      await untilSettled(service())
    })

    describe('range requests', () => {
      const WHOLE = '0123456789'
      for (const [range, status, part, shown] of [
        ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
        ['bytes=3-', 206, '3456789', 'bytes 3-9/10'],
        ['bytes=-4', 206, '6789', 'bytes 6-9/10'],
        ['bytes=-99', 206, WHOLE, 'bytes 0-9/10'],
        ['bytes=5-999999999999999', 206, '56789', 'bytes 5-9/10'],
        ['bytes=9-9', 206, '9', 'bytes 9-9/10'],
        ['bytes=10-', 416, undefined, 'bytes */10'],
        ['bytes=-0', 416, undefined, 'bytes */10'],
        ['bytes=0-1,4-5', 200, WHOLE, null],
        [`bytes=${'0-0,'.repeat(2_000)}1-1`, 200, WHOLE, null],
        ['bytes=5-2', 200, WHOLE, null],
        ['bytes=-', 200, WHOLE, null],
        ['bytes=a-b', 200, WHOLE, null],
        ['bytes=99999999999999999999-', 200, WHOLE, null],
        ['lines=1-2', 200, WHOLE, null],
      ] as const) {
        test(`${range.slice(0, 40)}: ${status}`, async () => {
          const id = await uploaded(service(), WHOLE)
          const got = await download(service(), id, { headers: { Range: range } })
          assert.equal(got.status, status)
          if (part !== undefined) assert.equal(got.bytes.toString(), part)
          assert.equal(got.headers.get('content-range'), shown)
        })
      }

      test('If-Range returns the whole file if it has changed, If-None-Match returns 304 if it has not', async () => {
        const id = await uploaded(service(), WHOLE)
        const { headers } = await download(service(), id)
        const etag = headers.get('etag') as string
        const ask = (asked: Record<string, string>) => download(service(), id, { headers: asked })
        assert.equal((await ask({ Range: 'bytes=0-0', 'If-Range': etag })).status, 206)
        assert.equal((await ask({ Range: 'bytes=0-0', 'If-Range': '"other"' })).status, 200)
        const same = await ask({ 'If-None-Match': `"other", ${etag}` })
        assert.deepEqual([same.status, same.bytes.length], [304, 0])
      })
    })

    test("only the service's user can read the folder and its files", async () => {
      const id = await uploaded(service(), 'private')
      const { blob_id } = await storeOf(service())
        .selectFrom('files')
        .select('blob_id')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      const folder = `${service().data}/files`
      assert.equal((await stat(folder)).mode & 0o777, 0o700)
      assert.equal((await stat(`${folder}/${blob_id}`)).mode & 0o777, 0o600)
      assert.equal(await readFile(`${folder}/${blob_id}`, 'utf8'), 'private')
    })

    test('500 without any bytes if the stored file is missing or cut', async () => {
      const id = await uploaded(service(), 'lost')
      const [lost] = (await storedBytes(service())).slice(-1)
      await truncate(`${service().data}/files/${lost}`, 2)
      const refused = async () => {
        const { status, bytes } = await download(service(), id)
        assert.equal(status, 500)
        assert.equal(JSON.parse(bytes.toString()).error.code, 'server_error')
      }
      await refused()
      await rm(`${service().data}/files/${lost}`)
      await refused()
      await service().call('DELETE', `/v1/files/${id}`)
    })

    test('a download that breaks off because the stored file is damaged is logged with its reason', async () => {
      const id = await uploaded(service(), 'x'.repeat(100_000))
      const [damaged] = (await storedBytes(service())).slice(-1)
      await truncate(`${service().data}/files/${damaged}`, 90_000)
      const headers = { Authorization: `Bearer ${service().admin}` }
      const reply = await fetch(`${service().url}/v1/files/${id}/content`, { headers })
      assert.equal(reply.status, 200)
      await assert.rejects(reply.arrayBuffer())
      const request_id = reply.headers.get('x-request-id') ?? ''
      const isTold = (line: string) => line.includes(request_id) && /bytes of a file are missing or damaged/.test(line)
      await until('the log', () => service().log().split('\n').some(isTold))
      await service().call('DELETE', `/v1/files/${id}`)
    })

    test('file contents are never logged', async () => {
      await uploaded(service(), 'the-words-inside', { query: '?name=named.txt' })
      assert.doesNotMatch(service().log(), /the-words-inside/)
    })
  },
  SETTINGS,
)

onOneEngine(
  'slow uploads',
  (service) => {
    test('408 for an upload that stalls for a second, and nothing is stored', async () => {
      const socket = await begin(service(), 'Content-Length: 90000')
      socket.write(Buffer.alloc(10, 7))
      assert.match(await text(socket), /^HTTP\/1.1 408 [\s\S]*The request (body )?didn't arrive in time/)
      await untilStored(service(), 0)
    })

    test('a slow upload that continues is accepted, however long it takes', () =>
      // A process that is suspended for a second would consider its clients silent.
      inOneAttempt(async () => {
        const socket = await begin(service(), 'Content-Length: 8')
        const answer = once(socket, 'data')
        for (const byte of 'slowly..') {
          socket.write(byte)
          await sleep(250)
        }
        assert.match(String((await answer)[0]), /^HTTP\/1.1 201 /)
        socket.destroy()
      }))
  },
  { MOORAGE_SERVER__REQUEST_TIMEOUT: '1s' },
)
