import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { shellOfAdmin } from '../support/clients/cli.ts'

const EVIL = 'before\u001b]0;owned\u0007\u001b[2J\u009b31mover\rwrite\u202eback\u2066in\u200f\u2028out\tafter'
const SHOWN =
  'before\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mover\\u000dwrite\\u202eback\\u2066in\\u200f\\u2028out\tafter'
const IN_A_CELL = SHOWN.replace('\t', ' ')
/** Of the sign that something is in progress, should it take long. */
const CLEAR_LINE = '\r\u001b[K'
const STEERS = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u

describe('untrusted text in a terminal', () => {
  const { service, shell } = shellOfAdmin()
  let request_id: string
  before(async () => {
    const script = { rules: [{ fail: EVIL }] }
    await service().call('POST', '/v1/agents', { body: { name: 'failing', model: 'builtin/script', script } })
    const { body } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: EVIL } })
    request_id = body.data.request_id
  })
  // Without our own colors, no control characters may remain.
  const seen = async (...args: string[]) => {
    const { stdout, stderr } = await shell().moorage(args, { isTTY: true, env: { NO_COLOR: '1' } })
    const text = (stdout + stderr).replaceAll(CLEAR_LINE, '')
    assert.doesNotMatch(text, STEERS, args.join(' '))
    return text
  }

  test('control characters are shown as text in answers, streamed or whole', async () => {
    for (const how of [[], ['--no-stream']]) {
      assert.ok((await seen('invoke', 'hello', EVIL, ...how)).startsWith(`${SHOWN}\n`))
    }
  })

  test('in tables, records, logs and errors', async () => {
    assert.ok((await seen('invocations', 'list', 'hello')).includes(IN_A_CELL))
    assert.ok((await seen('invocations', 'get', 'hello', request_id)).includes(SHOWN))
    assert.ok((await seen('invoke', 'failing', 'hi', '--no-stream')).includes('error'))
    assert.ok((await seen('logs', 'failing')).includes('owned'))
    assert.ok((await seen('agents', 'get', EVIL)).includes('before'))
  })

  test('in followed logs, conversations, tool calls and questions', async () => {
    const stopWhen = (stdout: string) => stdout.includes('owned')
    const { stdout } = await shell().moorage(['logs', 'failing', '-f'], {
      isTTY: true,
      env: { NO_COLOR: '1' },
      stopWhen,
    })
    assert.doesNotMatch(stdout, STEERS)
    const talk = await shell().moorage(['chat', 'hello'], { isTTY: true, env: { NO_COLOR: '1' }, stdin: `${EVIL}\n` })
    assert.doesNotMatch(talk.stdout, STEERS)
    assert.ok(talk.stdout.includes('owned'))
    const tools = [{ type: 'http', name: 'lookup', description: 'x', method: 'GET', url: 'https://127.0.0.1:9/' }]
    const rules = [{ match: { equals: 'call' }, call: { tool: 'lookup', arguments: { evil: EVIL } } }, { reply: 'ok' }]
    const body = { name: 'caller', model: 'builtin/script', tools, script: { rules } }
    assert.equal((await service().call('POST', '/v1/agents', { body })).status, 201)
    assert.ok((await seen('invoke', 'caller', 'call')).includes('owned'))
  })

  test("a log message can't look like another log entry", async () => {
    const forged = 'first\n2026-01-01T00:00:00.000Z error forged'
    const script = { rules: [{ fail: forged }] }
    await service().call('POST', '/v1/agents', { body: { name: 'forger', model: 'builtin/script', script } })
    await service().call('POST', '/v1/agents/forger/invoke', { body: { message: 'go' } })
    for (const isTTY of [true, false]) {
      const { stdout } = await shell().moorage(['logs', 'forger'], { isTTY, env: { NO_COLOR: '1' } })
      assert.match(stdout, /forged/)
      assert.doesNotMatch(stdout, /^\S+ error forged/m)
    }
  })

  test('stderr and logs are safe in a file, too', async () => {
    for (const args of [
      ['agents', 'get', EVIL],
      ['logs', 'failing'],
    ]) {
      const { stdout, stderr } = await shell().moorage(args)
      assert.doesNotMatch(stdout + stderr, STEERS, args.join(' '))
    }
  })

  test('--json prints the original text', async () => {
    const receipt = JSON.parse(await seen('invocations', 'get', 'hello', request_id, '--json'))
    assert.equal(receipt.message, EVIL)
  })

  test('an answer is printed unchanged to a pipe, but a table never is', async () => {
    assert.equal((await shell().moorage(['invoke', 'hello', EVIL])).stdout, `${EVIL}\n`)
    assert.ok((await shell().moorage(['invocations', 'list', 'hello'])).stdout.includes(IN_A_CELL))
  })
})
