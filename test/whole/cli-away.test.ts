import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { LOCAL_TOOLS, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { type SpeakingModel, type Speech, startSpeakingModel } from '../support/outside/speaking-model.ts'
import { openTunnel, type Tunnel } from '../support/outside/tunnel.ts'
import { until } from '../support/running/until.ts'
import { built } from '../support/service/built.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider, startWithModel } from '../support/service/with-model.ts'

const MAIN = built('cli')
/** The model repeats what it is told. */
const ANSWER = 'one two three four five'

type HeldAnswer = { asked: Promise<unknown>; answer: () => void }

describe('commands whose service goes away and comes back', () => {
  let model: ModelServer
  let service: Service
  let stop: () => Promise<void>
  let tunnel: Tunnel
  let shell: Shell
  before(async () => {
    const settings = { ...LOCAL_TOOLS, MOORAGE_SERVER__DRAIN_TIMEOUT: '500ms' }
    ;({ service, model, stop } = await startWithModel('sqlite', settings))
    tunnel = await openTunnel(service.url)
    shell = newShell({ url: tunnel.url, admin: service.admin })
    await service.call('POST', '/v1/agents', { body: { name: 'slow', model: 'local/m' } })
  })
  after(async () => {
    shell.remove()
    await tunnel.leave()
    await stop()
  })

  /** From now on a run of `slow` has begun when `asked` resolves, and ends after `answer` was called. */
  function holdModel() {
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    model.holdNext(promise)
    return { asked: model.nextRequest(), answer }
  }

  /** Runs a command; once its run has begun the service is away until the command has said so. */
  async function runAcross(args: string[], { asked, answer }: HeldAnswer = holdModel(), meanwhile = async () => {}) {
    let said = ''
    const stopWhen = (_stdout: string, stderr: string) => {
      said = stderr
      return false
    }
    const running = shell.moorage(args, { stopWhen })
    await asked
    await tunnel.leave()
    await meanwhile()
    await until('a word on stderr', () => said.includes('retrying'))
    await tunnel.comeBack(service.url)
    answer()
    return running
  }

  const countRuns = async () =>
    (await service.call('GET', '/v1/agents/slow/invocations?limit=1')).body.pagination.total as number

  for (const way of [[], ['--no-stream'], ['--json']]) {
    test(`invoke ${way.join(' ')}: prints the whole answer once, from one run`, async () => {
      const runs = await countRuns()
      const { code, stdout, stderr } = await runAcross(['invoke', 'slow', ANSWER, ...way])
      assert.equal(code, 0, stderr)
      assert.equal(way[0] === '--json' ? JSON.parse(stdout).response : stdout.trimEnd(), ANSWER)
      assert.equal(await countRuns(), runs + 1)
    })
  }

  test('invocations follow: continues after a restart of the service', async () => {
    const held = holdModel()
    const { body } = await service.call('POST', '/v1/agents/slow/invoke', {
      body: { message: ANSWER },
      headers: { Prefer: 'respond-async' },
    })
    const following = ['invocations', 'follow', 'slow', body.data.request_id]
    const joined = { ...held, asked: Promise.all([held.asked, tunnel.sent('event: start')]) }
    const { code, stdout, stderr } = await runAcross(following, joined, () => service.restart())
    assert.equal(code, 0, stderr)
    assert.equal(stdout, `${ANSWER}\n`)
  })

  test('logs -f: continues after a restart, says so, and misses nothing', async () => {
    const linesOf = (text: string) => text.trim().split('\n').length
    let printed = ''
    let said = ''
    const following = shell.moorage(['logs', 'hello', '-f', '--level', 'info'], {
      stopWhen: (stdout, stderr) => {
        printed = stdout
        said = stderr
        return linesOf(stdout) === 3
      },
    })
    const say = (message: string) => service.call('POST', '/v1/agents/hello/invoke', { body: { message } })
    await say('before')
    await until('the first entry', () => printed !== '')
    await tunnel.leave()
    await until('a word on stderr', () => said.includes('retrying'))
    await service.restart()
    await say('while away')
    await tunnel.comeBack(service.url)
    await until('a word of relief', () => said.includes('The service is available again'))
    await say('after')
    assert.equal((await following).code, 130)
    assert.equal(linesOf(printed), 3)
    assert.equal(said.match(/retrying/g)?.length, 1)
  })

  test('invoke fails immediately if the service never responded', async () => {
    await tunnel.leave()
    const { code } = await shell.moorage(['invoke', 'slow', 'hi'])
    assert.equal(code, 7)
    await tunnel.comeBack(service.url)
  })
})

test('a wait for the rate limit is shown, with its length', async () => {
  let refusals = 1
  const server = await startLocalServer((_request, response) => {
    if (refusals-- > 0) {
      const error = { code: 'rate_limited', message: 'Rate limit exceeded', retry_after: 1 }
      return response.writeHead(429, { 'retry-after': '1' }).end(JSON.stringify({ success: false, error }))
    }
    const pagination = { limit: 50, offset: 0, total: 0, has_more: false }
    response.writeHead(200, { 'x-request-id': 'req_1' }).end(JSON.stringify({ data: [], pagination }))
  })
  const shell = newShell({ url: server.url, admin: 'mrg_x' })
  const { code, stderr } = await shell.moorage(['agents', 'list'])
  shell.remove()
  await server.close()
  assert.equal(code, 0)
  assert.match(stderr, /^Rate limit exceeded: retrying in 1 s\n/)
})

describe('moorage invoke | head', () => {
  let service: Service
  let model: SpeakingModel
  let isSpending = false
  before(async () => {
    model = await startSpeakingModel()
    void model.next().then(talkWithoutEnd)
    service = await startService('sqlite', localProvider(model.url))
    await service.call('POST', '/v1/agents', { body: { name: 'endless', model: 'local/m' } })
  })
  after(async () => {
    await service.stop()
    await model.close()
  })

  /** A line at a time. */
  async function talkWithoutEnd({ say, closed }: Speech) {
    isSpending = true
    const timer = setInterval(() => say('a line\n'), 20)
    await closed
    clearInterval(timer)
    isSpending = false
  }

  test('when the reader closes the pipe, the run is cancelled, nothing more is spent, and the exit code is 0', async () => {
    const env = {
      ...childEnv(),
      HOME: '/nonexistent',
      MOORAGE_URL: service.url,
      MOORAGE_API_KEY: service.admin,
    }
    const child = startChild(process.execPath, [MAIN, 'invoke', 'endless', 'go', '--stream'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    await once(child.stdout, 'data')
    assert.ok(isSpending)
    child.stdout.destroy()
    assert.deepEqual(await ended, [0, null], said)
    await until('the model to be left alone', () => !isSpending)
    const { body } = await service.call('GET', '/v1/agents/endless/invocations')
    assert.deepEqual(
      body.data.map(({ status }: { status: string }) => status),
      ['cancelled'],
    )
  })

  test('when stderr is closed, only its messages are lost', async () => {
    const env = {
      ...childEnv(),
      HOME: '/nonexistent',
      MOORAGE_URL: service.url,
      MOORAGE_API_KEY: service.admin,
    }
    const child = startChild(process.execPath, [MAIN, 'invoke', 'hello', 'still there'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stderr.destroy()
    let stdout = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    const [code] = await once(child, 'close')
    assert.deepEqual([code, stdout], [0, 'still there\n'])
  })
})
