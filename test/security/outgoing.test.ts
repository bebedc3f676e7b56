import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startDnsServer, type Zone } from '../support/outside/dns-server.ts'
import { type Receiver, receive } from '../support/outside/receiver.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, type Settings, startService, withService } from '../support/service/service.ts'

const OPEN_TOOLS = { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8' }
const OPEN_WEBHOOKS = { MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'true', MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '127.0.0.0/8' }

/** What a tool that calls the receiver brings back. */
async function callTool(service: Service, { url }: Pick<Receiver, 'url'>): Promise<string> {
  const agent = await newAgent(service, {
    model: 'builtin/script',
    script: { rules: [{ call: { tool: 'ask' } }] },
    tools: [{ type: 'http', name: 'ask', url }],
  })
  const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  return body.data.response
}

async function createWebhook(service: Service, { url }: Pick<Receiver, 'url'>) {
  const { status, body } = await service.call('POST', '/v1/webhooks', { body: { url, events: ['*'] } })
  return { status, error: body.error?.details[0].error }
}

function story(name: string, settings: Settings, tell: (service: Service, receiver: Receiver) => Promise<void>) {
  test(name, async (t) => {
    const receiver = await receive(t, (_request, response) => void response.end('reached'))
    await withService('sqlite', (service) => tell(service, receiver), settings)
  })
}

describe('addresses that can be called', () => {
  story('nothing private by default; a refusal names the setting', {}, async (service, receiver) => {
    assert.deepEqual(await createWebhook(service, receiver), {
      status: 400,
      error:
        'must use https (the operator can allow http to this address with outgoing.allowInsecure and outgoing.allowedCidrs)',
    })
    assert.match(
      await callTool(service, receiver),
      /refused \(invalid_url\): .*outgoing\.allowInsecure and outgoing\.allowedCidrs\)$/,
    )
    const secure = { url: receiver.url.replace('http:', 'https:') }
    assert.match(await callTool(service, secure), /refused \(blocked_address\): .*outgoing\.allowedCidrs\)$/)
    assert.equal(receiver.sockets.length, 0)
  })

  story('outgoing.* allows private addresses for tools and webhooks', OPEN_TOOLS, async (service, receiver) => {
    assert.equal(await callTool(service, receiver), 'reached')
    assert.equal((await createWebhook(service, receiver)).status, 201)
  })

  story(
    'webhooks.* can restrict webhooks, and a refusal names it',
    { ...OPEN_TOOLS, MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '10.0.0.0/8' },
    async (service, receiver) => {
      assert.equal(await callTool(service, receiver), 'reached')
      assert.deepEqual(await createWebhook(service, receiver), {
        status: 400,
        error: 'must point to a public address (the operator can allow this one with webhooks.allowedCidrs)',
      })
    },
  )

  story('webhooks.* can allow private addresses for webhooks only', OPEN_WEBHOOKS, async (service, receiver) => {
    assert.match(await callTool(service, receiver), /refused \(invalid_url\): .*outgoing\.allowInsecure/)
    assert.equal((await createWebhook(service, receiver)).status, 201)
    assert.equal(receiver.sockets.length, 0)
  })
})

describe('host names that are slow to resolve', () => {
  test('twelve webhooks on slow host names do not delay other agents', async (t) => {
    const slow = Array.from({ length: 12 }, (_, index) => `slow${index}.test`)
    const zone: Zone = Object.fromEntries(slow.map((name) => [name, { A: 'silent', AAAA: 'silent' }]))
    const dns = await startDnsServer(t, { ...zone, 'quick.test': { A: ['127.0.0.1'] } })
    const receiver = await receive(t, (_request, response) => void response.end('reached'))
    const service = await startService(
      'sqlite',
      { ...OPEN_TOOLS, MOORAGE_SERVER__DRAIN_TIMEOUT: '0s' },
      { nameservers: [dns.address] },
    )
    try {
      const noisy = await newAgent(service)
      for (const name of slow) {
        const body = { agent_id: noisy, url: `http://${name}:${receiver.port}/`, events: ['agent.completed'] }
        assert.equal((await service.call('POST', '/v1/webhooks', { body })).status, 201)
      }
      for (let count = 0; count < 5; count += 1) {
        await service.call('POST', `/v1/agents/${noisy}/invoke`, { body: { message: 'hello' } })
      }
      await until('the name server is busy', () => dns.asked.length >= 16)
      await inOneAttempt(async () => {
        const started = performance.now()
        assert.equal(await callTool(service, { url: `http://quick.test:${receiver.port}/` }), 'reached')
        assert.ok(performance.now() - started < 3_000, `${performance.now() - started} ms`)
      })
    } finally {
      await service.stop()
    }
  })
})
