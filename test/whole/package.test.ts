import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { findVersion, versionText } from '../../src/lib/version.ts'
import { run, startByCommand } from '../support/house/deploy-files.ts'
import { ROOT } from '../support/house/docs.ts'
import { copyInstalled } from '../support/house/installed.ts'

describe('npm pack', () => {
  let home: string
  let project: string
  // A home of its own: npm finds neither a cache nor settings of this machine.
  const env = () => ({ PATH: process.env['PATH'] ?? '', HOME: home })
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'moorage-package-'))
    project = join(home, 'empty')
    mkdirSync(project)
    await run('npm', ['pack', '--pack-destination', home], { cwd: fileURLToPath(ROOT), env: env() })
    writeFileSync(join(project, 'package.json'), '{}')
    copyInstalled(project)
    // Without the Node of the package: this test runs on the same one.
    const options = ['--offline', '--omit=optional', '--no-audit', '--no-fund', '--loglevel=error']
    await run('npm', ['install', ...options, join(home, 'moorage-0.1.0.tgz')], { cwd: project, env: env() })
  })
  after(() => rmSync(home, { recursive: true, force: true }))

  test('makes one package with JavaScript, documentation and the dashboard, and no sources', () => {
    const files = readdirSync(join(project, 'node_modules/moorage'), { recursive: true, encoding: 'utf8' })
    for (const file of [
      'dist/service/main.js',
      'dist/service/main.js.map',
      'dist/service/LICENSES.txt',
      'dist/console/index.html',
      'docs/deploy.md',
      'deploy/grafana/moorage.json',
      'LICENSE',
      'README.md',
    ]) {
      assert.ok(files.includes(file), file)
    }
    assert.deepEqual(
      files.filter((file) => file.endsWith('.ts') || file.startsWith('test')),
      [],
    )
  })

  test('that runs as a service and, with npx, as the command line, in an empty folder', async (t) => {
    // npx itself ends at SIGTERM without telling what it started.
    const served = await startByCommand(t, [join(project, 'node_modules/.bin/moorage'), 'start'], {
      cwd: project,
      env: { ...env(), PORT: '0', LOG_LEVEL: 'error' },
    })
    const access = { MOORAGE_URL: served.url, MOORAGE_API_KEY: served.key }
    const { stdout } = await run('npx', ['--offline', 'moorage', 'invoke', 'hello', 'Ahoy!'], {
      cwd: project,
      env: { ...env(), ...access },
    })
    assert.equal(stdout, 'Ahoy!\n')
    const { stdout: shown } = await run('npx', ['--offline', 'moorage', '--version'], { cwd: project, env: env() })
    assert.equal(shown.trim(), versionText(findVersion()))
    for (const path of ['/', '/docs', '/docs/reference.css', '/docs/reference.js', '/v1/openapi.json']) {
      assert.equal((await fetch(served.url + path)).status, 200, path)
    }
    assert.equal(await served.stop(), 0)
    assert.ok(readdirSync(project).includes('data'))
  })
  test('that contains only what is needed at runtime, and says what to install for a collector', async () => {
    const packages = readdirSync(join(project, 'node_modules'))
    for (const name of ['esbuild', 'preact', '@opentelemetry']) assert.ok(!packages.includes(name), name)
    const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
    const failed = await run(join(project, 'node_modules/.bin/moorage'), ['start'], {
      cwd: project,
      env: { ...env(), ...otel, PORT: '0', MOORAGE_DATA: join(home, 'other') },
    }).then(
      () => undefined,
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    assert.equal(failed?.code, 1)
    assert.match(failed.stdout + failed.stderr, /otel\.endpoint is set, but .* npm install @opentelemetry\/api@/)
  })
})
