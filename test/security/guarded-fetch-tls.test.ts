import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { GuardedClient } from '../../src/security/outgoing/guarded-client.ts'
import { receive, receiveTls } from '../support/outside/receiver.ts'
import { tlsText } from '../support/outside/tls.ts'

const trusting = { allowInsecure: false, allowedCidrs: ['127.0.0.1'], ca: [tlsText('ca.pem')] }

function tellNames(request: IncomingMessage, response: ServerResponse) {
  response.end(`${request.headers.host} ${(request.socket as { servername?: string }).servername}`)
}

describe('the guarded client and TLS', () => {
  test('host name and certificate are checked against the URL, not against the resolved address', async (t) => {
    const { port } = await receiveTls(t, 'server', tellNames)
    const secure = new GuardedClient({ ...trusting, lookup: async () => [{ address: '127.0.0.1', family: 4 }] }).fetch
    assert.equal(await (await secure(`https://localhost:${port}/`)).text(), `localhost:${port} localhost`)
    assert.equal(await (await secure(`https://localhost.:${port}/`)).text(), `localhost:${port} localhost`)
    assert.equal(await (await secure(`https://127.0.0.1:${port}/`)).text(), `127.0.0.1:${port} false`)
    await assert.rejects(secure(`https://other.invalid:${port}/`), {
      code: 'tls_failed',
      message: `TLS with other.invalid:${port} failed (ERR_TLS_CERT_ALTNAME_INVALID)`,
    })
  })

  test('an expired certificate, an unknown authority and missing TLS are errors', async (t) => {
    const expired = await receiveTls(t, 'server-expired', tellNames)
    await assert.rejects(new GuardedClient(trusting).fetch(expired.url), {
      code: 'tls_failed',
      message: `TLS with 127.0.0.1:${expired.port} failed (CERT_HAS_EXPIRED)`,
    })
    const good = await receiveTls(t, 'server', tellNames)
    await assert.rejects(new GuardedClient({ ...trusting, ca: undefined }).fetch(good.url), { code: 'tls_failed' })
    await assert.rejects(new GuardedClient({ ...trusting, ca: [tlsText('other-ca.pem')] }).fetch(good.url), {
      code: 'tls_failed',
    })
    const plain = await receive(t, tellNames)
    await assert.rejects(new GuardedClient(trusting).fetch(plain.url.replace('http', 'https')), { code: 'tls_failed' })
  })

  test('after a failed handshake, the receiver gets no request', async (t) => {
    const requests: unknown[] = []
    const { url, sockets } = await receiveTls(t, 'server', (request) => requests.push(request))
    await assert.rejects(new GuardedClient({ ...trusting, ca: [tlsText('other-ca.pem')] }).fetch(url), {
      code: 'tls_failed',
    })
    const [socket] = sockets
    assert.ok(socket)
    if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve))
    assert.deepEqual(requests, [])
  })
})
