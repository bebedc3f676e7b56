import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { type Given, type Told, tellInPython, tellInTypeScript } from '../support/clients/sdk-stories.ts'
import { type LocalServer, readBody, startLocalServer } from '../support/outside/local-server.ts'
import { type Service, startService } from '../support/service/service.ts'
import { findExecutable } from '../support/stores/daemon.ts'

const skip = !findExecutable('python3') && !process.env['CI'] && 'there is no python3 on this machine'
const KEY = /^[0-9a-f]{32}$/

type Asked = { what: string; key: string | undefined; last: string | undefined }

/** A service that has problems: which, depends on the agent. It remembers what it was asked. */
async function startBroken(): Promise<LocalServer & { asked: Asked[] }> {
  const asked: Asked[] = []
  const events = (...lines: [id: string, event: string, data: object][]) =>
    lines.map(([id, event, data]) => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('')
  const error = (code: string) => JSON.stringify({ success: false, error: { code, message: code } })
  const fine = (data: object) => JSON.stringify({ success: true, data })
  /** A list of which one item can't be read. */
  const listed = (url: string) => {
    const offset = Number(new URLSearchParams(url.split('?')[1]).get('offset') ?? 0)
    const pagination = { limit: 1, offset, total: 3, has_more: offset < 2 }
    return JSON.stringify({ data: offset === 1 ? [] : [{ id: `whk_${offset}` }], pagination })
  }
  /** A reply that breaks off: of this length, or in chunks of whole lines. */
  const cutOff = (reply: ServerResponse, length?: number, isWithinLine = length !== undefined) => {
    reply.writeHead(200, { 'x-request-id': 'req_1', ...(length && { 'content-length': length }) })
    reply.write(isWithinLine ? '{"n":1}\n{"n"' : '{"n":1}\n{"n":2}\n', () => reply.destroy())
  }
  const answer = (request: IncomingMessage, reply: ServerResponse, tries: number) => {
    const [, agent = '', rest = ''] = /^\/v1\/agents\/([\w-]+)(\/.*)?$/.exec(request.url ?? '') ?? []
    const send = (status: number, text: string, headers = {}) =>
      reply.writeHead(status, { 'x-request-id': 'req_1', ...headers }).end(text)
    if (agent === 'busy' && tries < 2) return send(503, error('unavailable'), { 'retry-after': '0' })
    if (agent === 'later') return send(429, error('rate_limited'), { 'retry-after': '3600' })
    if (agent === 'told') return send(503, error('unavailable'), { 'x-should-retry': 'false' })
    if (agent === 'slow') return send(504, error('timeout'))
    if (agent === 'failing') return send(500, error('agent_error'))
    if (agent === 'proxy') return send(404, '<h1>Not Found</h1>', { 'x-request-id': '' })
    if (agent === 'elsewhere') return send(302, '', { location: 'http://127.0.0.1:1/' })
    if (agent === 'foreign') return send(200, '{"hello":"world"}')
    if (agent === 'lost' && tries < 1) return request.socket.destroy()
    if (agent === 'lost' && request.method === 'DELETE') return send(404, error('not_found'))
    if (request.url === '/steps' && tries < 2) return tries === 0 ? cutOff(reply, 100) : send(502, '<h1>Bad</h1>')
    if (request.url === '/steps') return send(200, fine({ status: 'done', steps: [{ id: 'look', result: 'calm' }] }))
    if (request.url?.startsWith('/v1/users/')) return cutOff(reply, undefined, request.url.includes('within'))
    if (request.url?.startsWith('/v1/files')) return tries < 1 ? send(503, '') : send(201, fine({ name: 'kept' }))
    if (request.url?.startsWith('/v1/webhooks')) return send(200, listed(request.url))
    if (agent !== 'streamed') return send(200, fine({ name: agent, response: 'fine', request_id: 'req_1' }))
    reply.writeHead(200, { 'content-type': 'text/event-stream' })
    if (rest === '/invoke') {
      reply.write(events(['1', 'start', { request_id: 'req_9' }], ['2', 'delta', { text: 'One, ' }]), () => {
        request.socket.destroy()
      })
    } else {
      reply.end(`: ping\n\n${events(['3', 'delta', { text: 'two ⛵' }], ['4', 'done', { data: { response: '' } }])}`)
    }
  }
  const server = await startLocalServer(async (request, reply) => {
    await readBody(request)
    const what = `${request.method} ${request.url}`
    const { 'idempotency-key': key, 'last-event-id': last } = request.headers
    const tries = asked.filter((one) => one.what === what).length
    asked.push({ what, key: key as string | undefined, last: last as string | undefined })
    answer(request, reply, tries)
  })
  return Object.assign(server, { asked })
}

describe('the TypeScript SDK and the Python package, against the same service', { skip }, () => {
  let service: Service
  const told: Record<string, Told> = {}
  const asked: Record<string, Asked[]> = {}
  before(async () => {
    service = await startService('sqlite')
    const body = JSON.stringify({ id: 'evt_1', type: 'agent.completed', timestamp: '', agent_id: null, data: {} })
    const [timestamp, secret] = [1_794_700_800, `whsec_${Buffer.alloc(32, 7).toString('base64')}`]
    const headers = { ...signDelivery({ id: 'evt_1', timestamp, body }, [secret]) }
    const webhook = { body, headers, secret, signature: headers['X-Service-Signature'] ?? '', now: timestamp }
    const tellers = { typescript: tellInTypeScript, python: tellInPython }
    for (const [language, tell] of Object.entries(tellers)) {
      const broken = await startBroken()
      const retried = ['busy', 'later', 'told', 'slow', 'proxy', 'foreign', 'lost']
      const place = { url: service.url, key: service.admin, broken: broken.url }
      const steps = { steps: [], said: '', steps_url: `${broken.url}/steps`, steps_token: 't' }
      const called = JSON.stringify({ message: 'Go', ...steps })
      const signed = signDelivery({ id: 'req_1-1', timestamp: Math.floor(Date.now() / 1000), body: called }, [secret])
      const call = { body: called, headers: { ...signed } }
      const path = import.meta.filename
      const given: Given = { ...place, name: 'story', once: language, retried, path, call, webhook }
      told[language] = await tell(given)
      asked[language] = broken.asked
      await broken.close()
    }
  })
  after(() => service.stop())

  test('get the same results', () => {
    const { redirected, ...same } = told['python'] ?? {}
    assert.deepEqual(same, told['typescript'])
    // The key must not be sent to the target of a redirect.
    assert.deepEqual(redirected, ['invalid_reply', 302])
    const { answers, once, memories, webhooks } = same
    const kinds = ['start', 'delta', 'delta', 'done']
    assert.deepEqual(answers, ['High water', kinds, 'High water', 'Ask me', 'queued', 'High water', 'completed'])
    assert.equal((once as unknown[])[0], 1)
    assert.deepEqual(memories, ['Her ship is the Nightingale'])
    const refused = Array.from({ length: 4 }, () => 'refused')
    const { cut_short, left_out, sent_again, served } = same
    assert.deepEqual(left_out, ['whk_0', 'whk_2'])
    const brokenOff = { code: 'unreachable', status: 0, fields: [], retry_after: null, should_retry: null }
    const [between, within] = cut_short as [unknown, number][]
    assert.deepEqual(
      [between, within],
      [
        [brokenOff, 2],
        [brokenOff, 1],
      ],
    )
    assert.deepEqual([sent_again, served], ['kept', ['event: delta', 'event: done']])
    assert.deepEqual(webhooks, ['agent.completed', 'agent.completed', ...refused, true, false])
  })

  test('retry the same requests, and only those that can succeed', () => {
    const counts = (of: Asked[] = []) =>
      Object.fromEntries(
        Object.entries(Object.groupBy(of, ({ what }) => what)).map(([what, all]) => [what, all?.length]),
      )
    const { 'GET /v1/agents/elsewhere': redirected, ...same } = counts(asked['python'])
    assert.equal(redirected, 1)
    assert.deepEqual(same, counts(asked['typescript']))
    assert.deepEqual(same, {
      'GET /v1/agents/busy': 3,
      'GET /v1/agents/later': 1,
      'GET /v1/agents/told': 1,
      'GET /v1/agents/slow': 1,
      'GET /v1/agents/proxy': 1,
      'GET /v1/agents/foreign': 1,
      'GET /v1/agents/lost': 2,
      'POST /v1/agents/streamed/invoke': 1,
      'GET /v1/agents/streamed/invocations/req_9/stream': 1,
      'POST /v1/agents/failing/invoke': 1,
      'POST /v1/agents/busy/invoke': 3,
      'DELETE /v1/agents/lost': 2,
      'GET /v1/users/between/export': 1,
      'GET /v1/users/within/export': 1,
      'POST /v1/files?name=sdk-stories.test.ts': 2,
      'GET /v1/webhooks?limit=1': 1,
      'GET /v1/webhooks?limit=1&offset=1': 1,
      'GET /v1/webhooks?limit=1&offset=2': 1,
      'POST /steps': 3,
    })
  })

  test('repeat a request with its key, and resume a stream where it broke', () => {
    for (const [language, all] of Object.entries(asked)) {
      const keys = new Set(all.filter(({ what }) => what === 'POST /v1/agents/busy/invoke').map(({ key }) => key))
      assert.equal(keys.size, 1, language)
      assert.match([...keys][0] ?? '', KEY, language)
      const joined = all.find(({ what }) => what.endsWith('/stream'))
      assert.equal(joined?.last, '2', language)
      const unkeyed = all.filter(({ what, key }) => !what.startsWith('POST') && key !== undefined)
      assert.deepEqual(unkeyed, [], language)
    }
  })
})
