import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Invocation } from '../../sdk/client.ts'
import { newShell } from '../support/clients/cli.ts'
import { type Answer, inTerminal } from '../support/clients/terminal.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { childEnv } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'
import { uploaded } from '../support/slices/files.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'

describe('moorage chat in a terminal', () => {
  let service: Service
  let folder: string
  before(async () => {
    service = await startService('sqlite')
    folder = mkdtempSync(join(tmpdir(), 'moorage-chat-'))
    const rules = [
      { match: { equals: 'slow' }, reply: 'here at last', delay_ms: 700 },
      { match: { equals: 'endless' }, reply: 'never', delay_ms: 60_000 },
      { reply: 'heard {{message}}' },
    ]
    await service.call('POST', '/v1/agents', { body: { name: 'talker', model: 'builtin/script', script: { rules } } })
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await service.stop()
  })

  /** What stood on the screen when it was over, without the receipts. */
  const chat = async (...answers: Answer[]) => {
    const env = {
      ...childEnv(),
      HOME: folder,
      NO_COLOR: '1',
      MOORAGE_URL: service.url,
      MOORAGE_API_KEY: service.admin,
    }
    const { code, stdout } = await inTerminal(['chat', 'talker'], { cwd: folder, env, answers })
    const screen = stdout.replaceAll('\r', '').replaceAll(/^req_.*\n/gm, '')
    return { code, screen: screen.slice(screen.indexOf('›')) }
  }

  test('/exit and /quit end it, and are not sent to the agent', async () => {
    for (const word of ['/exit', '/quit']) {
      const told = await chat({ when: /›/, send: 'hi\r' }, { when: /heard hi[^›]*›/, send: `${word}\r` })
      assert.deepEqual(told, { code: 0, screen: `› hi\nheard hi\n› ${word}\n` })
    }
  })

  test('Ctrl-D and Ctrl-C at the prompt end it on a new line', async () => {
    for (const send of [CTRL_D, CTRL_C]) assert.deepEqual(await chat({ when: /›/, send }), { code: 0, screen: '› \n' })
  })

  test('Ctrl-D during an answer ends it after the answer', async () => {
    const told = await chat({ when: /›/, send: 'slow\r' }, { when: /slow/, send: CTRL_D })
    assert.deepEqual(told, { code: 0, screen: '› slow\nhere at last\n' })
  })

  test('text typed during an answer is kept: whole lines are sent in turn, the rest stays at the prompt', async () => {
    const told = await chat(
      { when: /›/, send: 'slow\r' },
      { when: /slow/, send: 'second\rthird\rfour' },
      { when: /heard third[^›]*› four/, send: 'th\r' },
      { when: /heard fourth[^›]*›/, send: '/exit\r' },
    )
    assert.equal(told.code, 0)
    assert.equal(
      told.screen,
      '› slow\nhere at last\n› second\nheard second\n› third\nheard third\n› fourth\nheard fourth\n› /exit\n',
    )
  })

  test('Ctrl-C stops the answer and drops the text typed during it', async () => {
    const told = await chat(
      { when: /›/, send: 'endless\r' },
      { when: /endless/, send: `unsaid\r${CTRL_C}` },
      { when: /\(stopped\)[^›]*›/, send: 'next\r' },
      { when: /heard next[^›]*›/, send: CTRL_D },
    )
    assert.equal(told.code, 0)
    assert.equal(told.screen, '› endless\n\n(stopped)\n› next\nheard next\n› \n')
    const { body } = await service.call('GET', '/v1/agents/talker/invocations?limit=2')
    assert.deepEqual(
      body.data.map(({ message, status }: { message: string; status: string }) => [message, status]),
      [
        ['next', 'completed'],
        ['endless', 'cancelled'],
      ],
    )
  })

  test('in a script, lines are sent in order and /exit ends it', async () => {
    const shell = newShell(service)
    const { code, stdout } = await shell.moorage(['chat', 'talker'], { stdin: 'one\n\ntwo\n/exit\nthree\n' })
    shell.remove()
    assert.deepEqual([code, stdout], [0, 'heard one\nheard two\n'])
  })

  test('--attach adds files to the first message, and /attach to the next one', async () => {
    const shell = newShell(service)
    for (const name of ['first.txt', 'second one.txt']) writeFileSync(join(folder, name), name)
    const { code, stdout, stderr } = await shell.moorage(['chat', 'talker', '--attach', 'first.txt'], {
      cwd: folder,
      stdin: 'one\n/attach second one.txt\ntwo\nthree\n',
    })
    assert.deepEqual([code, stdout], [0, 'heard one\nheard two\nheard three\n'], stderr)
    assert.match(stderr, /second one\.txt will be sent with your next message/)
    const { body } = await service.call('GET', '/v1/agents/talker/invocations?limit=3')
    const files = body.data.map((run: Invocation) => run.attachments.map(({ name }) => name))
    assert.deepEqual(files, [[], ['second one.txt'], ['first.txt']])
    for (const name of ['nothing.txt', '.']) {
      const missing = await shell.moorage(['chat', 'talker'], { cwd: folder, stdin: `/attach ${name}\n` })
      assert.deepEqual([missing.code, missing.stderr.includes(`${name} can't be read`)], [3, true], missing.stderr)
    }
    shell.remove()
  })

  test('--attach accepts a file ID, and `files get` does not overwrite an existing file', async () => {
    const shell = newShell(service)
    writeFileSync(join(folder, 'kept.txt'), 'kept')
    const { stdout: id } = await shell.moorage(['files', 'put', 'kept.txt'], { cwd: folder })
    const { code, stderr } = await shell.moorage(['invoke', 'talker', 'one', '--attach', id.trim()])
    assert.equal(code, 0, stderr)
    const { body } = await service.call('GET', '/v1/agents/talker/invocations?limit=1')
    assert.deepEqual(
      body.data[0].attachments.map(({ file_id }: { file_id: string }) => file_id),
      [id.trim()],
    )
    const get = await shell.moorage(['files', 'get', id.trim(), '-o', 'kept.txt'], { cwd: folder })
    shell.remove()
    assert.deepEqual([get.code, get.stderr], [1, 'error: kept.txt already exists.\n'])
  })

  test('`files get -o` leaves no partial file if the connection breaks, and the next try gets all of it', async () => {
    const bytes = Buffer.alloc(300_000, 'whole')
    const id = await uploaded(service, bytes)
    let breaks = true
    const proxy = await startLocalServer(async (request, response) => {
      const { authorization = '' } = request.headers
      const reply = await fetch(service.url + request.url, { headers: { authorization } })
      const content = Buffer.from(await reply.arrayBuffer())
      const headers = { 'x-request-id': reply.headers.get('x-request-id') ?? '', 'content-length': content.length }
      response.writeHead(reply.status, headers)
      if (breaks) response.write(content.subarray(0, 1_000), () => response.destroy())
      else response.end(content)
    })
    const shell = newShell({ url: proxy.url, admin: service.admin })
    const kept = readdirSync(shell.folder)
    const get = () => shell.moorage(['files', 'get', id, '-o', 'copy.txt'])
    const broken = await get()
    assert.notEqual(broken.code, 0, broken.stderr)
    assert.deepEqual(readdirSync(shell.folder), kept)
    breaks = false
    const { code, stderr } = await get()
    assert.equal(code, 0, stderr)
    assert.deepEqual(readdirSync(shell.folder), [...kept, 'copy.txt'].toSorted())
    assert.ok(readFileSync(join(shell.folder, 'copy.txt')).equals(bytes))
    shell.remove()
    await proxy.close()
  })
})
