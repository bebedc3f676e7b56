import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import project from '../../package.json' with { type: 'json' }
import { createClient } from '../../sdk/client.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { codeBlocks, commandsOf, ROOT, readDoc } from '../support/house/docs.ts'
import { LOCAL_TOOLS, readBody, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import type { Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { findExecutable } from '../support/stores/daemon.ts'

const folder = fileURLToPath(new URL('examples/remote-agents/', ROOT))
const GUIDE = readDoc('docs/remote-frameworks.md')
const REFERENCE = readDoc('docs/remote-agents.md')

const skipPython = !findExecutable('python3') && !process.env['CI'] && 'there is no python3 on this machine'

/** The examples, and whether what their model says is heard piece by piece. */
const EXAMPLES = {
  'plain.ts': { isStreamed: false },
  'ai-sdk.ts': { isStreamed: true },
  'langgraph.ts': { isStreamed: true },
  'openai-agents.ts': { isStreamed: true },
  'python.py': { isStreamed: false },
}

/** A message may be a list of parts. */
function wordsOf(content: string | { text: string }[] | null): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join('')
}

/** The words of a command of the guide, and what it is given on stdin. */
function parseCommand(command: string, secret: string): { args: string[]; stdin: string } {
  const [, piped, words = ''] = /^(echo "\$AGENT_SECRET" \| )?moorage (.*)$/.exec(command) ?? assert.fail(command)
  const args = [...words.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
  return { args, stdin: piped ? `${secret}\n` : '' }
}

describe('the examples of remote agents', () => {
  let service: Service
  let model: ModelServer
  let shell: Shell
  let secret: string
  let definition: string
  let stop: () => Promise<void>
  before(async () => {
    ;({ service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS))
    model.replyBy(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return { text: [`${last.content}.`, ' Fair winds!'] }
      return { calls: [{ name: 'book_berth', arguments: { boat: 'Aurora' } }] }
    })
    shell = newShell(service)
    const [, begin = ''] = /^export AGENT_SECRET=\$\((.*)\)$/m.exec(GUIDE) ?? []
    secret = (await shell.moorage(parseCommand(begin, '').args)).stdout.trim()
    definition = readFileSync(join(shell.folder, 'agent.yaml'), 'utf8')
  })
  after(async () => {
    shell.remove()
    await stop()
  })

  /** Starts a program, and hands over where it listens. */
  async function withAgent(
    program: string,
    args: string[],
    use: (url: string, output: () => string) => Promise<void>,
  ): Promise<void> {
    const env = {
      ...childEnv(),
      AGENT_SECRET: secret,
      PORT: '0',
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'sk-test',
      PYTHONPATH: fileURLToPath(new URL('python/', ROOT)),
      PYTHONDONTWRITEBYTECODE: '1',
    }
    const agent = startChild(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    agent.stderr.on('data', (piece) => (said += piece))
    const gone = once(agent, 'exit')
    try {
      const [told] = await Promise.race([once(agent.stdout, 'data'), gone])
      const port = /port: (\d+)/.exec(String(told))?.[1] ?? assert.fail(said)
      await use(`http://127.0.0.1:${port}`, () => said)
    } finally {
      agent.kill()
      await gone
    }
  }

  /** Performs the commands of the guide that come after the agent has started: what they print, by their first word. */
  async function deploy(url: string, version: string): Promise<Record<string, string>> {
    writeFileSync(join(shell.folder, 'agent.yaml'), definition.replace('http://127.0.0.1:4000', url))
    const printed: Record<string, string> = {}
    const blocks = codeBlocks(GUIDE).filter(({ language, code }) => language === 'sh' && /^(echo|moorage)/.test(code))
    for (const command of blocks.flatMap(({ code }) => commandsOf(code))) {
      const { args, stdin } = parseCommand(command.replace('http://127.0.0.1:4000', url).replace('v1', version), secret)
      const { code, stdout, stderr } = await shell.moorage(args, { stdin, env: { AGENT_SECRET: secret } })
      assert.equal(code, 0, `${command}\n${stdout}${stderr}`)
      printed[args[0] ?? ''] = stdout
    }
    return printed
  }

  for (const [file, { isStreamed }] of Object.entries(EXAMPLES)) {
    const isPython = file.endsWith('.py')
    const program = isPython ? 'python3' : process.execPath
    const skip = isPython && skipPython
    test(`${file}: deployed and checked by the guide, invoked, streamed, failed`, { skip }, async () => {
      await withAgent(program, [file], async (url) => {
        const printed = await deploy(url, `v-${file.replace('.', '-')}`)
        assert.deepEqual(Object.keys(printed), ['secrets', 'deploy', 'invoke', 'remote'])
        assert.equal(printed['invoke'], 'Berth 1 is booked for Aurora. Fair winds!\n')
        const shown = codeBlocks(REFERENCE).find(({ language }) => language === 'text')
        assert.equal(printed['remote'], shown?.code)

        const client = createClient({ url: service.url, key: service.admin })
        const context = { session_id: file }
        const first = await client.agents.invoke('harbour', { message: 'A berth', context })
        assert.match(first.response, /^Berth \d+ is booked for Aurora. Fair winds!$/)
        assert.equal(first.tokens_used, 30)
        const spent = await service.call('GET', '/v1/usage?group_by=model')
        assert.match(spent.text, /"openai\/gpt-5-mini"/)
        assert.doesNotMatch(spent.text, /remote/)

        const pieces: string[] = []
        for await (const event of client.agents.stream('harbour', { message: 'And one more', context })) {
          if (event.type === 'delta') pieces.push(event.text)
        }
        assert.match(pieces.join(''), /^Berth \d+ is booked for Aurora. Fair winds!$/)
        assert.equal(pieces.length, isStreamed ? 2 : 1)
        assert.deepEqual(
          model.requests.at(-2)?.body.messages.map(({ role, content }) => [role, wordsOf(content)]),
          [
            ['user', 'A berth'],
            ['assistant', first.response],
            ['user', 'And one more'],
          ],
        )

        model.reply({ status: 400, body: { error: { message: 'no such model' } } })
        const failed = await service.call('POST', '/v1/agents/harbour/invoke', { body: { message: 'A berth' } })
        assert.equal(failed.status, 500, failed.text)
        assert.match(failed.body.error.message, /^The remote agent failed: .*(400|no such model)/i)
      })
    })
  }

  test('in Python, a failed step raises an exception with its message, and a waiting one ends the call', {
    skip: skipPython,
  }, async (t) => {
    const agent = `from moorage import StepError, serve
import os
def answer(run):
    try:
        run.tool('look', 'look')
    except StepError as error:
        captain = run.ask_person('captain', 'Shall we sail?')
        return f'Look: {error}. The captain: {captain}'
serve(answer, os.environ['AGENT_SECRET'], port=0)`
    const broken = await startLocalServer((_request, response) => void response.writeHead(500).end())
    t.after(broken.close)
    const hosts = ['127.0.0.1']
    await service.call('PUT', '/v1/secrets/PYTHON', { body: { value: secret, hosts } })
    await withAgent('python3', ['-c', agent], async (url) => {
      const look = { type: 'http', name: 'look', url: broken.url, method: 'POST' }
      const remote = { url, secret: 'PYTHON' }
      const id = await newAgent(service, { kind: 'remote', remote, tools: [look], approvals: { self: true } })
      const waiting = await service.call('POST', `/v1/agents/${id}/invoke`, { body: { message: 'Sail' } })
      assert.equal(waiting.status, 202, waiting.text)
      const path = `/v1/agents/${id}/invocations/${waiting.body.data.request_id}`
      const body = { decision: 'approve', answer: 'Tomorrow' }
      await service.call('POST', `${path}/approvals/captain`, { body })
      const { response } = await until('the answer', async () => {
        const { data } = (await service.call('GET', path)).body
        return data.status === 'completed' && data
      })
      assert.match(response, /^Look: .*500.* The captain: Tomorrow$/)
    })
  })

  test('in Python, a client that disconnects causes no stack trace', { skip: skipPython }, async () => {
    await withAgent('python3', ['python.py'], async (url, output) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      await new Promise<void>((sent) => socket.write('POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nhalf', () => sent()))
      socket.resetAndDestroy()
      const unsigned = { method: 'POST', body: '{}', headers: { 'webhook-id': 'x', 'webhook-timestamp': '1' } }
      // It logs what it answers: by then its output is read.
      await until('it has answered', async () => (await fetch(url, unsigned)).status === 401 && / 401 /.test(output()))
      assert.doesNotMatch(output(), /Traceback|ConnectionResetError/)
    })
  })

  test('in Python, invalid calls are refused, without a stack trace', {
    skip: skipPython,
  }, async () => {
    await withAgent('python3', ['python.py'], async (url, output) => {
      const headers = { 'webhook-id': 'x', 'webhook-timestamp': '1' }
      const post = async (more: string) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.end(Buffer.from(`POST / HTTP/1.1\r\n${more}\r\n\r\n`, 'latin1'))
        return /^HTTP\S+ (\d+)/.exec(await readText(socket))?.[1]
      }
      const signed = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      assert.equal(await post(`${signed.join('')}content-length: 0\r\nwebhook-signature: v\u00e9`), '401')
      assert.equal(await post('content-length: 0'), '401')
      assert.equal(await post('webhook-timestamp: soon'), '411')
      assert.equal(await post(`content-length: ${64 * 1024 * 1024 + 1}`), '413')
      assert.doesNotMatch(output(), /Traceback/)
    })
  })

  test('in Python, a request for a step is repeated while the service is busy', { skip: skipPython }, async (t) => {
    const asked: string[] = []
    const busy = [503, 429, 502]
    const host = await startLocalServer(async (request, response) => {
      asked.push(await readBody(request))
      const status = busy.shift() ?? 200
      const done = { data: { status: 'done', steps: [{ id: 'look', result: 'calm' }] } }
      const reply = status === 502 ? 'Bad gateway' : JSON.stringify(done)
      response.writeHead(status, status === 429 ? { 'retry-after': '0' } : {}).end(reply)
    })
    t.after(host.close)
    const agent = `from moorage import serve
import os
serve(lambda run: run.keep('look', lambda: 1), os.environ['AGENT_SECRET'], port=0)`
    await withAgent('python3', ['-c', agent], async (url) => {
      const body = JSON.stringify({ message: 'Look', steps: [], steps_url: host.url, steps_token: 'x' })
      const timestamp = Math.floor(Date.now() / 1000)
      const headers = { ...signDelivery({ id: 'x', timestamp, body }, [secret]) }
      const reply = await fetch(url, { method: 'POST', headers, body })
      assert.match(await reply.text(), /^event: delta\ndata: {"text": "calm"}$/m)
    })
    assert.equal(asked.length, 4)
    assert.equal(new Set(asked).size, 1)
  })

  test('the guide names the tested versions', () => {
    const tested: Record<string, string> = { ...project.dependencies, ...project.devDependencies }
    const named = [...GUIDE.matchAll(/`((?:@[\w-]+\/)?[\w-]+)@(\d[\d.]+)`/g)]
    assert.ok(named.length >= 6)
    for (const [, name = '', version] of named) assert.equal(version, tested[name], name)
  })

  test('the documents contain the code of these examples', () => {
    const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    for (const { language, code, line } of codeBlocks(GUIDE)) {
      if (language === 'sh') continue
      assert.ok(
        sources.some((source) => source.includes(code)),
        `docs/remote-frameworks.md:${line}`,
      )
    }
  })
})
