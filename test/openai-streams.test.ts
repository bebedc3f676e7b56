import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponsesWriter } from '../src/http/dialects/openai/responses-writer.ts'
import type { StreamEvent } from '../src/runtime/following/transcript.ts'
import { checkEvents } from './support/openai.ts'

type Told = { type: string; sequence_number: number; delta?: string; text?: string }

test('the stream of a response whose run begins again tells its text once, with rising numbers', () => {
  const request_id = 'req_01KA0000000000000000000000'
  const writer = new ResponsesWriter({ request_id, background: true, given: null, created_at: 0 })
  writer.begin('agt_01KA0000000000000000000000')
  const told: Told[] = []
  const tell = (event: StreamEvent) => {
    const written = writer.event(event)
    for (const [, data] of written.matchAll(/^data: (.*)$/gm)) told.push(JSON.parse(data as string))
  }
  const delta = (id: string, text: string) => tell({ id, event: 'delta', data: { text } })
  tell({ id: '1.0.0', event: 'start', data: {} })
  delta('1.4.0', 'one ')
  delta('1.7.0', 'two')
  tell({ id: '2.0.0', event: 'restart', data: {} })
  delta('2.4.0', 'one ')
  delta('2.13.0', 'two three')
  const [created] = told as [Told & { response: object }]
  const done = { ...created.response, status: 'completed', output: [{ type: 'message' }] }
  tell({ id: 'done', event: 'done', data: JSON.stringify(done) })

  checkEvents(told)
  assert.equal(told.map((event) => event.delta ?? '').join(''), 'one two three')
  assert.equal(told.find(({ type }) => type === 'response.output_text.done')?.text, 'one two three')
})
