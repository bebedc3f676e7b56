import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { copyFile, cp, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import * as https from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fieldsOf } from '../support/clients/refusal.ts'
import { TLS_SETTINGS, type TlsOptions, tlsCall, tlsFile, tlsText } from '../support/outside/tls.ts'
import { untilHolds } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'

const FORBIDDEN = [403, 'forbidden']
const STRANGERS = ['client-self-signed', 'client-other-ca', 'client-expired', 'server']

/** A service with these settings for the tests of a group. */
function serviceWith(settings: Record<string, string> = {}) {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { ...TLS_SETTINGS, ...settings })
  })
  after(() => service.stop())
  return {
    service: () => service,
    call: (method: string, path: string, options: TlsOptions = {}) =>
      tlsCall(service.url, method, path, { key: service.admin, ...options }),
  }
}

function refusal({ status, body }: { status: number; body: { error: { code: string } } }) {
  return [status, body.error.code]
}

describe('server.tls', () => {
  const { service, call } = serviceWith()

  test('serves TLS 1.3 and 1.2, and no plain HTTP on that port', async () => {
    assert.match(service().url, /^https:/)
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      assert.equal((await call('GET', '/v1/agents', { maxVersion })).status, 200)
    }
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(service().url).port), '127.0.0.1')
      let text = ''
      socket.on('data', (chunk) => (text += chunk))
      socket.on('error', () => resolve(text))
      socket.on('close', () => resolve(text))
      socket.on('timeout', () => reject(new Error('left open')))
      socket.setTimeout(5_000)
      socket.end('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    })
    assert.equal(answer, '')
  })

  test('asks for a client certificate without needing one: strangers with one get in as well', async () => {
    for (const certificate of [undefined, ...STRANGERS]) {
      assert.equal((await call('GET', '/v1/agents', { certificate })).status, 200)
    }
  })

  test('no HSTS unless it is switched on', async () => {
    assert.equal((await call('GET', '/v1/agents')).headers.get('strict-transport-security'), null)
  })
})

describe('server.tls.reload', () => {
  let folder: string
  let service: Service
  const fingerprint = (name: string) => new X509Certificate(tlsText(name)).fingerprint256
  const replace = async (from: string, to: string) => {
    await copyFile(tlsFile(from), join(folder, 'draft'))
    await rename(join(folder, 'draft'), join(folder, to))
  }
  const served = () =>
    new Promise<string>((resolve, reject) => {
      https
        .get(`${service.url}/healthz`, { agent: false, rejectUnauthorized: false }, (response) => {
          const socket = response.socket as import('node:tls').TLSSocket
          resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '')
          response.resume()
        })
        .on('error', reject)
    })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moorage-tls-'))
    await copyFile(tlsFile('server.pem'), join(folder, 'cert.pem'))
    await copyFile(tlsFile('server-key.pem'), join(folder, 'key.pem'))
    service = await startService('sqlite', {
      MOORAGE_SERVER__TLS__CERT: join(folder, 'cert.pem'),
      MOORAGE_SERVER__TLS__KEY: join(folder, 'key.pem'),
    })
  })
  after(async () => {
    await service.stop()
    await rm(folder, { recursive: true })
  })

  test('new connections get the new certificate, an open one continues, half a change changes nothing', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
    const open = () => tlsCall(service.url, 'GET', '/v1/agents', { key: service.admin, agent })
    const first = await open()
    assert.equal(first.server, fingerprint('server.pem'))

    await replace('server-expired.pem', 'cert.pem')
    await untilHolds(() =>
      assert.match(service.log(), /the new TLS certificate cannot be used; the old one stays in use/),
    )
    assert.equal(await served(), fingerprint('server.pem'))

    await replace('server-expired-key.pem', 'key.pem')
    await untilHolds(async () => assert.equal(await served(), fingerprint('server-expired.pem')))
    const again = await open()
    assert.equal(again.status, 200)
    assert.equal(again.server, fingerprint('server.pem'))
    agent.destroy()
  })
})

describe('security.mtls of the service', () => {
  const { service, call } = serviceWith({
    MOORAGE_SECURITY__MTLS__ENABLED: 'true',
    MOORAGE_SECURITY__MTLS__CA_CERT: tlsFile('ca.pem'),
  })

  test('200 with a certificate of the authority and a key', async () => {
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      assert.equal((await call('GET', '/v1/agents', { certificate: 'client', maxVersion })).status, 200)
    }
  })

  test('401 with the certificate alone: it comes in addition to the key', async () => {
    assert.equal((await call('GET', '/v1/agents', { certificate: 'client', key: null })).status, 401)
  })

  test('403 without a certificate, whatever the headers say about one', async () => {
    const forged = { 'X-Forwarded-Client-Cert': `Cert="${encodeURIComponent(tlsText('client.pem'))}"` }
    for (const headers of [{}, forged, { ...forged, 'X-SSL-Client-Verify': 'SUCCESS' }]) {
      assert.deepEqual(refusal(await call('GET', '/v1/agents', { headers })), FORBIDDEN)
    }
  })

  for (const certificate of STRANGERS) {
    test(`403 with ${certificate}`, async () => {
      for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
        const reply = await call('GET', '/v1/agents', { certificate, maxVersion })
        assert.deepEqual(refusal(reply), FORBIDDEN)
      }
    })
  }

  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    test(`403 for a ${maxVersion} session that is resumed without the certificate it began with`, async () => {
      const { session } = await call('GET', '/v1/agents', { certificate: 'client', maxVersion })
      assert.ok(session, 'there is a session to resume')
      const resumed = await call('GET', '/v1/agents', { session, maxVersion })
      assert.equal(resumed.resumed, false)
      assert.deepEqual(refusal(resumed), FORBIDDEN)
    })
  }

  test('the document needs a certificate too; the probes do not', async () => {
    assert.equal((await call('GET', '/v1/openapi.json', { key: null })).status, 403)
    assert.equal((await call('GET', '/healthz', { key: null })).status, 200)
    assert.equal((await call('GET', '/readyz', { key: null })).status, 200)
  })

  test('a certificate that expires on an open connection is refused from then on', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
    const keptOpen = { certificate: 'client', agent }
    assert.equal((await call('GET', '/v1/agents', keptOpen)).status, 200)
    const century = 100 * 366 * 86_400_000
    service().advance(century)
    assert.deepEqual(refusal(await call('GET', '/v1/agents', keptOpen)), FORBIDDEN)
    service().advance(-century)
    agent.destroy()
  })
})

describe('a change of security.mtls.caCert', () => {
  let folder: string
  let service: Service
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moorage-ca-'))
    await copyFile(tlsFile('ca.pem'), join(folder, 'ca.pem'))
    service = await startService('sqlite', {
      ...TLS_SETTINGS,
      MOORAGE_SECURITY__MTLS__ENABLED: 'true',
      MOORAGE_SECURITY__MTLS__CA_CERT: join(folder, 'ca.pem'),
    })
  })
  after(async () => {
    await service.stop()
    await rm(folder, { recursive: true })
  })

  test('holds for open connections and for sessions that would be resumed; a broken file changes nothing', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
    const call = (options: TlsOptions) => tlsCall(service.url, 'GET', '/v1/agents', { key: service.admin, ...options })
    const first = await call({ certificate: 'client', agent })
    assert.equal(first.status, 200)

    await writeFile(join(folder, 'ca.pem'), 'not a certificate')
    await untilHolds(() =>
      assert.match(service.log(), /the new security.mtls.caCert cannot be used; the old one stays in use/),
    )
    assert.equal((await call({ certificate: 'client', agent })).status, 200)

    await copyFile(tlsFile('other-ca.pem'), join(folder, 'ca.pem'))
    await untilHolds(async () => assert.equal((await call({ certificate: 'client-other-ca' })).status, 200))
    assert.equal((await call({ certificate: 'client', agent })).status, 403)
    assert.equal((await call({ certificate: 'client', session: first.session })).status, 403)
    agent.destroy()
  })
})

describe('security.hsts and security.enforceHttps over TLS', () => {
  const { call } = serviceWith({
    MOORAGE_SECURITY__ENFORCE_HTTPS: 'true',
    MOORAGE_SECURITY__HSTS__ENABLED: 'true',
    MOORAGE_SECURITY__HSTS__MAX_AGE: '600',
  })

  test('every reply has the HSTS header: successes, errors and probes', async () => {
    for (const [path, key] of [
      ['/v1/agents', undefined],
      ['/v1/agents', null],
      ['/v1/nothing', undefined],
      ['/healthz', null],
    ] as const) {
      const { headers } = await call('GET', path, key === undefined ? {} : { key })
      assert.equal(headers.get('strict-transport-security'), 'max-age=600', path)
    }
  })

  test('the longer max-age of the service and the agent is sent', async () => {
    const agents = { shorter: 60, longer: 6000 }
    for (const [name, maxAge] of Object.entries(agents)) {
      const body = { name, security: { hsts: { enabled: true, maxAge } } }
      assert.equal((await call('POST', '/v1/agents', { body })).status, 201)
      const { headers } = await call('GET', `/v1/agents/${name}`)
      assert.equal(headers.get('strict-transport-security'), `max-age=${Math.max(600, maxAge)}`)
    }
  })
})

describe('mutual TLS of agents', () => {
  let directory: string
  let outside: string
  let service: Service
  const call = (method: string, path: string, options: TlsOptions = {}) =>
    tlsCall(service.url, method, path, { key: service.admin, ...options })
  const create = (name: string, mtls: Record<string, unknown>) =>
    call('POST', '/v1/agents', { body: { name, security: { mtls: { enabled: true, ...mtls } } } })

  before(async () => {
    outside = await mkdtemp(join(tmpdir(), 'moorage-cas-'))
    directory = join(outside, 'allowed')
    await cp(tlsFile('other-ca.pem'), join(directory, 'other-ca.pem'))
    await copyFile(tlsFile('ca.pem'), join(outside, 'ca.pem'))
    await symlink(join(outside, 'ca.pem'), join(directory, 'link.pem'))
    service = await startService('sqlite', { ...TLS_SETTINGS, MOORAGE_SERVER__TLS__CLIENT_CA_DIR: directory })
  })
  after(async () => {
    await service.stop()
    await rm(outside, { recursive: true })
  })

  test('each agent can have its own authority; other agents need no certificate', async () => {
    assert.equal((await create('ours', { caCert: tlsText('ca.pem') })).status, 201)
    assert.equal((await create('theirs', { caCert: 'other-ca.pem' })).status, 201)
    const statuses = async (name: string) => {
      const replies = [undefined, 'client', 'client-other-ca', 'client-self-signed', 'client-expired'].map(
        (certificate) => call('GET', `/v1/agents/${name}`, { certificate }),
      )
      return (await Promise.all(replies)).map(({ status }) => status)
    }
    assert.deepEqual(await statuses('ours'), [403, 200, 403, 403, 403])
    assert.deepEqual(await statuses('theirs'), [403, 403, 200, 403, 403])
    assert.deepEqual(await statuses('hello'), [200, 200, 200, 200, 200])
  })

  test('a listener for all agents receives nothing of such an agent, even if created with a certificate', async () => {
    await create('silent', { caCert: tlsText('ca.pem') })
    const made = await call('POST', '/v1/listeners', { body: { events: ['*'] }, certificate: 'client' })
    for (const name of ['silent', 'hello']) {
      await call('POST', `/v1/agents/${name}/invoke`, { body: { message: 'hi' }, certificate: 'client' })
    }
    const { body } = await call('GET', `/v1/listeners/${made.body.data.id}`)
    const hello = (await call('GET', '/v1/agents/hello')).body.data.id
    const heard = body.data.deliveries.map((one: { body: string }) => JSON.parse(one.body).agent_id)
    assert.deepEqual(heard, [hello])
  })

  test('403 for a resumed session without its certificate', async () => {
    await create('resumed', { caCert: tlsText('ca.pem') })
    const { session } = await call('GET', '/v1/agents/resumed', { certificate: 'client' })
    assert.equal((await call('GET', '/v1/agents/resumed', { session })).status, 403)
  })

  test("changing or removing an authority's file disconnects its clients", async () => {
    const file = join(directory, 'changing.pem')
    await copyFile(tlsFile('ca.pem'), file)
    assert.equal((await create('changing', { caCert: 'changing.pem' })).status, 201)
    const status = async (certificate: string) => (await call('GET', '/v1/agents/changing', { certificate })).status
    assert.equal(await status('client'), 200)
    await copyFile(tlsFile('other-ca.pem'), file)
    await untilHolds(async () => assert.equal(await status('client-other-ca'), 200))
    assert.equal(await status('client'), 403)
    await rm(file)
    await untilHolds(async () => assert.equal(await status('client-other-ca'), 403))
  })

  const unusable = {
    'a file of the host': '/etc/hostname',
    'a file that does not exist': '/etc/no-such-file',
    'a path that leaves the directory': '../ca.pem',
    'a link that leaves the directory': 'link.pem',
    'the directory itself': '.',
    'a certificate that is no authority': tlsText('client.pem'),
    'PEM that is none': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
  }
  for (const [name, caCert] of Object.entries(unusable)) {
    test(`400 for ${name}, with the same message`, async () => {
      const { status, body } = await create('refused', { caCert })
      assert.equal(status, 400)
      assert.deepEqual(fieldsOf(body), ['security.mtls.caCert'])
    })
  }

  test('400 for a private key in place of its file name, so it is never stored', async () => {
    const { status, body } = await create('leak', { caCert: tlsText('ca.pem'), clientKey: tlsText('client-key.pem') })
    assert.equal(status, 400)
    assert.deepEqual(fieldsOf(body), ['security.mtls.clientKey'])
  })

  test('400 without a caCert', async () => {
    const { status, body } = await create('none', {})
    assert.equal(status, 400)
    assert.deepEqual(fieldsOf(body), ['security.mtls.caCert'])
  })
})
