import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { receiveRaw, receiveTls } from '../support/outside/receiver.ts'
import { tlsText } from '../support/outside/tls.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { onOneEngine, type Service } from '../support/service/service.ts'
import { createAgent, createWebhook, delivery, happen, openInbox, pass } from '../support/slices/webhooks.ts'

/** Those who answer at once do so within it, also on a busy machine. */
const ATTEMPT_MS = 2_000 * PATIENCE

/** 127.0.0.1 stands for the public internet here; every other address of this machine is as private as ever. */
const names = new Map([
  ['good.test', ['127.0.0.1']],
  ['private.test', ['127.0.0.2']],
  ['mixed.test', ['127.0.0.1', '10.0.0.1']],
  ['metadata.test', ['169.254.169.254']],
  ['mapped.test', ['::ffff:127.0.0.2']],
  ['empty.test', []],
])
const asked: string[] = []

async function lookup(name: string) {
  asked.push(name)
  const addresses = names.get(name)
  // Its second answer is private.
  if (name === 'flipping.test') names.set(name, ['127.0.0.2'])
  if (!addresses) throw new Error('ENOTFOUND')
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

/** The result of the one attempt to deliver an event to `url`. */
async function attemptAt(service: Service, url: string) {
  const agent_id = await createAgent(service)
  const { id } = await createWebhook(service, { agent_id, url })
  await happen(service, { agent_id })
  const { attempts, status } = await delivery(service, id, 1)
  assert.equal(status, 'pending')
  const [{ response_status, error, duration_ms }] = attempts
  assert.ok(duration_ms < 2 * ATTEMPT_MS, `${duration_ms} ms`)
  return [error, response_status]
}

const answer = (_request: unknown, response: { end(): void }) => response.end()

onOneEngine(
  'webhook receivers that misbehave',
  (service) => {
    test('silent, dripping, endless, resetting or talking nonsense: failed in time, and others are served', async (t) => {
      const silent = await receiveRaw(t, () => {})
      const dripping = await receiveRaw(t, drip('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n'))
      const slowHead = await receiveRaw(t, drip('HTTP/1.1 200 OK\r\nX-Slow: '))
      const endless = await receiveRaw(t, (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const megabyte = Buffer.alloc(1024 * 1024)
        const pour = () => {
          while (!socket.destroyed && socket.write(megabyte));
        }
        socket.on('drain', pour)
        pour()
      })
      const resetting = await receiveRaw(t, (socket) => socket.once('data', () => socket.resetAndDestroy()))
      const cutShort = await receiveRaw(t, (socket) => {
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf'))
      })
      const nonsense = await receiveRaw(t, (socket) => socket.end('220 mail.example.com ESMTP\r\n'))
      const inbox = await openInbox(t)
      const memory = process.memoryUsage().rss

      const [agent_id, results] = await Promise.all([
        createAgent(service()),
        Promise.all(
          [silent, dripping, slowHead, endless, resetting, cutShort, nonsense].map(({ url }) =>
            attemptAt(service(), url),
          ),
        ),
      ])
      assert.deepEqual(results, [
        ['timeout', null],
        ['timeout', 200],
        ['timeout', null],
        ['too_large', 200],
        ['reset', null],
        ['reset', 200],
        ['invalid_response', null],
      ])
      assert.ok(process.memoryUsage().rss - memory < 100 * 1024 * 1024)
      await createWebhook(service(), { agent_id, url: inbox.url })
      await happen(service(), { agent_id })
      await inbox.first(1)
    })

    test('bad TLS: an expired certificate, another name, no TLS at all; a good one is delivered', async (t) => {
      const expired = await receiveTls(t, 'server-expired', answer)
      const good = await receiveTls(t, 'server', answer)
      const plain = await openInbox(t)
      assert.deepEqual(await attemptAt(service(), expired.url), ['tls_failed', null])
      assert.deepEqual(await attemptAt(service(), `https://good.test:${good.port}/`), ['tls_failed', null])
      assert.deepEqual(await attemptAt(service(), plain.url.replace('http:', 'https:')), ['tls_failed', null])
      assert.equal(plain.arrivals.length, 0)

      const { id } = await createWebhook(service(), { url: good.url })
      const { body } = await service().call('POST', `/v1/webhooks/${id}/test`)
      assert.equal(body.data.delivered, true)
      await service().call('DELETE', `/v1/webhooks/${id}`)
    })

    describe('names', () => {
      test('that point to a private address, or to nothing, are never dialled', async (t) => {
        const inbox = await openInbox(t)
        const at = (name: string) => inbox.url.replace('127.0.0.1', name)
        for (const name of ['private.test', 'mixed.test', 'metadata.test', 'mapped.test']) {
          assert.deepEqual(await attemptAt(service(), at(name)), ['blocked_address', null], name)
        }
        assert.deepEqual(await attemptAt(service(), at('empty.test')), ['dns_failed', null])
        assert.deepEqual(await attemptAt(service(), at('nowhere.test')), ['dns_failed', null])
        assert.equal(inbox.arrivals.length, 0)
      })

      test('that turn private after they were registered are blocked; each attempt asks once', async (t) => {
        const { inbox, id, agent_id } = await register(t, service(), 'turning.test')
        names.set('turning.test', ['127.0.0.2'])
        await happen(service(), { agent_id })
        const { attempts } = await delivery(service(), id, 1)
        assert.equal(attempts[0].error, 'blocked_address')
        assert.equal(inbox.arrivals.length, 0)
        names.set('turning.test', ['127.0.0.1'])
        pass(service(), 10_000)
        await inbox.first(1)
        assert.equal(timesAsked('turning.test'), 2)
      })

      test('that turn private between the check and the call: what was checked is dialled', async (t) => {
        const { inbox, id, agent_id } = await register(t, service(), 'flipping.test')
        await happen(service(), { agent_id })
        await inbox.first(1)
        assert.equal((await delivery(service(), id, 1)).status, 'delivered')
        assert.equal(timesAsked('flipping.test'), 1)
        assert.deepEqual(names.get('flipping.test'), ['127.0.0.2'])
      })
    })
  },
  {
    MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'true',
    MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '127.0.0.1',
    MOORAGE_WEBHOOKS__ATTEMPT_TIMEOUT: `${ATTEMPT_MS}ms`,
  },
  { lookup, ca: [tlsText('ca.pem')] },
)

function drip(beginning: string) {
  return (socket: { write(text: string): unknown; once(event: 'close', listener: () => void): unknown }) => {
    socket.write(beginning)
    const drops = setInterval(() => socket.write('.'), 20)
    socket.once('close', () => clearInterval(drops))
  }
}

const timesAsked = (name: string) => asked.filter((other) => other === name).length

/** A webhook to a name that is public at first. */
async function register(t: TestContext, service: Service, name: string) {
  asked.length = 0
  names.set(name, ['127.0.0.1'])
  const inbox = await openInbox(t)
  const agent_id = await createAgent(service)
  const { id } = await createWebhook(service, { agent_id, url: inbox.url.replace('127.0.0.1', name) })
  return { inbox, agent_id, id }
}
