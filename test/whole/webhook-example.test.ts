import assert from 'node:assert/strict'
import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { isGenuine, isSigned } from '../../examples/webhook-receiver/verify.ts'
import { newWebhookSecret, signDelivery } from '../../src/webhooks/signature.ts'
import { until } from '../support/running/until.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { startService } from '../support/service/service.ts'
import { createWebhook, delivery, LOCAL_RECEIVERS } from '../support/slices/webhooks.ts'
import { findExecutable } from '../support/stores/daemon.ts'

const root = dirname(dirname(import.meta.dirname))
const folder = join(root, 'examples/webhook-receiver')
const python = findExecutable('python3')
const skipPython = !python && !process.env['CI'] && 'there is no python3 on this machine'

const vector = {
  secret: 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  time: 1_794_700_800_000,
  body: Buffer.from(
    '{"id":"evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A","type":"agent.completed","timestamp":"2026-11-15T00:00:00.000Z","agent_id":"agt_01JCN5T0","data":{"request_id":"req_01JCN5W7","tokens_used":42,"duration_ms":1234}}',
  ),
  headers: {
    'webhook-id': 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
    'webhook-timestamp': '1794700800',
    'webhook-signature': 'v1,B0Db+BNdp0NIpU8Wr7WWsetQTavVjW13ccskQGyPu0E=',
  },
  signature: '0438c21a7bba44e1f99b98f268de9f3017df16eab655a6fa16a1045d03a28b18',
}

describe('examples/webhook-receiver/verify.ts', () => {
  const { secret, time, body, headers, signature } = vector
  const other = newWebhookSecret(() => Buffer.alloc(32, 7))

  test('takes the published vector, also among several secrets and signatures', () => {
    assert.equal(isGenuine(headers, body, [secret], time), true)
    assert.equal(isGenuine(headers, body, [other, secret], time), true)
    const several = `v1,AAAA v2,x ${headers['webhook-signature']}`
    assert.equal(isGenuine({ ...headers, 'webhook-signature': several }, body, [secret], time), true)
    assert.equal(isSigned(signature, body, [secret]), true)
    assert.equal(isSigned(signature.toUpperCase(), body, [other, secret]), true)
  })

  test('refuses everything else', () => {
    const changed = Buffer.from(body.toString().replace('42', '43'))
    assert.equal(isGenuine(headers, changed, [secret], time), false)
    assert.equal(isGenuine(headers, body, [other], time), false)
    assert.equal(isGenuine(headers, body, [], time), false)
    assert.equal(isGenuine(headers, body, [secret], time + 301_000), false)
    assert.equal(isGenuine(headers, body, [secret], time - 301_000), false)
    for (const name of Object.keys(headers)) {
      for (const value of [undefined, '', 'x', 'v1,', '1e9']) {
        assert.equal(isGenuine({ ...headers, [name]: value }, body, [secret], time), false, `${name}: ${value}`)
      }
    }
    for (const wrong of ['', 'x', signature.slice(1), signature.replace('0', '1')]) {
      assert.equal(isSigned(wrong, body, [secret]), false)
    }
    assert.equal(isSigned(signature, changed, [secret]), false)
  })
})

describe('the code in docs/webhooks.md', () => {
  const secret = newWebhookSecret(() => Buffer.alloc(32, 3))
  const body = '{"text":"Grüße 😀"}'
  const sign = (seconds: number) => {
    const timestamp = Math.floor(Date.now() / 1000) + seconds
    return signDelivery({ id: 'evt_1', timestamp, body }, [newWebhookSecret(() => Buffer.alloc(32, 4)), secret])
  }
  const cases = () => [
    { headers: sign(0), body },
    { headers: sign(0), body: `${body} ` },
    { headers: sign(-400), body },
  ]
  const snippet = async (language: string) => {
    const page = await readFile(join(root, 'docs/webhooks.md'), 'utf8')
    return page.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? ''
  }

  test('for Node verifies', async (t) => {
    const home = await mkdtemp(join(tmpdir(), 'moorage-docs-'))
    t.after(() => rm(home, { recursive: true }))
    await writeFile(join(home, 'snippet.mts'), `${await snippet('ts')}\nexport { isGenuine }`)
    const { isGenuine: documented } = await import(pathToFileURL(join(home, 'snippet.mts')).href)
    const results = cases().map((sent) => documented(sent.headers, Buffer.from(sent.body), secret))
    assert.deepEqual(results, [true, false, false])
  })

  test('for Python verifies', { skip: skipPython }, async () => {
    const program = `${await snippet('python')}
import json, sys
secret, cases = json.load(sys.stdin)
print(json.dumps([is_genuine(sent["headers"], sent["body"].encode(), secret) for sent in cases]))`
    const child = startChild(python ?? 'python3', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(JSON.stringify([secret, cases()]))
    assert.deepEqual(JSON.parse(await text(child.stdout)), [true, false, false])
  })
})

const languages = [
  { name: 'receiver.ts', command: process.execPath, skip: false as const },
  { name: 'receiver.py', command: python ?? 'python3', skip: skipPython },
]

for (const { name, command, skip } of languages) {
  describe(`examples/webhook-receiver/${name}`, { skip }, () => {
    test('accepts each message of the service once, and nothing else', async (t) => {
      const service = await startService('sqlite', LOCAL_RECEIVERS)
      t.after(() => service.stop())
      const url = 'https://hooks.example.com/'
      const { id, secret } = await createWebhook(service, { url, events: ['*'] })
      const old = newWebhookSecret(() => Buffer.alloc(32, 1))
      const receiver = await startReceiver(t, command, join(folder, name), `${secret},${old}`)
      await service.call('PATCH', `/v1/webhooks/${id}`, { body: { url: receiver.url } })

      const invoked = await service.call('POST', '/v1/agents/hello/invoke', { body: { message: 'Grüße 😀' } })
      const { request_id } = invoked.body.data
      await until('the event', () => receiver.lines.length === 1)
      assert.match(receiver.lines[0] as string, new RegExp(`^agent\\.completed evt_\\w{26} .*"${request_id}"`))

      // It is still being sent until its result is written down.
      const first = await delivery(service, id, 1)
      const { body: again } = await service.call('POST', `/v1/webhooks/${id}/deliveries/${first.id}/redeliver`)
      await until('the second delivery', async () => {
        const { body } = await service.call('GET', `/v1/webhooks/${id}/deliveries/${again.data.id}`)
        return body.data.status === 'delivered' && body.data.attempt_count === 2
      })
      const ping = await service.call('POST', `/v1/webhooks/${id}/test`)
      assert.equal(ping.body.data.response_status, 204)
      await until('the ping', () => receiver.lines.length === 2)

      const sign = (key: string, seconds = 0) => {
        const timestamp = Math.floor(Date.now() / 1000) + seconds
        return { ...signDelivery({ id: 'evt_1', timestamp, body: '{"id":"evt_1","type":"x","data":1}' }, [key]) }
      }
      const post = async (headers: Record<string, string>, body = '{"id":"evt_1","type":"x","data":1}') =>
        (await fetch(receiver.url, { method: 'POST', headers, body })).status
      assert.equal(await post(sign(old)), 204, 'the old secret of a rotation')
      assert.equal(await post(sign(newWebhookSecret(() => Buffer.alloc(32, 2)))), 401)
      assert.equal(await post(sign(secret), '{"id":"evt_2","type":"x","data":1}'), 401)
      assert.equal(await post(sign(secret, -400)), 401, 'a replay')
      assert.equal(await post({}), 401)
      assert.equal(await post(sign(secret), 'x'.repeat(1024 * 1024 + 1)).catch(() => 413), 413)
      assert.deepEqual(
        receiver.lines.map((line) => line.split(' ')[0]),
        ['agent.completed', 'ping', 'x'],
      )
    })

    test('outlives a sender that breaks off', async (t) => {
      const secret = newWebhookSecret(() => Buffer.alloc(32, 5))
      const receiver = await startReceiver(t, command, join(folder, name), secret)
      const { hostname, port } = new URL(receiver.url)
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      const head = ['POST / HTTP/1.1', 'Host: x', 'Content-Length: 100', 'Expect: 100-continue', '', '']
      socket.write(head.join('\r\n'))
      if (name.endsWith('.ts')) await once(socket, 'data')
      await new Promise<void>((sent) => socket.write('{"half":', () => sent()))
      socket.resetAndDestroy()
      assert.equal((await fetch(receiver.url, { method: 'POST', body: '{}' })).status, 401)
      assert.equal((await fetch(receiver.url, { method: 'POST', body: '{}' })).status, 401)
    })
  })
}

async function startReceiver(t: TestContext, command: string, file: string, secrets: string) {
  const env = { ...childEnv(), PORT: '0', WEBHOOK_SECRET: secrets, PYTHONDONTWRITEBYTECODE: '1' }
  const child: ChildProcess = startChild(command, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGKILL')) await ended
  })
  let said = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const url = await until('the receiver', () => /listening on (http:\S+)/.exec(said)?.[1])
  return {
    url: `${url}/`,
    /** What it has printed for events. */
    get lines() {
      return said.split('\n').slice(1, -1)
    },
  }
}
