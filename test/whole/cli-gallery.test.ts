import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { agentsOf, type GalleryExample, secretNameOf } from '../../gallery/example.ts'
import { GALLERY } from '../../gallery/gallery.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { approver } from '../support/slices/approvals.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** What `npm install` would do with the packages that an example names. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, 'moorage-sdk'), { recursive: true })
  writeFileSync(join(modules, 'moorage-sdk/package.json'), '{ "type": "module", "exports": "./sdk/client.ts" }')
  symlinkSync(join(root, 'sdk'), join(modules, 'moorage-sdk/sdk'))
  symlinkSync(join(root, 'node_modules/@langchain'), join(modules, '@langchain'))
}

onAnyEngine(
  'the gallery',
  (service) => {
    let shell: Shell
    before(() => {
      shell = newShell(service())
    })
    after(() => shell.remove())

    const call = async (method: string, path: string, options: object = {}) => {
      const reply = await service().call(method, path, options)
      assert.ok(reply.status < 300, reply.text)
      return reply.body.data
    }

    /** Follows what `init` says: starts the server, and runs the other commands. */
    async function followed(
      example: GalleryExample,
      name: string,
      use: (run: (args: string[]) => Promise<string>) => Promise<void>,
    ): Promise<void> {
      const cwd = join(shell.folder, name)
      mkdirSync(cwd)
      const run = async (args: string[], stdin = '') => {
        const { code, stdout, stderr } = await shell.moorage(args, { cwd, stdin })
        assert.equal(code, 0, `${args.join(' ')}\n${stdout}${stderr}`)
        return stdout
      }
      const made = await shell.moorage(['init', name, '--from', example.id], { cwd })
      assert.equal(made.code, 0, made.stderr)
      const { server } = example
      const secret = made.stdout.trim()
      const stops: (() => Promise<unknown>)[] = []
      if (server) {
        install(cwd)
        const env = { ...childEnv(), PORT: '0', AGENT_SECRET: secret }
        const child = startChild(process.execPath, [server.file], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
        stops.push(async () => {
          const gone = once(child, 'exit')
          child.kill()
          await gone
        })
        const [told] = await once(child.stdout, 'data')
        const port = /port: (\d+)/.exec(String(told))?.[1] ?? assert.fail(String(told))
        const file = join(cwd, 'agent.yaml')
        const text = readFileSync(file, 'utf8')
        assert.ok(text.includes(server.url))
        writeFileSync(file, text.replaceAll(server.url, `http://127.0.0.1:${port}`))
      }
      try {
        const commands = [...made.stderr.matchAll(/^ {4}(?:echo "\$AGENT_SECRET" \| )?moorage (.*)$/gm)].map(
          ([, words = '']) => Array.from(words.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word),
        )
        // The last one is the first message to try.
        assert.equal(commands.at(-1)?.at(0), 'invoke')
        for (const args of commands.slice(0, -1)) await run(args, `${secret}\n`)
        await use((args) => run(args))
      } finally {
        for (const stop of stops) await stop()
      }
    }

    const exampleOf = (id: string) => GALLERY.find((example) => example.id === id) ?? assert.fail(id)

    for (const id of ['nightly-report', 'document-questions', 'triage', 'langgraph']) {
      test(`${id}: answers after the commands that init prints`, async () => {
        const example = exampleOf(id)
        await followed(example, id, async (run) => {
          for (const { message, answer } of example.tries) {
            const said = await run(['invoke', id, message, '--session', 'first', '--user', 'ada'])
            assert.ok(said.includes(answer), said)
          }
          if (id === 'langgraph') {
            // The graph gets the history of the session.
            const again = await run(['invoke', id, 'Ahoy again', '--session', 'first', '--user', 'ada'])
            assert.equal(again, 'Welcome back.\n')
          }
          if (id === 'triage') {
            const { pagination } = (await service().call('GET', `/v1/agents/${id}-billing/invocations`)).body
            assert.equal(pagination.total, 1)
          }
          if (id !== 'nightly-report') return
          const [schedule] = await call('GET', `/v1/agents/${id}/schedules`)
          assert.deepEqual([schedule.name, schedule.cron, schedule.enabled], ['nightly', '0 2 * * *', true])
          const { request_id } = await call('POST', `/v1/agents/${id}/schedules/${schedule.id}/run`)
          await until('the report is written', async () => {
            const { status, response } = await call('GET', `/v1/agents/${id}/invocations/${request_id}`)
            return status === 'completed' && response.includes('Refunds: 3 (-40 %)')
          })
        })
      })
    }

    test('support-desk: a refund waits for a person, and is paid once', async () => {
      const example = exampleOf('support-desk')
      const lead = await approver(service())
      await followed(example, 'support-desk', async (run) => {
        const [look, refund] = example.tries
        assert.equal(await run(['invoke', 'support-desk', look?.message ?? '']), `${look?.answer}\n`)
        const body = { message: refund?.message }
        const { request_id, approvals } = await call('POST', '/v1/agents/support-desk/invoke', { body })
        assert.deepEqual(approvals[0].tool, 'refund')
        const path = `/v1/agents/support-desk/invocations/${request_id}`
        await call('POST', `${path}/approvals/${approvals[0].call_id}`, { key: lead, body: { decision: 'approve' } })
        await until('it is refunded', async () => (await call('GET', path)).status === 'completed')
        assert.equal((await call('GET', path)).response, refund?.answer)
      })
    })
  },
  LOCAL_TOOLS,
)

test('an example that does not exist is answered with those that do', async () => {
  const shell = newShell()
  const { code, stdout, stderr } = await shell.moorage(['init', '--from', 'desk'])
  shell.remove()
  assert.deepEqual([code, stdout], [2, ''])
  for (const { id, about } of GALLERY) assert.ok(stderr.includes(`${id.padEnd(20)} ${about}`), stderr)
})

test('an example gets the name that it is created with, and its helpers begin with it', () => {
  const [billing, technical, desk] = agentsOf(GALLERY[3] ?? assert.fail(), 'reception')
  assert.deepEqual(
    [billing, technical, desk].map((agent) => agent?.name),
    ['reception-billing', 'reception-technical', 'reception'],
  )
  assert.match(JSON.stringify(desk), /"agent":"reception-billing"/)
  const [remote] = agentsOf(GALLERY[4] ?? assert.fail(), 'my-graph', 'https://graph.example.com')
  assert.deepEqual(remote?.remote, { url: 'https://graph.example.com', secret: secretNameOf('my-graph') })
  assert.equal(secretNameOf('my-graph'), 'REMOTE_MY_GRAPH')
  const long = ['a', 'b'].map((end) => secretNameOf('x'.repeat(62) + end))
  assert.deepEqual([new Set(long).size, ...long.map((name) => name.length)], [2, 64, 64])
})

test("init refuses a name that would make the helpers' names too long", async (t) => {
  const shell = newShell()
  t.after(() => shell.remove())
  const { code, stderr } = await shell.moorage(['init', 'x'.repeat(60), '--from', GALLERY[3]?.id ?? ''])
  assert.deepEqual([code, stderr.includes('would be longer than 63 characters')], [2, true], stderr)
})

test("an example's tools use the given URL, whatever characters it contains", () => {
  const desk = GALLERY.find(({ id }) => id === 'support-desk') ?? assert.fail()
  const url = 'http://tools.example.com/$&/"desk"'
  const [agent] = agentsOf(desk, 'desk', url)
  const [tool] = agent?.tools ?? []
  assert.ok(tool?.type === 'http' && tool.url.startsWith(`${url}/orders`), JSON.stringify(tool))
})
