import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createAgent, createKey } from './support/resources.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

const JSON_RPC = { jsonrpc: '2.0', id: 1 }
const SAID = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'wait' }] }

/** A stream through each door. None of them would end by itself. */
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
    read()
      .catch(() => {})
      .finally(() => {
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
