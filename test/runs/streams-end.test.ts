import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { onOneEngine, type Service, startService } from '../support/service/service.ts'
import { createAgent, createKey, later } from '../support/slices/resources.ts'

const MINUTE = 60_000
const JSON_RPC = { jsonrpc: '2.0', id: 1 }
const SAID = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'wait' }] }

/** A stream through each door. After a minute its run would end by itself, which does not cut it off. */
const STREAMS: Record<string, { method?: string; path: string; headers?: Record<string, string>; body?: object }> = {
  invoke: { path: '/v1/agents/slow/invoke', headers: { Accept: 'text/event-stream' }, body: { message: 'wait' } },
  'chat completion': {
    path: '/v1/chat/completions',
    body: { model: 'slow', stream: true, messages: [{ role: 'user', content: 'wait' }] },
  },
  'list changes of MCP': {
    method: 'GET',
    path: '/v1/mcp',
    headers: { Accept: 'text/event-stream', 'Mcp-Protocol-Version': '2025-11-25' },
  },
  'message of A2A': {
    path: '/v1/agents/slow/a2a',
    headers: { 'A2A-Version': '1.0' },
    body: { ...JSON_RPC, method: 'SendStreamingMessage', params: { message: SAID } },
  },
}

describe('an open stream ends when its key does, on another node too', () => {
  let service: Service
  let other: Service
  before(async () => {
    service = await startService('postgres')
    other = await service.beside()
    const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
    await createAgent(service, 'slow', { model: 'builtin/script', script })
  })
  after(async () => {
    await other.stop()
    await service.stop()
  })

  const open = async (name: string, key: string) => {
    const { method = 'POST', path, headers = {}, body } = STREAMS[name] ?? assert.fail(name)
    const response = await fetch(other.url + path, {
      method,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}`, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    assert.equal(response.status, 200)
    let isOver = false
    const read = async () => {
      for await (const _ of response.body ?? []);
    }
    read().catch(() => {
      isOver = true
    })
    return { isOver: () => isOver, stop: () => response.body?.cancel().catch(() => {}) }
  }

  for (const name of Object.keys(STREAMS)) {
    test(name, async () => {
      const [revoked, rotated, kept] = await Promise.all(
        [1, 2, 3].map(() => createKey(service, { role: 'caller', tier: 'enterprise' })),
      )
      assert.ok(revoked && rotated && kept)
      const streams = await Promise.all([revoked, rotated, kept].map(({ secret }) => open(name, secret)))
      assert.ok(streams.every(({ isOver }) => !isOver()))
      await service.call('DELETE', `/v1/keys/${revoked.id}`)
      await service.call('POST', `/v1/keys/${rotated.id}/rotate`, { body: { grace_period_seconds: 0 } })
      await until('the streams of both keys have ended', () => streams[0]?.isOver() && streams[1]?.isOver())
      assert.equal(streams[2]?.isOver(), false, 'the stream of another key goes on')
      await service.call('DELETE', `/v1/keys/${kept.id}`)
      await until('the last one has ended too', () => streams[2]?.isOver())
    })
  }
})

onOneEngine(
  'an open stream ends with',
  (service) => {
    const SECRET = 'the secret with which this agent alone is asked'
    const open = async (headers: Record<string, string>) => {
      const asked = request(new URL('/v1/agents/slow/invoke', service().url), {
        method: 'POST',
        agent: false,
        headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...headers },
      })
      let isOver = false
      asked.on('error', () => {})
      asked.end(JSON.stringify({ message: 'wait' }))
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      assert.equal(response.statusCode, 200)
      response.on('error', () => {}).resume()
      response.on('close', () => {
        isOver = !response.complete
      })
      return { isOver: () => isOver }
    }
    const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` })
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * MINUTE).toISOString()
    const signedIn = async () => {
      const { secret } = await createKey(service(), { role: 'caller', tier: 'enterprise' })
      const tab = new ConsoleTab(service)
      await tab.signIn(secret)
      return { tab, stream: await open({ ...tab.headers, Cookie: tab.cookie }) }
    }
    before(async () => {
      const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
      await createAgent(service(), 'slow', { model: 'builtin/script', script, auth: { type: 'jwt', secret: SECRET } })
    })

    const endLater = async (minutes: number, ...streams: { isOver(): boolean }[]) => {
      const kept = await open(bearer(service().admin))
      assert.ok(streams.every(({ isOver }) => !isOver()))
      const allOver = () => streams.every(({ isOver }) => isOver())
      await later(service(), minutes * MINUTE, () => until('the streams have ended', allOver))
      assert.equal(kept.isOver(), false, 'the stream of a key without an end goes on')
    }

    test('a key that expires', async () => {
      const { secret } = await createKey(service(), { role: 'caller', expires_at: inMinutes(10) })
      await endLater(11, await open(bearer(secret)))
    })

    test('a replaced secret when its grace period ends, including streams opened before the rotation', async () => {
      const streams: { isOver(): boolean }[] = []
      for (const end of [{}, { expires_at: inMinutes(600) }]) {
        const { id, secret } = await createKey(service(), { role: 'caller', tier: 'enterprise', ...end })
        streams.push(await open(bearer(secret)))
        await service().call('POST', `/v1/keys/${id}/rotate`, { body: { grace_period_seconds: 600 } })
        streams.push(await open(bearer(secret)))
      }
      await endLater(11, ...streams)
    })

    test('a token that expires', async () => {
      const token = await signJwt({ permissions: ['invoke'] }, { secret: SECRET })
      await endLater(31, await open(bearer(token)))
    })

    test('a console session that signs out, or is not used any more', async () => {
      const left = await signedIn()
      const idle = await signedIn()
      await left.tab.ask('DELETE', '/console/session')
      await until('the stream has ended', left.stream.isOver)
      await endLater(61, idle.stream)
    })

    test('a console session that signs out or is ended by another client, long after the stream started', async () => {
      const [left, ended] = [await signedIn(), await signedIn()]
      const { body } = await ended.tab.ask('GET', '/console/session')
      // Open streams are checked once a second. After the first check, these two are valid for an hour.
      await setTimeout(2_500)
      await left.tab.ask('DELETE', '/console/session')
      await service().call('DELETE', `/v1/console-sessions/${body.data.session_id}`)
      await until('both streams have ended', () => left.stream.isOver() && ended.stream.isOver())
    })

    test('a key that is revoked before the request body has arrived', async () => {
      const { id, secret } = await createKey(service(), { role: 'caller' })
      // From here on the key is in memory, so it is checked as soon as the headers are there.
      assert.equal((await service().call('GET', '/v1/keys/self', { key: secret })).status, 200)
      const asked = request(new URL('/v1/agents/slow/invoke', service().url), {
        method: 'POST',
        agent: false,
        headers: {
          ...bearer(secret),
          'Content-Type': 'application/json',
          Accept: 'text/event-stream',
          Expect: '100-continue',
        },
      })
      asked.on('error', () => {})
      let said = ''
      asked.on('response', (response) => response.on('error', () => {}).on('data', (piece) => (said += piece)))
      let isOver = false
      asked.on('close', () => {
        isOver = true
      })
      asked.flushHeaders()
      await once(asked, 'continue')
      await service().call('DELETE', `/v1/keys/${id}`)
      asked.end(JSON.stringify({ message: 'wait' }))
      await until('the stream has ended', () => isOver)
      assert.doesNotMatch(said, /late/)
    })
  },
  { MOORAGE_SERVER__DRAIN_TIMEOUT: '100ms' },
)
