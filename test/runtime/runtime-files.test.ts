import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Attachment, FileNotKept } from '../../src/runtime/attachments/attachment.ts'
import type { RunOutcome } from '../../src/runtime/run-outcome.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { limitsOf, localRuntime, runOf } from '../support/service/run-agent.ts'

const MODEL = 'local/tiny'
/** Reading a file with this text never finishes. */
const STUCK = 'stuck'

let server: ModelServer
let runtime: Runtime
const texts = new Map<string, string>()

before(async () => {
  server = await startModelServer()
})
after(() => server.close())
beforeEach(() => {
  server.reset()
  texts.clear()
  runtime = localRuntime({
    providers: [{ name: 'local', type: 'openai-compatible', baseUrl: server.url }],
    files: {
      find: async (_whose, file_id) => ({ ...namedFile(file_id), sha256: file_id, read: () => bytesOf(file_id) }),
      keep: () => Promise.reject(new FileNotKept('there is no room')),
    },
  })
})

function namedFile(file_id: string): Attachment {
  const size = Buffer.byteLength(texts.get(file_id) ?? '')
  return { file_id, name: file_id, media_type: 'text/plain', size }
}

async function* bytesOf(file_id: string): AsyncGenerator<Uint8Array> {
  const text = texts.get(file_id) ?? ''
  if (text === STUCK) await new Promise(() => {})
  yield Buffer.from(text)
}

function attached(named: Record<string, string>): Attachment[] {
  return Object.entries(named).map(([file_id, text]) => {
    texts.set(file_id, text)
    return namedFile(file_id)
  })
}

function completed(outcome: RunOutcome) {
  return outcome.status === 'completed' ? outcome : assert.fail(JSON.stringify(outcome))
}

describe('the text of attached files', () => {
  const words = { 'long.txt': 'word '.repeat(4_000) }

  test('is cut if the model refuses the prompt and there is no history to leave out', async () => {
    server.takeAtMost(8_000)
    const { attachments } = completed(await runtime.run(runOf({ model: MODEL }, { attachments: attached(words) })))
    assert.equal(server.requests.length, 2)
    assert.match(attachments?.[0]?.note ?? '', /^the first \d+ of 20000 bytes of its text/)
  })

  test('is cut to the length that the provider reports', async () => {
    const message =
      "This model's maximum context length is 2000 tokens. However, your messages resulted in 5100 tokens."
    server.takeAtMost(8_000, { status: 400, body: { error: { message, code: 'context_length_exceeded' } } })
    completed(await runtime.run(runOf({ model: MODEL }, { attachments: attached(words) })))
    assert.equal(server.requests.length, 2)
  })

  test('is not the reason if the message alone is too long: the run fails', async () => {
    server.takeAtMost(8_000)
    const message = 'x'.repeat(9_000)
    const outcome = await runtime.run(runOf({ model: MODEL }, { message, attachments: attached(words) }))
    assert.equal(outcome.status === 'failed' && outcome.reason, 'too long')
  })

  test('fits into max_input_tokens, however many quotes and line breaks it has', async () => {
    const rows = Array.from({ length: 3_000 }, (_, i) => ({ id: String(i % 10), as: 'b' }))
    const attachments = attached({ 'rows.json': JSON.stringify(rows), 'long.txt': 'word '.repeat(100_000) })
    const limits = limitsOf({ max_input_tokens: 20_000 })
    completed(await runtime.run(runOf({ model: MODEL, limits }, { attachments })))
    const bytes = Buffer.byteLength(JSON.stringify(server.requests[0]?.body))
    assert.ok(bytes <= 20_000 * 4, `${bytes} bytes`)
  })

  test('504 in time, even while a file is being read', async () => {
    const limits = limitsOf({ timeout_ms: 1_000 })
    const outcome = await runtime.run(runOf({ model: MODEL, limits }, { attachments: attached({ 'a.txt': STUCK }) }))
    assert.equal(outcome.status === 'failed' && outcome.reason, 'timeout')
  })
})
