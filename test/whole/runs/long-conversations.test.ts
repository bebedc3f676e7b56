import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { laneKey } from '../../../src/lib/work/lane-key.ts'
import { EarlierTexts, MAX_EARLIER } from '../../../src/operation/earlier-texts.ts'
import { DEFAULT_PROJECT } from '../../../src/storage/tables/project-tables.ts'
import { partsOf, storageOf, storeOf, wakeJobs } from '../../support/inside.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { leastLongestPass } from '../../support/running/longest-pass.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { holdRuns } from '../../support/service/held-runs.ts'
import { onAnyEngine } from '../../support/service/service.ts'

/** The id of a response contains that of its invocation. */
const requestOf = (id: string | undefined) => id && `req_${id.slice(5, 31)}`

onAnyEngine(
  'a conversation that has become very long',
  (service) => {
    const respond = (model: string, body: object) =>
      service().call('POST', '/v1/responses', { body: { model, ...body } })

    /** A chain of responses with so many bytes, of which the last one is short. */
    const conversation = async (model: string, links: number, bytes: number): Promise<string> => {
      const ids: (string | undefined)[] = [undefined]
      for (let i = 0; i < links; i++) {
        const reply = await respond(model, { input: `link ${i}`, previous_response_id: ids.at(-1) })
        assert.equal(reply.status, 200, reply.text)
        ids.push(reply.body.id)
      }
      const db = storeOf(service())
      const turns = Array.from({ length: bytes / 100 }, (_, i) => ({ role: 'user', content: `${i} `.padEnd(66, 'x') }))
      for (const [i, id] of ids.entries()) {
        if (id === undefined) continue
        const previous = requestOf(ids[i - 1])
        const given = JSON.stringify({ history: turns, ...(previous && { previous }) })
        await db
          .updateTable('invocations')
          .set({ given })
          .where('id', '=', requestOf(id) ?? '')
          .execute()
      }
      return String(ids.at(-1))
    }

    test('many short requests that continue it do not block others, and each loads a limited part of it', async () => {
      const agent = await newAgent(service())
      const last = await conversation(agent, 8, 800_000)
      const ids: (string | undefined)[] = []
      const ms = await leastLongestPass(async () => {
        const replies = await Promise.all(
          Array.from({ length: 6 }, () => respond(agent, { input: 'And now?', previous_response_id: last })),
        )
        for (const reply of replies) assert.equal(reply.status, 200, reply.text)
        ids.push(...replies.map(({ body }) => requestOf(body.id)))
      })
      assert.ok(ms < 100, `${ms} ms`)
      const prompt = await leastLongestPass(async () => {
        const { status, body, text } = await service().call('GET', `/v1/agents/${agent}/invocations/${ids[0]}/prompt`)
        assert.equal(status, 200, text.slice(0, 300))
        const characters = body.data.messages.reduce(
          (sum: number, one: { characters: number }) => sum + one.characters,
          0,
        )
        assert.ok(characters > 1_000_000 && characters < MAX_EARLIER + 1_000_000, `${characters} characters`)
      })
      assert.ok(prompt < 100, `prompt: ${prompt} ms`)
    })

    test('503 with Retry-After if no memory becomes free for it', async () => {
      const agent = await newAgent(service())
      const { body } = await respond(agent, { input: 'Ahoy' })
      const { earlier } = partsOf(service())
      earlier.patienceMs = 50
      const read = async () => ({ value: null, bytes: MAX_EARLIER })
      const full = { lane: laneKey(DEFAULT_PROJECT, 'others'), isPatient: false }
      const held = await Promise.all(Array.from({ length: 32 }, () => earlier.take(read, full)))
      const reply = await respond(agent, { input: 'And now?', previous_response_id: body.id })
      assert.equal(reply.status, 503, reply.text)
      assert.match(reply.body.error.message, /long conversations/)
      assert.equal(reply.headers.get('retry-after'), '1')
      for (const one of held) one?.release()
      earlier.patienceMs = 10_000
      assert.equal((await respond(agent, { input: 'And now?', previous_response_id: body.id })).status, 200)
    })

    test('a background run that waits for memory can be cancelled', async (t) => {
      const agent = await newAgent(service())
      const { body: first } = await respond(agent, { input: 'Ahoy' })
      const { earlier } = partsOf(service())
      const large = async () => ({ value: null, bytes: MAX_EARLIER })
      const others = { lane: laneKey(DEFAULT_PROJECT, 'others'), isPatient: true }
      const full = await Promise.all(Array.from({ length: 32 }, () => earlier.take(large, others)))
      t.after(() => full.forEach((one) => one?.release()))
      const asked = await respond(agent, { input: 'And now?', previous_response_id: first.id, background: true })
      assert.equal(asked.status, 200, asked.text)
      const run = `/v1/agents/${agent}/invocations/${requestOf(asked.body.id)}`
      await until('it has begun', async () => (await service().call('GET', run)).body.data.status === 'running')
      const cancelled = await service().call('POST', `${run}/cancel`)
      assert.equal(cancelled.body.data?.status, 'cancelled', cancelled.text)
    })

    test('a run that continues after its node died, and gets no memory, keeps its steps and costs', async (t) => {
      const held = await holdRuns(t)
      const rules = [
        { match: { equals: 'Ahoy' }, reply: 'Ahoy' },
        { call: { tool: 'hold', arguments: {} }, reply: 'done' },
      ]
      const agent = await newAgent(service(), { ...held.agent, script: { rules } })
      const { body: first } = await respond(agent, { input: 'Ahoy' })
      const headers = { 'Idempotency-Key': randomUUID() }
      const asked = { model: agent, input: 'And now?', previous_response_id: first.id }
      const cut = service().call('POST', '/v1/responses', { body: asked, headers })
      await until('the call', () => held.count() === 1)
      const storage = storageOf(service())
      const { earlier } = partsOf(service())
      earlier.patienceMs = 50
      // All that one project may have, whether or not the run that is cut short still holds its own.
      const others = { lane: laneKey(DEFAULT_PROJECT, 'others'), isPatient: true }
      const large = async () => ({ value: null, bytes: MAX_EARLIER })
      const full = await Promise.all(Array.from({ length: 32 }, () => earlier.take(large, others)))
      const spent = async () => {
        const { text } = await service().call('GET', '/metrics')
        return [...text.matchAll(/^moorage_tokens_total\{.*\} (\d+)$/gm)].map(([, value]) => Number(value))
      }
      const before = await spent()
      // Another node has taken the run over, and has died.
      const runs = `/v1/agents/${agent}/invocations`
      const [{ request_id }] = (await service().call('GET', `${runs}?status=running`)).body.data
      const lost = { owner: 'service:another', lease_until: 1 }
      await storage.db.updateTable('runs').set(lost).where('id', '=', request_id).execute()
      wakeJobs(service())
      assert.equal((await cut).status, 503)
      await until(
        'the end',
        async () => (await service().call('GET', `${runs}/${request_id}`)).body.data.status === 'failed',
      )
      for (const one of full) one?.release()
      earlier.patienceMs = 10_000
      const { body } = await service().call('GET', `${runs}/${request_id}`)
      assert.match(body.data.error.message, /long conversations/)
      assert.deepEqual(
        body.data.steps.map(({ kind }: { kind: string }) => kind),
        ['model'],
      )
      assert.deepEqual(body.data.usage, body.data.steps[0].usage)
      assert.ok(body.data.tokens_used > 0)
      for (const [i, value] of (await spent()).entries()) assert.ok(value >= (before[i] ?? 0), 'tokens are only added')
    })
  },
  LOCAL_TOOLS,
)

test('texts that are smaller than the space reserved for them give back the rest', async () => {
  const texts = new EarlierTexts()
  const small = async () => ({ value: 'small', bytes: 10 })
  const held = []
  for (let i = 0; i < 100; i++) held.push(await texts.take(small, { lane: 'prj/agt', isPatient: false }))
  assert.ok(held.every((one) => one?.value === 'small'))
})
