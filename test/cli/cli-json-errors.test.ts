import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newShell, shellOfAdmin } from '../support/clients/cli.ts'

describe('errors of commands with --json', () => {
  const { service, shell } = shellOfAdmin()
  const failing = async (...args: string[]) => {
    const { code, stdout, stderr } = await shell().moorage([...args, '--json'])
    assert.equal(stdout, '')
    const body = JSON.parse(stderr)
    assert.equal(body.exit_code, code, stderr)
    return body
  }

  test("print the service's error unchanged, with the request ID", async () => {
    const { request_id, ...missing } = await failing('agents', 'get', 'nobody-at-all')
    assert.match(request_id, /^req_/)
    assert.deepEqual(missing, {
      success: false,
      error: { code: 'not_found', message: 'Agent "nobody-at-all" not found.' },
      exit_code: 3,
    })
    const { error } = await failing('agents', 'create', 'Bad Name')
    assert.equal(error.code, 'invalid_request')
    assert.deepEqual(
      error.details.map(({ field }: { field: string }) => field),
      ['name'],
    )
  })

  test("are printed for the command's own errors", async () => {
    assert.deepEqual(await failing('agents', 'delete', 'hello'), {
      success: false,
      error: {
        code: 'usage',
        message:
          'Delete hello with its deployments, schedules, memory, logs, webhooks and keys? Pass --yes to confirm without a terminal.',
      },
      exit_code: 2,
    })
    const nobody = newShell()
    const { code, stderr } = await nobody.moorage(['agents', 'list', '--url', 'http://127.0.0.1:9', '--json'])
    nobody.remove()
    const { error } = JSON.parse(stderr)
    assert.deepEqual([code, error.code], [4, 'unauthorized'])
    assert.match(error.hint, /moorage login/)
  })

  test('are printed for unknown commands and flags', async () => {
    for (const args of [['nonsense'], ['agents', 'list', '--nonsense'], ['agents', 'get'], ['agents']]) {
      const { error, exit_code } = await failing(...args)
      assert.deepEqual([error.code, exit_code], ['usage', 2], args.join(' '))
      assert.ok(!error.message.startsWith('error'), error.message)
    }
  })

  test('other messages are printed as one JSON object per line', async () => {
    const { code, stdout, stderr } = await shell().moorage([
      'keys',
      'list',
      '--local',
      '--data',
      service().data,
      '--json',
    ])
    assert.equal(code, 0)
    assert.equal(JSON.parse(stdout).length, 1)
    assert.match(JSON.parse(stderr).note, /^Using the local data directly/)
  })

  test("are not printed if --json is only the message's text", async () => {
    const { code, stdout, stderr } = await shell().moorage(['invoke', 'hello', '--', '--json'])
    assert.deepEqual([code, stdout], [0, '--json\n'])
    assert.match(stderr, /^req_/)
  })
})
