import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import project from '../../../package.json' with { type: 'json' }
import { run } from '../../support/house/deploy-files.ts'
import { codeBlocks, ROOT, readDoc } from '../../support/house/docs.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { childEnv } from '../../support/service/child.ts'
import { type Service, startService } from '../../support/service/service.ts'

const root = fileURLToPath(ROOT)
const PACKAGE = `moorage-${project.version}`

/** A whole program: it serves an agent, registers it, and talks to it. */
const PROGRAM = `
import base64, json, secrets, threading
from moorage import AgentServer, Moorage

secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()

def answer(run):
    run.say("Let me see. ")
    price = run.keep("price", lambda: 12.5)
    noted = run.search_memory("noted", "ship")
    return f"{run.message}: {price}, {len(noted)} notes"

server = AgentServer(answer, secret, port=0)
threading.Thread(target=server.serve_forever, daemon=True).start()
moorage = Moorage()
hello = moorage.agents.invoke("hello", "Ahoy!")["response"]
pieces = list(moorage.agents.stream("hello", "Ahoy there!").text())
moorage.secrets.set("PYTHON", value=secret, hosts=["127.0.0.1"])
moorage.agents.create(name="in-python", kind="remote", remote={"url": server.url, "secret": "PYTHON"})
with moorage.agents.stream("in-python", "Rope") as stream:
    served = list(stream.text())
steps = [step["name"] for step in moorage.invocations.get("in-python", stream.request_id)["steps"] if step["kind"] == "tool"]
print(json.dumps([hello, pieces, served, steps]))
`

describe('the Python package', () => {
  let folder: string
  let python: string
  let service: Service
  const env = () => ({ ...childEnv(), HOME: folder, MOORAGE_URL: service.url, MOORAGE_API_KEY: service.admin })
  const pip = (...args: string[]) => run(python, ['-m', 'pip', '--disable-pip-version-check', ...args], { env: env() })
  before(async () => {
    service = await startService('sqlite', LOCAL_TOOLS)
    folder = mkdtempSync(join(tmpdir(), 'moorage-python-'))
    await cp(join(root, 'python'), join(folder, 'source'), { recursive: true })
    await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    await run('python3', ['-B', 'build_backend.py', join(folder, 'built')], { cwd: join(folder, 'source') })
    await run('python3', ['-m', 'venv', join(folder, 'venv')])
    python = join(folder, 'venv/bin/python')
    await pip('install', '--no-index', join(folder, 'built', `${PACKAGE}-py3-none-any.whl`))
  })
  after(async () => {
    rmSync(folder, { recursive: true, force: true })
    await service.stop()
  })

  test('installs in an empty environment, and invokes, streams and serves an agent', async () => {
    const { stdout: shown } = await pip('show', '--files', 'moorage')
    assert.match(shown, new RegExp(`^Version: ${project.version}$`, 'm'))
    assert.match(shown, /^Requires: $/m)
    assert.match(shown, /moorage\/py\.typed/)
    const { stdout } = await run(python, ['-c', PROGRAM], { env: env(), cwd: folder })
    assert.deepEqual(JSON.parse(stdout), [
      'Ahoy!',
      ['Ahoy there!'],
      ['Let me see. ', 'Rope: 12.5, 0 notes'],
      ['step.keep', 'step.memory_search'],
    ])
  })

  test('installs from its sources too, without network, and says its version', async () => {
    const target = join(folder, 'from-sources')
    await pip('install', '--no-index', '--target', target, join(folder, 'built', `${PACKAGE}.tar.gz`))
    const asked = ['-c', 'import moorage; print(moorage.__version__, moorage.__file__)']
    const { stdout } = await run(python, asked, { env: { ...env(), PYTHONPATH: target } })
    assert.equal(stdout, `${project.version} ${join(target, 'moorage/__init__.py')}\n`)
  })

  test('does what docs/python.md and its README show', async () => {
    const samples = [...codeBlocks(readDoc('docs/python.md')), ...codeBlocks(readDoc('python/README.md'))]
    const programs = samples.filter(({ language }) => language === 'python')
    assert.ok(programs.length >= 9)
    for (const { code, line } of programs) {
      // A server that never ends, and a function without a caller.
      const isWhole = code.includes('Moorage(')
      writeFileSync(join(folder, 'sample.py'), code.replaceAll('http://127.0.0.1:8787', service.url))
      const args = isWhole ? ['sample.py'] : ['-m', 'py_compile', 'sample.py']
      await run(python, args, { env: env(), cwd: folder }).catch((error: Error) =>
        assert.fail(`line ${line}: ${error}`),
      )
    }
  })

  test('as a WSGI application, accepts only signed calls', async () => {
    const program = `
import io, json, sys
from moorage import agent_app
app = agent_app(lambda run: "fine", "whsec_" + "A" * 43 + "=")
told = []
for method, length in [("GET", "0"), ("POST", ""), ("POST", "99999999999"), ("POST", "2")]:
    environ = {"REQUEST_METHOD": method, "CONTENT_LENGTH": length, "wsgi.input": io.BytesIO(b"{}")}
    list(app(environ, lambda status, headers: told.append(status[:3])))
try:
    agent_app(lambda run: "fine", "")
except ValueError as error:
    told.append(str(error)[:24])
print(json.dumps(told))
`
    const { stdout } = await run(python, ['-c', program], { env: env() })
    assert.deepEqual(JSON.parse(stdout), ['405', '411', '413', '401', 'secret must not be empty'])
  })
})
