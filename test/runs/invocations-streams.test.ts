import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { allEvents, readEvents, type SseEvent } from '../support/clients/sse.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

for (const engine of ANY_ENGINE) {
  describe(`a stream that is resumed, on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, JWT_SETTINGS))
    })
    after(() => stop())

    const follow = (agent: string, request_id: string, last_event_id?: string) =>
      fetch(`${service.url}/v1/agents/${agent}/invocations/${request_id}/stream`, {
        headers: {
          Authorization: `Bearer ${service.admin}`,
          ...(last_event_id !== undefined && { 'Last-Event-ID': last_event_id }),
        },
      })

    async function start(agent: string): Promise<string> {
      const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message: 'go' },
        headers: { Prefer: 'respond-async' },
      })
      return body.data.request_id
    }

    const textOf = (events: readonly SseEvent[]) =>
      events.map(({ event, data }) => (event === 'delta' ? (data as { text: string }).text : '')).join('')

    test('repeats nothing that the client has, even before the run has reached that event', async () => {
      const script = { rules: [{ reply: 'a b c d', delay_ms: 300 }] }
      const agent = await newAgent(service, { model: 'builtin/script', script })
      const request_id = await start(agent)
      const events = await allEvents(await follow(agent, request_id, '1.4.0'))
      assert.equal(textOf(events), 'c d')
      assert.deepEqual(events.at(-1)?.event, 'done')
    })

    test('sends neither text nor tool events twice while the run is active', async () => {
      const agent = await newAgent(service, { model: 'local/tiny' })
      const called = { text: ['Let me ', 'look.'], calls: [{ name: 'clock', arguments: {} }] }
      model.reply(called, { text: ['It is ', 'noon'], breaks: 'silence' })
      const request_id = await start(agent)
      const whole: SseEvent[] = []
      for await (const event of readEvents(await follow(agent, request_id))) {
        whole.push(event)
        if (textOf(whole).endsWith('noon')) break
      }
      for (const [index, { id }] of whole.entries()) {
        const rest: SseEvent[] = []
        const wanted = whole.slice(index + 1)
        const response = await follow(agent, request_id, id)
        if (wanted.length > 0) {
          for await (const event of readEvents(response)) {
            rest.push(event)
            if (rest.at(-1)?.id === whole.at(-1)?.id) break
          }
        } else await response.body?.cancel()
        assert.equal(textOf(rest), textOf(wanted), id)
        const tools = (events: SseEvent[]) => events.filter(({ event }) => event.startsWith('tool_'))
        assert.deepEqual(tools(rest), tools(wanted), id)
      }
      await service.call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
    })

    test("is only available to the user's own token", async () => {
      const agent = await newAgent(service, { model: 'local/tiny' })
      model.reply({ text: ['For Ada'], breaks: 'silence' })
      const [ada, bob] = await Promise.all(
        ['ada', 'bob'].map((user_id) => signJwt({ user_id, permissions: ['read', 'write'] })),
      )
      const asked = await fetch(`${service.url}/v1/agents/${agent}/invoke`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${ada}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: '{"message":"hi"}',
      })
      const request_id = asked.headers.get('x-request-id') ?? ''
      const path = `${service.url}/v1/agents/${agent}/invocations/${request_id}/stream`
      const other = await fetch(path, { headers: { Authorization: `Bearer ${bob}` } })
      assert.equal(other.status, 404, await other.text())
      const own = await fetch(path, { headers: { Authorization: `Bearer ${ada}` } })
      assert.equal(own.status, 200)
      for await (const { event } of readEvents(own)) if (event === 'delta') break
      await asked.body?.cancel()
    })

    test('sends a ping every fifteen seconds while the run sends nothing', async (t) => {
      const agent = await newAgent(service, { model: 'local/tiny' })
      model.reply({ text: ['Hm'], breaks: 'silence' })
      t.mock.timers.enable({ apis: ['setInterval'] })
      const request_id = await start(agent)
      const { body } = await follow(agent, request_id)
      assert.ok(body)
      let told = ''
      const reading = body
        .pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write: (text) => void (told += text) }))
      await until('its words', () => told.endsWith('{"text":"Hm"}\n\n'))
      const words = told
      for (const pings of [': ping\n\n', ': ping\n\n: ping\n\n']) {
        t.mock.timers.tick(15_000)
        await until('a ping', () => told === words + pings)
      }
      await service.call('POST', `/v1/agents/${agent}/invocations/${request_id}/cancel`)
      await reading
    })

    test('sends only the end after the last event, and an unknown event ID is refused', async () => {
      const agent = await newAgent(service)
      const request_id = await start(agent)
      await until('the end', async () => {
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
        return body.data.status === 'completed'
      })
      const events = await allEvents(await follow(agent, request_id, 'done'))
      assert.deepEqual(
        events.map(({ event }) => event),
        ['done'],
      )
      const refused = await follow(agent, request_id, 'somewhere')
      assert.equal(refused.status, 400)
      const { error } = (await refused.json()) as { error: { details: unknown } }
      assert.deepEqual(error.details, [
        { field: 'Last-Event-ID', error: 'must be the ID of an event of this invocation' },
      ])
    })
  })
}
