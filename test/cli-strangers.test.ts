import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { shellOfAdmin } from './support/cli.ts'

const EVIL = 'before\u001b]0;owned\u0007\u001b[2J\u009b31mover\rwrite\tafter'
const SHOWN = 'before\\u001b]0;owned\\u0007\\u001b[2J\\u009b31mover\\u000dwrite\tafter'
const IN_A_CELL = SHOWN.replace('\t', ' ')
/** Of the sign that something is under way, should it take long. */
const CLEAR_LINE = '\r\u001b[K'
const STEERS = /(?![\n\t])\p{Cc}/u

describe('what strangers wrote, in a terminal', () => {
  const { service, shell } = shellOfAdmin()
  let request_id: string
  before(async () => {
    const script = { rules: [{ fail: EVIL }] }
    await service().call('POST', '/v1/agents', { body: { name: 'failing', model: 'builtin/script', script } })
    const { body } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: EVIL } })
    request_id = body.data.request_id
    await service().call('POST', '/v1/keys', { body: { name: EVIL, role: 'viewer' } })
  })
  // Without colours of our own, nothing may be left that steers.
  const seen = async (...args: string[]) => {
    const { stdout, stderr } = await shell().moorage(args, { isTTY: true, env: { NO_COLOR: '1' } })
    const text = (stdout + stderr).replaceAll(CLEAR_LINE, '')
    assert.doesNotMatch(text, STEERS, args.join(' '))
    return text
  }

  test('answers, streamed or whole', async () => {
    for (const how of [[], ['--no-stream']]) {
      assert.ok((await seen('invoke', 'hello', EVIL, ...how)).startsWith(`${SHOWN}\n`))
    }
  })

  test('tables, records, logs and errors', async () => {
    assert.ok((await seen('keys', 'list')).includes(IN_A_CELL))
    assert.ok((await seen('invocations', 'get', 'hello', request_id)).includes(SHOWN))
    assert.ok((await seen('invoke', 'failing', 'hi', '--no-stream')).includes('error'))
    assert.ok((await seen('logs', 'failing')).includes('owned'))
    assert.ok((await seen('agents', 'get', EVIL)).includes('before'))
  })

  test('JSON is still the same JSON', async () => {
    const receipt = JSON.parse(await seen('invocations', 'get', 'hello', request_id, '--json'))
    assert.equal(receipt.message, EVIL)
  })

  test('a program gets every byte of an answer; a table shows them whoever reads it', async () => {
    assert.equal((await shell().moorage(['invoke', 'hello', EVIL])).stdout, `${EVIL}\n`)
    assert.ok((await shell().moorage(['keys', 'list'])).stdout.includes(IN_A_CELL))
  })
})
