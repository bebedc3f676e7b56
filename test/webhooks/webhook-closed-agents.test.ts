import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { NOWHERE } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { LOCAL_RECEIVERS, listDeliveries, openInbox, pass, uniqueName } from '../support/slices/webhooks.ts'

const INSIDE = { 'X-Forwarded-For': '10.1.2.3' }
const OUTSIDE = { 'X-Forwarded-For': '192.0.2.1' }
const ADDRESSES = { ipWhitelist: { enabled: true, addresses: ['10.1.0.0/16'] } }
const CODES = { mfa: { enabled: true, requiredFor: ['webhooks'] } }
const DAY = 86_400_000

onAnyEngine(
  'agents that check their callers, and who learns of them',
  (service) => {
    const done = async (method: string, path: string, body?: object, headers: Record<string, string> = INSIDE) => {
      const reply = await service().call(method, path, { body, headers })
      assert.ok(reply.status < 300, reply.text)
      return reply.body.data
    }
    const newAgent = async (security: object | null): Promise<string> =>
      (await done('POST', '/v1/agents', { name: uniqueName(), security })).id
    const hookOf = async (url: string, agent_id: string | null, headers = OUTSIDE) =>
      done('POST', '/v1/webhooks', { url, agent_id, events: ['*'] }, headers)
    const listener = async () => (await done('POST', '/v1/listeners', { events: ['*'] }, OUTSIDE)).id
    const heardBy = async (id: string) => {
      const { deliveries } = await done('GET', `/v1/listeners/${id}`, undefined, OUTSIDE)
      return deliveries.map(({ body }: { body: string }) => JSON.parse(body).agent_id)
    }
    const ask = (agent: string) => done('POST', `/v1/agents/${agent}/invoke`, { message: 'the answer' })
    const close = (agent: string, security: object) => done('PATCH', `/v1/agents/${agent}`, { security })
    const deploy = (agent: string) =>
      done('POST', `/v1/agents/${agent}/deployments`, { environment: 'production', version: 'v1' })

    /** A webhook of all agents whose receiver is down, and its delivery about an agent that closes then. */
    const closeBeforeRetry = async (t: TestContext, security: object) => {
      let isUp = false
      const inbox = await openInbox(t, (_, __, response) => response.writeHead(isUp ? 200 : 500))
      const agent = await newAgent(null)
      const { id } = await hookOf(inbox.url, null)
      await ask(agent)
      await until('the first attempt', async () => (await listDeliveries(service(), id))[0]?.attempt_count >= 1)
      await close(agent, security)
      isUp = true
      pass(service(), DAY)
      const path = `/v1/webhooks/${id}/deliveries`
      const ended = await until('its end', async () => {
        const [delivery] = await done('GET', path)
        return delivery.status !== 'pending' && delivery
      })
      return { inbox, id, agent, path, ended }
    }

    for (const [what, security] of Object.entries({ 'an address list': ADDRESSES, 'codes for webhooks': CODES })) {
      describe(`an agent with ${what}`, () => {
        test('reports nothing to webhooks and listeners of all agents', async (t) => {
          const inbox = await openInbox(t)
          const [closed, open] = [await newAgent(security), await newAgent(null)]
          const { id } = await hookOf(inbox.url, null)
          const ear = await listener()
          await ask(closed)
          await deploy(closed)
          await ask(open)
          await deploy(open)
          const arrived = (await inbox.first(2)).map(({ body }) => JSON.parse(body).agent_id)
          assert.deepEqual(arrived, [open, open])
          assert.equal((await done('GET', `/v1/webhooks/${id}/deliveries`)).length, 2)
          assert.deepEqual(await heardBy(ear), [open, open])
          assert.equal(inbox.arrivals.length, 2)
        })

        test('that closes later: what waits is not sent', async (t) => {
          const { inbox, ended } = await closeBeforeRetry(t, security)
          assert.deepEqual(
            [ended.status, ended.attempt_count, ended.next_attempt_at, ended.attempts.at(-1).error],
            ['failed', 2, null, 'agent_closed'],
          )
          assert.equal(inbox.arrivals.length, 1)
        })

        test('that closes later: a listener does not get events that it has not fetched', async () => {
          const [closing, open] = [await newAgent(null), await newAgent(null)]
          const ear = await listener()
          await ask(closing)
          await ask(open)
          assert.deepEqual(await heardBy(ear), [closing, open])
          await close(closing, security)
          assert.deepEqual(await heardBy(ear), [open])
        })
      })
    }

    test('its own webhooks get its events, and a new URL for a webhook of all agents does not change what it gets', async (t) => {
      const [own, taken] = [await openInbox(t), await openInbox(t)]
      const closed = await newAgent(ADDRESSES)
      await hookOf(own.url, closed, INSIDE)
      const { id } = await hookOf(`${NOWHERE}/`, null, INSIDE)
      await ask(closed)
      await done('PATCH', `/v1/webhooks/${id}`, { url: taken.url }, OUTSIDE)
      const open = await newAgent(null)
      await ask(open)
      assert.equal(JSON.parse((await own.first(1))[0]?.body ?? '').agent_id, closed)
      assert.equal(JSON.parse((await taken.first(1))[0]?.body ?? '').agent_id, open)
    })

    test('what was not sent is sent again only after the agent has opened', async (t) => {
      const { inbox, id, agent, path, ended } = await closeBeforeRetry(t, ADDRESSES)
      const again = await service().call('POST', `${path}/${ended.id}/redeliver`, { headers: INSIDE })
      assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'], again.text)
      await close(agent, { ipWhitelist: { enabled: false } })
      await done('POST', `${path}/${ended.id}/redeliver`)
      assert.equal((await inbox.first(2)).length, 2)
      await until('it counts as well', async () => (await done('GET', `/v1/webhooks/${id}`)).failing_since === null)
    })
  },
  { ...LOCAL_RECEIVERS, MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1' },
)
