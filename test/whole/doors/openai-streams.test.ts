import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChatWriter } from '../../../src/http/dialects/openai/chat-writer.ts'
import { ResponsesWriter } from '../../../src/http/dialects/openai/responses-writer.ts'
import type { StreamEvent } from '../../../src/runtime/following/transcript.ts'
import { checkEvents, gathered, openaiClient } from '../../support/clients/openai.ts'
import { watchWorld } from '../../support/outside/watched-world.ts'
import { startChildService } from '../../support/service/child-service.ts'

type StreamedEvent = { type: string; sequence_number: number; delta?: string; text?: string }

/** Writes a background response, and returns what its client receives. */
function toldBy() {
  const request_id = 'req_01KA0000000000000000000000'
  const writer = new ResponsesWriter({ request_id, background: true, given: null, created_at: 0 })
  writer.begin('agt_01KA0000000000000000000000')
  const told: StreamedEvent[] = []
  const tell = (event: StreamEvent) => {
    const written = writer.event(event)
    for (const [, data] of written.matchAll(/^data: (.*)$/gm)) told.push(JSON.parse(data as string))
  }
  const delta = (id: string, text: string) => tell({ id, event: 'delta', data: { text } })
  return { told, tell, delta }
}

test('a response stream whose run starts again sends its text once, with increasing numbers', () => {
  const { told, tell, delta } = toldBy()
  tell({ id: '1.0.0', event: 'start', data: {} })
  delta('1.4.0', 'one ')
  delta('1.7.0', 'two')
  tell({ id: '2.0.0', event: 'restart', data: {} })
  delta('2.4.0', 'one ')
  delta('2.13.0', 'two three')
  const [created] = told as [StreamedEvent & { response: object }]
  const done = { ...created.response, status: 'completed', output: [{ type: 'message' }] }
  tell({ id: 'done', event: 'done', data: JSON.stringify(done) })

  checkEvents(told)
  assert.equal(told.map((event) => event.delta ?? '').join(''), 'one two three')
  assert.equal(told.find(({ type }) => type === 'response.output_text.done')?.text, 'one two three')
})

test('a response whose run starts again and then waits for a sign-in never goes back to an earlier number', () => {
  const { told, tell, delta } = toldBy()
  tell({ id: '1.0.0', event: 'start', data: {} })
  delta('1.4.0', 'one ')
  delta('1.7.0', 'two')
  const last = told.at(-1)?.sequence_number
  tell({ id: '2.0.0', event: 'restart', data: {} })
  const connection = { name: 'desk', url: 'https://moorage.example/connect', link_id: 'lnk_1' }
  tell({ id: '2.0.0', event: 'waiting', data: { approvals: [{ kind: 'connection', connection }] } })
  assert.deepEqual([told.at(-1)?.type, told.at(-1)?.sequence_number], ['response.in_progress', last])
})

test('a completion stream whose run starts again sends its text once', () => {
  const request_id = 'req_01KA0000000000000000000000'
  const writer = new ChatWriter({ model: 'echo', includeUsage: false, request_id, now: 0 })
  const events = [
    { id: '1.0.0', event: 'start', data: { request_id } },
    { id: '1.4.0', event: 'delta', data: { text: 'one ' } },
    { id: '1.7.0', event: 'delta', data: { text: 'two' } },
    { id: '2.0.0', event: 'restart', data: { request_id } },
    { id: '2.4.0', event: 'delta', data: { text: 'one ' } },
    { id: '2.13.0', event: 'delta', data: { text: 'two three' } },
  ]
  const written = events.map((event) => writer.event(event)).join('')
  const chunks = [...written.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string))
  assert.equal(chunks.map(({ choices }) => choices[0].delta.content).join(''), 'one two three')
})

test('a stream that is asked for again after kill -9 has the ids of the run that it began', async (t) => {
  const world = await watchWorld(t, [{ calls: ['read'] }, { text: 'Done.' }])
  const service = await startChildService(t, 'sqlite', world.settings)
  const tools = [{ type: 'http', name: 'read', url: `${world.url}/read` }]
  await service.call('POST', '/v1/agents', { name: 'reader', model: 'local/tiny', tools })
  const client = () => openaiClient({ url: service.url(), admin: service.admin })
  const ask = async () => {
    const asked = { model: 'reader', input: 'go', stream: true } as const
    return gathered(await client().responses.create(asked, { headers: { 'Idempotency-Key': 'a-killed-stream' } }))
  }
  const chat = async () => {
    const message = { role: 'user', content: 'go' } as const
    const headers = { 'Idempotency-Key': 'a-killed-chat' }
    const asked = { model: 'reader', messages: [message], stream: true as const }
    return gathered(await client().chat.completions.create(asked, { headers }))
  }
  /** Kills the service during the stream. Returns the id of the run, and what the stream tells when it is asked for again. */
  const cutOff = async <T>(stream: () => Promise<T>) => {
    const held = world.hold('read')
    const cut = assert.rejects(stream())
    await held
    await service.kill()
    await cut
    await service.start()
    const { data } = await service.call('GET', '/v1/agents/reader/invocations?limit=1')
    return { id: data[0].request_id.slice('req_'.length), told: await stream() }
  }
  const response = await cutOff(ask)
  checkEvents(response.told)
  const [created] = response.told
  assert.ok(created?.type === 'response.created')
  assert.ok(created.response.id.startsWith(`resp_${response.id}`))
  assert.equal((await client().responses.retrieve(created.response.id)).output_text, 'Done.')

  const completion = await cutOff(chat)
  assert.deepEqual([...new Set(completion.told.map(({ id }) => id))], [`chatcmpl-${completion.id}`])
})
