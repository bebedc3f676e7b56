import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseUrl } from '../support/inside.ts'
import { refuse, startChatPlatform } from '../support/outside/chat-platform.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import { onManyNodes, STORY_ENGINES } from '../support/service/service.ts'
import { createTrigger, post, signed } from '../support/slices/triggers.ts'

const EVENTS = 30
const SECRET = 'octo-secret'
const event = (n: number) => signed.github(SECRET, JSON.stringify({ n }))

for (const engine of STORY_ENGINES) {
  test(`kill -9 while events arrive: what was accepted has run once, and what is sent again too, on ${engine}`, async (t) => {
    const service = await startChildService(t, engine)
    await service.call('PUT', '/v1/secrets/GITHUB', { value: SECRET, hosts: ['none.invalid'] })
    const { data: trigger } = await service.call('POST', '/v1/agents/hello/triggers', {
      message: 'Event {{/n}}',
      verify: { scheme: 'github', secret: 'GITHUB' },
    })
    const send = (n: number) => post({ url: service.url() }, trigger.address, event(n))
    const accepted = new Map<number, string>()
    const wave = Array.from({ length: EVENTS * 3 }, (_, i) => i % EVENTS).map(async (n) => {
      const reply = await send(n).catch(() => undefined)
      if (reply?.status === 202) accepted.set(n, reply.body.data.request_id)
      if (accepted.size === EVENTS / 3) void service.kill()
    })
    await Promise.all(wave)
    await service.kill()
    assert.ok(accepted.size >= EVENTS / 3)

    await service.start()
    for (let n = 0; n < EVENTS; n++) {
      const reply = await send(n)
      assert.ok(reply.status === 200 || reply.status === 202, reply.text)
      const before = accepted.get(n)
      if (before) assert.deepEqual([reply.status, reply.body.data.request_id], [200, before])
    }
    const messages = await until('every event has run', async () => {
      const { data } = await service.call('GET', '/v1/agents/hello/invocations?door=trigger&limit=100')
      const isDone = data.every(({ status }: { status: string }) => status === 'completed')
      return isDone && data.length >= EVENTS ? data : undefined
    })
    const ids = messages.map(({ request_id }: { request_id: string }) => request_id)
    assert.equal(ids.length, EVENTS, 'one run for each event')
    const path = `/v1/agents/hello/triggers/${trigger.id}/deliveries?outcome=accepted&limit=100`
    const { data: deliveries } = await service.call('GET', path)
    const started = deliveries.map(({ request_id }: { request_id: string }) => request_id)
    assert.deepEqual(started.toSorted(), ids.toSorted())
  })
}

const SIGNING = 'signing-secret'
const SLACK = { kind: 'slack', verify: { scheme: 'slack', secret: 'SIGNING' } }

/** The same direct message, as Slack sends it several times. */
const slackEvent = (ts: string) =>
  signed.slack(
    SIGNING,
    JSON.stringify({
      type: 'event_callback',
      team_id: 'T1',
      event: { type: 'message', channel_type: 'im', channel: 'D1', user: 'U1', text: `at ${ts}`, ts },
    }),
    Math.floor(Date.now() / 1000),
  )

/** The same message, as a mail server posts it several times. */
const MAIL = {
  body: 'From: ann@example.com\r\nMessage-ID: <1@example.com>\r\nSubject: Tide\r\n\r\nIs it in?\r\n',
  headers: { 'Content-Type': 'message/rfc822', Authorization: `Bearer ${SIGNING}` },
}

for (const engine of STORY_ENGINES) {
  test(`kill -9 after the claim, and again before the answer has arrived: one run, one answer, on ${engine}`, async (t) => {
    const platform = await startChatPlatform()
    t.after(() => platform.close())
    platform.mood(refuse(503, 'down'))
    const service = await startChildService(t, engine, LOCAL_TOOLS)
    await service.call('PUT', '/v1/secrets/SIGNING', { value: SIGNING, hosts: ['none.invalid'] })
    await service.call('PUT', '/v1/secrets/BOT', { value: 'xoxb-1', hosts: [platform.host] })
    const slack = { bot_token: 'BOT', api_url: platform.url }
    const { data: trigger } = await service.call('POST', '/v1/agents/hello/triggers', { ...SLACK, slack })
    const email = { address: 'help@example.org', provider: 'resend', api_key: 'BOT', api_url: platform.url }
    const { data: byMail } = await service.call('POST', '/v1/agents/hello/triggers', {
      kind: 'email',
      verify: { scheme: 'bearer', secret: 'SIGNING' },
      email,
    })
    const send = () => post({ url: service.url() }, trigger.address, slackEvent('1.1'))
    const sendMail = () => post({ url: service.url() }, byMail.address, MAIL)
    const wave = Array.from({ length: 15 }, async () => {
      const [reply, mailed] = await Promise.all([send(), sendMail()].map((one) => one.catch(() => undefined)))
      if (reply?.status === 202 || mailed?.status === 202) void service.kill()
    })
    await Promise.all(wave)
    await service.kill()

    await service.start()
    // Which of the two was accepted before the end depends on the moment. Their senders send them again.
    await Promise.all([send(), sendMail()])
    const posts = (method: string) => platform.asked.filter((one) => one.method === method)
    await until('both answers are refused', () => posts('chat.postMessage').length > 0 && posts('emails').length > 0)
    await service.kill()
    platform.mood()
    await service.start()
    await until('the answers arrive', () => platform.shown().length > 1)
    for (const reply of [await send(), await sendMail()]) assert.equal(reply.body.data.repeated, true)
    assert.equal(new Set(posts('emails').map(({ key }) => key)).size, 1, 'the provider recognizes the answer')
    const { data: runs } = await service.call('GET', '/v1/agents/hello/invocations?door=trigger')
    const { data: deliveries } = await service.call('GET', `/v1/agents/hello/triggers/${trigger.id}/deliveries`)
    for (const { id } of [trigger, byMail]) {
      await until('it is stored that it was sent', async () => {
        const { data } = await service.call('GET', `/v1/agents/hello/triggers/${id}/deliveries`)
        return data.length === 1 && data[0].answer.status === 'sent'
      })
    }
    assert.deepEqual([runs.length, deliveries.length, platform.shown().length], [2, 1, 2])
  })
}

/** Rejects unless the reply says that a run was started. */
const onlyAccepted = async (reply: Promise<Awaited<ReturnType<typeof post>> | undefined>) => {
  const found = await reply
  if (found?.status !== 202) throw new Error('not the first')
  return found
}

const MASTER_KEY = { MOORAGE_MASTER_KEY: '00'.repeat(32) }

onManyNodes(
  'an event that three nodes receive five times each',
  (service, engine) => {
    test('starts one run and gets one answer', async (t) => {
      const platform = await startChatPlatform()
      t.after(() => platform.close())
      const nodes = [service()]
      // A SQLite store has one node.
      while (engine === 'postgres' && nodes.length < 3)
        nodes.push(await service().beside({ ...LOCAL_TOOLS, ...MASTER_KEY }))
      t.after(() => Promise.all(nodes.slice(1).map((node) => node.stop())))
      for (const [name, value, host] of [
        ['SIGNING', SIGNING, 'none.invalid'],
        ['BOT', 'xoxb-1', platform.host],
      ]) {
        await service().call('PUT', `/v1/secrets/${name}`, { body: { value, hosts: [host] } })
      }
      const agent_id = await newAgent(service())
      const slack = { bot_token: 'BOT', api_url: platform.url }
      const { address, id } = await createTrigger(service(), agent_id, { ...SLACK, message: '{{text}}', slack })
      const events = ['2.1', '2.2']
      const replies = await Promise.all(
        events.flatMap((ts) =>
          nodes.flatMap((node) => Array.from({ length: 5 }, () => post(node, address, slackEvent(ts)))),
        ),
      )
      assert.equal(replies.filter(({ status }) => status === 202).length, 2)
      assert.ok(replies.every(({ status }) => status === 200 || status === 202))
      await until('both answers are stored as sent', async () => {
        const { body } = await service().call('GET', `/v1/agents/${agent_id}/triggers/${id}/deliveries`)
        return body.data.every(({ answer }: { answer?: { status: string } }) => answer?.status === 'sent')
      })
      assert.equal(platform.shown().length, 2)
      const { body } = await service().call('GET', `/v1/agents/${agent_id}/invocations`)
      assert.equal(body.total ?? body.data.length, 2)
      await service().call('DELETE', `/v1/agents/${agent_id}/triggers/${id}`)
    })

    // A SQLite store has one node.
    const skip = engine !== 'postgres'
    test('starts one run and gets one answer, although the node that accepted it is killed', { skip }, async (t) => {
      const platform = await startChatPlatform()
      t.after(() => platform.close())
      platform.mood(refuse(503, 'down'))
      const other = await service().beside({ ...LOCAL_TOOLS, ...MASTER_KEY })
      t.after(() => other.stop())
      const shared = { MOORAGE_INIT_KEY: service().admin, DATABASE_URL: databaseUrl(service()) }
      const mortal = await startChildService(t, engine, { ...LOCAL_TOOLS, ...MASTER_KEY, ...shared })
      await service().call('PUT', '/v1/secrets/SIGNING', { body: { value: SIGNING, hosts: ['none.invalid'] } })
      await service().call('PUT', '/v1/secrets/BOT', { body: { value: 'xoxb-1', hosts: [platform.host] } })
      const agent_id = await newAgent(service())
      const slack = { bot_token: 'BOT', api_url: platform.url }
      const { address, id } = await createTrigger(service(), agent_id, { ...SLACK, message: '{{text}}', slack })
      const send = (node: { url: string }) =>
        Array.from({ length: 5 }, () => post(node, address, slackEvent('3.1')).catch(() => undefined))
      const first = send({ url: mortal.url() })
      assert.equal((await Promise.any(first.map(onlyAccepted))).status, 202)
      const [replies] = await Promise.all([Promise.all([service(), other].flatMap(send)), mortal.kill()])
      for (const reply of replies) assert.deepEqual([reply?.status, reply?.body.data.repeated], [200, true])
      platform.mood()
      // The leases of the killed node end.
      for (const node of [service(), other]) node.advance(60_000)
      await until('the answer is stored as sent', async () => {
        const { body } = await service().call('GET', `/v1/agents/${agent_id}/triggers/${id}/deliveries`)
        return body.data[0]?.answer?.status === 'sent' ? body.data : undefined
      })
      const { body } = await service().call('GET', `/v1/agents/${agent_id}/invocations`)
      assert.deepEqual([body.data.length, body.data[0].status, platform.shown().length], [1, 'completed', 1])
    })
  },
  { ...LOCAL_TOOLS, ...MASTER_KEY },
)
