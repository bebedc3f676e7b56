import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { type KubernetesObject, merged, openRenderer, plainManifest, rendererHere } from '../../scripts/render-chart.ts'
import { loadConfig } from '../../src/config.ts'
import { newKey } from '../../src/security/key-format.ts'
import { readDeployFile } from '../support/house/deploy-files.ts'
import { ROOT } from '../support/house/docs.ts'

const root = fileURLToPath(ROOT)

/** The interface of each kind in the published models of Kubernetes and the Prometheus Operator. */
const MODELS: Record<string, [from: string, name: string]> = {
  'apps/v1 Deployment': ['kubernetes-models/apps/v1', 'IDeployment'],
  'v1 Service': ['kubernetes-models/v1', 'IService'],
  'v1 ServiceAccount': ['kubernetes-models/v1', 'IServiceAccount'],
  'v1 Secret': ['kubernetes-models/v1', 'ISecret'],
  'v1 PersistentVolumeClaim': ['kubernetes-models/v1', 'IPersistentVolumeClaim'],
  'batch/v1 CronJob': ['kubernetes-models/batch/v1', 'ICronJob'],
  'networking.k8s.io/v1 Ingress': ['kubernetes-models/networking.k8s.io/v1', 'IIngress'],
  'networking.k8s.io/v1 NetworkPolicy': ['kubernetes-models/networking.k8s.io/v1', 'INetworkPolicy'],
  'policy/v1 PodDisruptionBudget': ['kubernetes-models/policy/v1', 'IPodDisruptionBudget'],
  'autoscaling/v2 HorizontalPodAutoscaler': ['kubernetes-models/autoscaling/v2', 'IHorizontalPodAutoscaler'],
  'monitoring.coreos.com/v1 ServiceMonitor': [
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
    'IServiceMonitor',
  ],
  'monitoring.coreos.com/v1 PrometheusRule': [
    '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
    'IPrometheusRule',
  ],
}

const modelOf = ({ apiVersion, kind }: KubernetesObject) =>
  MODELS[`${apiVersion} ${kind}`] ?? assert.fail(`${apiVersion} ${kind}`)

/** What Kubernetes would refuse: values of a wrong type, by the models' own checks, and fields that do not exist, by their types. */
async function problemsOf(objects: KubernetesObject[]): Promise<string[]> {
  const problems: string[] = []
  for (const object of objects) {
    const [from, name] = modelOf(object)
    const { [name.slice(1)]: Model } = await import(from)
    try {
      new Model(object).validate()
    } catch (error) {
      problems.push(`${object.kind} ${object.metadata.name}: ${String(error)}`)
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'moorage-objects-'))
  const lines = objects.map((object, i) => {
    const [from, name] = modelOf(object)
    return `import type { ${name} as T${i} } from '${from}'\nexport const o${i}: T${i} = ${JSON.stringify(object, null, 2)}`
  })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'objects.ts'), lines.join('\n'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const args = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '', 'objects.ts']
  const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), args, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  rmSync(folder, { recursive: true })
  return [...problems, ...stdout.split('\n').filter((line) => line !== '')]
}

const KEYS = { masterKey: Buffer.alloc(32, 7).toString('base64'), initKey: newKey(randomBytes) }

const EVERYTHING = {
  image: { repository: 'registry.example.com:5000/moorage', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  secret: { existing: '', databaseUrl: 'postgres://db/moorage', redisUrl: 'redis://redis', ...KEYS },
  settings: { MOORAGE_OUTGOING__ALLOWED_CIDRS: '10.9.0.0/16', MOORAGE_DATABASE__POOL_SIZE: 20 },
  trustedProxies: ['10.1.2.3/32', '10.1.2.4/32'],
  extraEnv: [{ name: 'OPENAI_API_KEY', valueFrom: { secretKeyRef: { name: 'openai', key: 'key' } } }],
  autoscaling: { enabled: true },
  service: { annotations: { 'example.com/a': 'b' } },
  ingress: { enabled: true, className: 'nginx', annotations: { 'example.com/a': 'b' }, tlsSecret: 'certificate' },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  },
  networkPolicy: {
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress-nginx' } } }],
    egress: {
      enabled: true,
      databaseTo: [{ ipBlock: { cidr: '10.5.0.0/24' } }],
      extra: [{ to: [{ ipBlock: { cidr: '10.9.0.0/16' } }] }],
    },
  },
  backup: { enabled: true, storageClass: 'standard' },
  serviceAccount: { annotations: { 'example.com/a': 'b' } },
  podAnnotations: { 'example.com/a': 'b' },
  podLabels: { team: 'agents' },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { podAntiAffinity: {} },
  priorityClassName: 'high',
}

const withoutRenderer = !rendererHere() && !process.env['CI'] && 'neither Helm nor Go with Sprig is on this machine'

describe('deploy/helm/moorage', { skip: withoutRenderer }, () => {
  let renderer: ReturnType<typeof openRenderer>
  let plain: KubernetesObject[]
  let full: KubernetesObject[]
  before(() => {
    renderer = openRenderer()
    plain = renderer.render()
    full = renderer.render(EVERYTHING, 'team-a')
  })
  after(() => renderer.close())
  const find = (objects: KubernetesObject[], kind: string): KubernetesObject =>
    objects.find((object) => object.kind === kind) ?? assert.fail(kind)
  const kindsOf = (objects: KubernetesObject[]) => objects.map(({ kind }) => kind).toSorted()
  const podOf = (objects: KubernetesObject[]) => find(objects, 'Deployment').spec.template
  const containerOf = (objects: KubernetesObject[]) => podOf(objects).spec.containers[0]

  test('renders what Kubernetes accepts, by default and with everything switched on', async () => {
    assert.deepEqual(kindsOf(plain), [
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceAccount',
    ])
    assert.deepEqual(kindsOf(full), [
      'CronJob',
      'Deployment',
      'HorizontalPodAutoscaler',
      'Ingress',
      'NetworkPolicy',
      'PersistentVolumeClaim',
      'PodDisruptionBudget',
      'PrometheusRule',
      'Secret',
      'Service',
      'Service',
      'ServiceAccount',
      'ServiceMonitor',
    ])
    assert.deepEqual(await problemsOf([...plain, ...full]), [])
  })

  test('the check detects an unknown field and a value of the wrong type', async () => {
    const service = structuredClone(find(plain, 'Service'))
    service.spec.selectors = service.spec.selector
    assert.match((await problemsOf([service])).join('\n'), /selectors/)
    const budget = structuredClone(find(plain, 'PodDisruptionBudget'))
    budget.spec.maxUnavailable = true
    assert.notDeepEqual(await problemsOf([budget]), [])
  })

  test('the defaults and these values match the schema; others are refused', () => {
    const schema = JSON.parse(readDeployFile('helm/moorage/values.schema.json'))
    const accepts = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile(schema)
    const defaults = parse(readDeployFile('helm/moorage/values.yaml'))
    for (const values of [{}, EVERYTHING]) {
      assert.ok(accepts(merged(defaults, values)), JSON.stringify(accepts.errors))
    }
    for (const wrong of [
      { image: { tag: 'latest' } },
      { backup: { image: 'postgres' } },
      { backup: { image: 'postgres:latest' } },
      { image: { digest: 'sha256:abc' } },
      { replica: 3 },
      { ingress: { hosts: [] } },
      { trustedProxies: ['everybody'] },
      { settings: { 'server.port': 1 } },
      { replicas: 0 },
    ]) {
      assert.equal(accepts(merged(defaults, wrong)), false, JSON.stringify(wrong))
    }
  })

  test('names every image by version or digest', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const { appVersion, version: ofChart } = parse(readDeployFile('helm/moorage/Chart.yaml'))
    assert.deepEqual([appVersion, ofChart], [version, version])
    assert.equal(containerOf(plain).image, `moorage:${version}`)
    assert.equal(containerOf(full).image, `registry.example.com:5000/moorage@sha256:${'a'.repeat(64)}`)
    assert.doesNotMatch(JSON.stringify([plain, full]), /:latest/)
  })

  test('writes valid settings, and a first key that is never logged', () => {
    const secretOf = (objects: KubernetesObject[]) => {
      const referred = containerOf(objects).env.flatMap(({ name, valueFrom }: KubernetesObject) =>
        valueFrom ? [[name, valueFrom.secretKeyRef]] : [],
      )
      return Object.fromEntries(referred)
    }
    for (const [objects, secret] of [
      [plain, 'moorage'],
      [full, 'team-a-moorage'],
    ] as const) {
      const references = secretOf(objects)
      // A pod does not start while one of these is missing.
      for (const name of ['DATABASE_URL', 'MOORAGE_MASTER_KEY', 'MOORAGE_INIT_KEY']) {
        assert.deepEqual(references[name], { name: secret, key: name })
      }
    }
    const { stringData, metadata } = find(full, 'Secret')
    assert.equal(metadata.name, 'team-a-moorage')
    const values = containerOf(full).env.flatMap(({ name, value }: KubernetesObject) => (value ? [[name, value]] : []))
    const env = { ...Object.fromEntries(values), ...stringData }
    const { config } = loadConfig({ env, cwd: tmpdir() })
    assert.equal(config.initKey, KEYS.initKey)
    assert.equal(config.server.publicUrl, 'https://agents.example.com')
    assert.deepEqual(config.server.trustedProxies, EVERYTHING.trustedProxies)
    assert.equal(config.database.poolSize, 20)
    // Kubernetes would add variables for every Service of the namespace.
    assert.equal(podOf(plain).spec.enableServiceLinks, false)
    // No proxy is trusted that the operator has not named.
    assert.ok(!containerOf(plain).env.some(({ name }: { name: string }) => name.includes('TRUSTED')))
    for (const missing of ['databaseUrl', 'masterKey', 'initKey']) {
      const secret = { ...EVERYTHING.secret, [missing]: '' }
      assert.throws(() => renderer.render({ secret }), new RegExp(`Set secret.${missing}`))
    }
  })

  test('writes large numbers as the service reads them', () => {
    const settings = {
      MOORAGE_FILES__MAX_PER_PROJECT: 2_000_000,
      MOORAGE_OTEL__SAMPLER_ARG: 0.25,
      MOORAGE_OTEL__CONTENT: true,
      MOORAGE_LIMITS__TIERS: '{"pro":{"requestsPerMinute":60,"burst":9}}',
    }
    const { env } = containerOf(renderer.render({ settings }))
    const valueOf = (wanted: string) => env.find(({ name }: KubernetesObject) => name === wanted).value
    const given = Object.fromEntries(Object.keys(settings).map((name) => [name, valueOf(name)]))
    const { files, otel, limits } = loadConfig({ env: given, cwd: tmpdir() }).config
    assert.deepEqual([files.maxPerProject, otel.samplerArg, otel.content], [2_000_000, 0.25, true])
    assert.equal(limits.tiers['pro']?.burst, 9)
  })

  test('uses existing paths for probes, and stops a pod after the load balancer has noticed', () => {
    const container = containerOf(plain)
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
    assert.deepEqual(
      probes.map(({ httpGet }) => httpGet.path),
      ['/healthz', '/healthz', '/readyz'],
    )
    const env = Object.fromEntries(container.env.map(({ name, value }: Record<string, string>) => [name, value]))
    const delay = Number.parseInt(env['MOORAGE_SERVER__DRAIN_DELAY'] ?? '', 10)
    const { periodSeconds, failureThreshold } = container.readinessProbe
    assert.ok(periodSeconds * failureThreshold < delay)
    const drain = loadConfig({ env: {}, cwd: tmpdir() }).config.server.drainTimeout / 1000
    assert.ok(podOf(plain).spec.terminationGracePeriodSeconds >= delay + drain + 2)
  })

  test("limits a pod's resources, and runs it as an unprivileged user", () => {
    const crons = find(full, 'CronJob').spec.jobTemplate.spec.template.spec
    for (const spec of [podOf(plain).spec, podOf(full).spec, crons]) {
      assert.equal(spec.securityContext.runAsNonRoot, true)
      assert.equal(spec.automountServiceAccountToken, false)
      const [{ resources, securityContext }] = spec.containers
      assert.ok(resources.limits.memory && resources.requests.cpu)
      assert.equal(securityContext.readOnlyRootFilesystem, true)
      assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] })
    }
    assert.ok(containerOf(plain).resources.limits['ephemeral-storage'])
    for (const { emptyDir } of podOf(plain).spec.volumes) assert.ok(emptyDir.sizeLimit)
  })

  test('selects the same pods everywhere', () => {
    for (const objects of [plain, full]) {
      const selector = find(objects, 'Deployment').spec.selector.matchLabels
      for (const [name, value] of Object.entries(selector)) assert.equal(podOf(objects).metadata.labels[name], value)
      assert.deepEqual(find(objects, 'PodDisruptionBudget').spec.selector.matchLabels, selector)
      assert.deepEqual(find(objects, 'NetworkPolicy').spec.podSelector.matchLabels, selector)
      for (const { kind, spec } of objects) if (kind === 'Service') assert.deepEqual(spec.selector, selector)
    }
    // The backup's pods get no requests.
    const { labels } = find(full, 'CronJob').spec.jobTemplate.spec.template.metadata
    assert.notEqual(labels['app.kubernetes.io/component'], podOf(full).metadata.labels['app.kubernetes.io/component'])
    const monitor = find(full, 'ServiceMonitor').spec
    const metrics = full.find(({ metadata }) => metadata.name === 'team-a-moorage-metrics')
    for (const [name, value] of Object.entries(monitor.selector.matchLabels))
      assert.equal(metrics.metadata.labels[name], value)
    // The alerts ask for this job.
    assert.equal(metrics.metadata.labels[monitor.jobLabel], 'moorage')
    assert.deepEqual(find(full, 'PrometheusRule').spec, parse(readDeployFile('prometheus/moorage.rules.yaml')))
  })

  test('lets only Prometheus read telemetry, and agents reach no private address', () => {
    const { ingress, policyTypes } = find(plain, 'NetworkPolicy').spec
    assert.deepEqual(policyTypes, ['Ingress'])
    assert.deepEqual(ingress[0], { ports: [{ port: 'http' }] })
    assert.deepEqual(ingress[1].ports, [{ port: 'metrics' }])
    // Both in one entry: pods of that name in that namespace.
    assert.deepEqual(Object.keys(ingress[1].from[0]), ['namespaceSelector', 'podSelector'])
    assert.equal(ingress[1].from.length, 1)
    const { egress, policyTypes: both } = find(full, 'NetworkPolicy').spec
    assert.deepEqual(both, ['Ingress', 'Egress'])
    const world = egress
      .flatMap(({ to = [] }: KubernetesObject) => to)
      .find(({ ipBlock }: KubernetesObject) => ipBlock?.cidr === '0.0.0.0/0')
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', '100.64.0.0/10']) {
      assert.ok(world.ipBlock.except.includes(range), range)
    }
  })

  test('scales automatically only if configured', () => {
    assert.equal(find(plain, 'Deployment').spec.replicas, 3)
    assert.equal(find(full, 'Deployment').spec.replicas, undefined)
    const { scaleTargetRef } = find(full, 'HorizontalPodAutoscaler').spec
    assert.equal(scaleTargetRef.name, find(full, 'Deployment').metadata.name)
  })

  test('its backup keeps only complete dumps, and as many as configured', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-dumps-'))
    const [{ command, args }] = find(full, 'CronJob').spec.jobTemplate.spec.template.spec.containers
    // In place of pg_dump, a program that is given the same file to write.
    const dump = '#!/bin/sh\nfor a; do case "$a" in --file=*) f="${a#--file=}";; esac; done\necho part > "$f"\n'
    writeFileSync(join(folder, 'pg_dump'), `${dump}[ "$DATABASE_URL" = good ]\n`, { mode: 0o755 })
    for (let i = 10; i < 30; i++) writeFileSync(join(folder, `moorage-20260101T0000${i}Z.dump`), '')
    const script = args[0].replaceAll('/backup', folder)
    const perform = (url: string) =>
      promisify(execFile)(command[0], [...command.slice(1), script], {
        env: { PATH: `${folder}:${process.env['PATH']}`, DATABASE_URL: url },
      })
    const kept = () =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.dump'))
        .toSorted()
    await assert.rejects(perform('bad'))
    assert.equal(kept().length, 20)
    await perform('good')
    const dumps = kept()
    assert.equal(dumps.length, 14)
    assert.ok(!dumps.includes('moorage-20260101T000010Z.dump'))
    assert.equal(readFileSync(join(folder, dumps.at(-1) ?? ''), 'utf8'), 'part\n')
    rmSync(folder, { recursive: true })
  })

  test('deploy/kubernetes/moorage.yaml is made from it (npm run chart)', () => {
    assert.equal(readDeployFile('kubernetes/moorage.yaml'), plainManifest(plain))
  })
})
