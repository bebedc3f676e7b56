import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { variablesOf } from '../../src/config/environment.ts'
import { configSchema } from '../../src/config/rules.ts'
import { listSettings, pathText, type Setting } from '../../src/config/settings.ts'
import type { LoadedConfig } from '../../src/config.ts'
import { configFolder } from '../support/service/config-folder.ts'

const KEY = 'mrg_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2Wnokp'
const DOCS = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

const originsOf = ({ settings }: LoadedConfig, ...paths: string[]) =>
  paths.map((path) => settings.find((setting) => setting.path === path)?.origin)

describe('configuration sources', () => {
  test('without configuration, everything has its default', (t) => {
    const folder = configFolder(t)
    const { config, settings } = folder.load()
    assert.deepEqual(config, {
      data: join(folder.path, 'data'),
      startPaused: false,
      server: {
        host: '127.0.0.1',
        port: 8787,
        metricsHost: '127.0.0.1',
        trustedProxies: [],
        requestTimeout: 30_000,
        stallTimeout: 30_000,
        drainDelay: 0,
        drainTimeout: 10_000,
      },
      database: { poolSize: 10, readTimeout: 10_000 },
      redis: {},
      log: { level: 'info', format: 'auto', color: true },
      otel: {
        serviceName: 'moorage',
        sampler: 'parentbased_always_on',
        samplerArg: 1,
        content: false,
        disabled: false,
      },
      console: {
        enabled: true,
        hosts: [],
        allowInsecure: false,
        sessionLifetime: 43_200_000,
        idleTimeout: 3_600_000,
        oidc: [],
        linkVerifiedEmails: false,
        deviceSignIn: true,
      },
      mcp: { signIn: false },
      limits: {
        defaultTier: 'pro',
        tiers: {
          free: { requestsPerMinute: 60, burst: 100 },
          pro: { requestsPerMinute: 1000, burst: 2000 },
          enterprise: { requestsPerMinute: 10_000, burst: 20_000 },
        },
        body: 1_048_576,
        invokeTimeout: 120_000,
        failedAuthPerMinute: 30,
        backlog: 10_000,
      },
      outgoing: {},
      proxy: {},
      webhooks: {
        attemptTimeout: 15_000,
        maxInFlight: 50,
        maxPerEndpoint: 5,
        maxPerAgent: 50,
      },
      schedules: { maxPerAgent: 100 },
      triggers: { maxPerAgent: 100 },
      files: { maxBytes: 52_428_800, maxPerUser: 100_000, maxPerProject: 1_000_000 },
      budgets: { outputTokens: 4096, countReportedUsage: false },
      retention: {
        logs: 2_592_000_000,
        invocations: 7_776_000_000,
        metrics: 34_560_000_000,
        deliveries: 2_592_000_000,
        audit: 34_560_000_000,
        usage: 34_560_000_000,
      },
      providers: [],
      prices: [],
      secrets: {},
      memory: { warm: 128 * 1024 * 1024 },
      security: {
        ipWhitelist: { enabled: false, addresses: [] },
        mtls: { enabled: false },
        enforceHttps: false,
        hsts: { enabled: false, maxAge: 31_536_000 },
        rateLimit: { enabled: false, requests: 60, window: '1m' },
        mfa: { enabled: false, requiredFor: ['delete', 'update'] },
      },
      roles: {
        admin: ['read', 'write', 'delete', 'manage', 'approve'],
        developer: ['read', 'write'],
        viewer: ['read'],
        caller: ['invoke'],
        approver: ['read', 'approve'],
      },
    })
    assert.deepEqual(new Set(settings.map(({ origin }) => origin)), new Set(['default']))
  })

  test('flags win over the environment, the environment over the file, the file over defaults', (t) => {
    const folder = configFolder(t, { 'moorage.yaml': 'server:\n  host: 10.0.0.1\n  port: 1\n  drainTimeout: 1s\n' })
    const loaded = folder.load({ PORT: '2', HOST: '10.0.0.2' }, { server: { port: '3' } })
    assert.deepEqual(loaded.config.server, {
      host: '10.0.0.2',
      port: 3,
      metricsHost: '127.0.0.1',
      trustedProxies: [],
      requestTimeout: 30_000,
      stallTimeout: 30_000,
      drainDelay: 0,
      drainTimeout: 1000,
    })
    assert.deepEqual(originsOf(loaded, 'server.port', 'server.host', 'server.drainTimeout', 'server.trustedProxies'), [
      'flag',
      'environment HOST',
      'moorage.yaml:4',
      'default',
    ])
  })

  test('--config wins over MOORAGE_CONFIG, and both over moorage.yaml', (t) => {
    const folder = configFolder(t, {
      'moorage.yaml': 'server: { port: 1 }',
      'a.yaml': 'server: { port: 2 }',
      'sub/b.yaml': 'server: { port: 3 }',
    })
    assert.equal(folder.load().config.server.port, 1)
    assert.equal(folder.load({ MOORAGE_CONFIG: 'a.yaml' }).config.server.port, 2)
    assert.equal(folder.load({ MOORAGE_CONFIG: 'a.yaml' }, { config: 'sub/b.yaml' }).config.server.port, 3)
    assert.deepEqual(folder.problems({ MOORAGE_CONFIG: 'no.yaml' }), ["no.yaml: can't be read (ENOENT)"])
    assert.deepEqual(folder.problems({}, { config: 'no.yaml' }), ["no.yaml: can't be read (ENOENT)"])
  })

  test('an empty file, or one with only comments, sets nothing', (t) => {
    for (const content of ['', '# server:\n#   port: 1\n', '---\n']) {
      assert.equal(configFolder(t, { 'moorage.yaml': content }).load().config.server.port, 8787)
    }
  })

  test('tiers and roles are added to the built-in ones', (t) => {
    const folder = configFolder(t, {
      'moorage.yaml':
        'limits: { tiers: { free: { requestsPerMinute: 5, burst: 6 } } }\nroles: { auditor: [read, manage] }\n',
    })
    const loaded = folder.load()
    assert.deepEqual(loaded.config.limits.tiers.free, { requestsPerMinute: 5, burst: 6 })
    assert.deepEqual(Object.keys(loaded.config.limits.tiers), ['free', 'pro', 'enterprise'])
    assert.deepEqual(Object.keys(loaded.config.roles), [
      'admin',
      'developer',
      'viewer',
      'caller',
      'approver',
      'auditor',
    ])
    assert.deepEqual(originsOf(loaded, 'limits.tiers.free.burst', 'limits.tiers.pro.burst'), [
      'moorage.yaml:1',
      'default',
    ])
  })
})

describe('configuration by environment', () => {
  test('every setting has its variables, each also with _FILE', (t) => {
    const names = listSettings(configSchema()).flatMap(variablesOf)
    assert.ok(names.includes('PORT') && names.includes('MOORAGE_WEBHOOKS__ALLOWED_CIDRS'))
    const problems = configFolder(t).problems(Object.fromEntries(names.map((name) => [`${name}_FILE`, 'missing'])))
    const expected = names.map((name) => `environment ${name}_FILE: the file it names can't be read (ENOENT)`)
    assert.deepEqual(problems, expected)
  })

  test('variables can contain numbers, flags, lists and JSON', (t) => {
    const { config } = configFolder(t).load({
      MOORAGE_DATABASE__POOL_SIZE: '3',
      MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'true',
      MOORAGE_LOG__COLOR: '0',
      MOORAGE_WEBHOOKS__ALLOWED_CIDRS: '10.0.0.0/8, fd00::/8',
      MOORAGE_SERVER__TRUSTED_PROXIES: '["10.1.1.1"]',
      MOORAGE_LIMITS__BODY: '2MiB',
      MOORAGE_ROLES: '{"ops":["manage"]}',
      MOORAGE_SECURITY__IP_WHITELIST__ADDRESSES: '192.0.2.1',
      MOORAGE_AUTH__TYPE: 'jwt',
      MOORAGE_AUTH__SECRET: 's'.repeat(32),
      MOORAGE_MASTER_KEY: 'ab'.repeat(32),
      MOORAGE_INIT_KEY: KEY,
    })
    assert.equal(config.database.poolSize, 3)
    assert.equal(config.webhooks.allowInsecure, true)
    assert.equal(config.log.color, false)
    assert.deepEqual(config.webhooks.allowedCidrs, ['10.0.0.0/8', 'fd00::/8'])
    assert.deepEqual(config.server.trustedProxies, ['10.1.1.1'])
    assert.equal(config.limits.body, 2_097_152)
    assert.deepEqual(config.roles.ops, ['manage'])
    assert.deepEqual(config.security.ipWhitelist.addresses, ['192.0.2.1'])
    assert.deepEqual(config.auth, { type: 'jwt', secret: 's'.repeat(32) })
    assert.equal(config.masterKey, 'ab'.repeat(32))
    assert.equal(config.initKey, KEY)
  })

  test('a MOORAGE_ variable wins over the plain one; an empty one is ignored', (t) => {
    const folder = configFolder(t)
    const loaded = folder.load({ HOST: '10.0.0.1', MOORAGE_SERVER__HOST: '10.0.0.2', PORT: '', MOORAGE_DATA: '' })
    assert.equal(loaded.config.server.host, '10.0.0.2')
    assert.equal(loaded.config.server.port, 8787)
    assert.equal(loaded.config.data, join(folder.path, 'data'))
  })

  test('NAME_FILE reads the value from a file, without a final line break', (t) => {
    const folder = configFolder(t, { url: 'postgres://u:p@db/x\n', openai: 'sk-1\r\n', twice: 'redis://x\n\n' })
    const loaded = folder.load({ DATABASE_URL_FILE: 'url', OPENAI_API_KEY_FILE: 'openai', REDIS_URL_FILE: 'twice' })
    assert.equal(loaded.config.database.url, 'postgres://u:p@db/x')
    assert.equal(loaded.config.providers[0]?.apiKey, 'sk-1')
    assert.equal(loaded.config.redis.url, 'redis://x\n')
    assert.deepEqual(originsOf(loaded, 'database.url'), ['environment DATABASE_URL_FILE'])
  })

  test('NO_COLOR turns colors off, unless the setting itself is set', (t) => {
    const folder = configFolder(t)
    assert.equal(folder.load({ NO_COLOR: '1' }).config.log.color, false)
    assert.equal(folder.load({ NO_COLOR: '1', MOORAGE_LOG__COLOR: 'true' }).config.log.color, true)
  })

  test('variables of other programs are ignored', (t) => {
    const { config } = configFolder(t).load({
      PATH: '/bin',
      OTEL_SERVICE_NAME: 'x',
      MOORAGE_PORT: 'tcp://10.0.0.1:8787',
      MOORAGE_SERVICE_HOST: '10.0.0.1',
      MOORAGE_SERVICE_PORT_HTTP: '8787',
      MOORAGE_PORT_8787_TCP_ADDR: '10.0.0.1',
      MOORAGE_URL: 'http://10.0.0.1:8787',
      MOORAGE_API_KEY: KEY,
      MOORAGE_PROFILE: 'x',
      MOORAGE_TEST_POSTGRES: 'x',
    })
    assert.equal(config.server.port, 8787)
  })
})

describe('provider keys', () => {
  test('OPENAI_API_KEY and ANTHROPIC_API_KEY add their providers', (t) => {
    const loaded = configFolder(t).load({
      OPENAI_API_KEY: 'sk-1',
      OPENAI_BASE_URL: 'https://x.test/v1',
      ANTHROPIC_API_KEY: 'k',
    })
    assert.deepEqual(loaded.config.providers, [
      { name: 'openai', type: 'openai', apiKey: 'sk-1', baseUrl: 'https://x.test/v1' },
      { name: 'anthropic', type: 'anthropic', apiKey: 'k' },
    ])
    assert.deepEqual(originsOf(loaded, 'providers[0].name', 'providers[0].baseUrl', 'providers[1].apiKey'), [
      'environment OPENAI_API_KEY',
      'environment OPENAI_BASE_URL',
      'environment ANTHROPIC_API_KEY',
    ])
  })

  test('they win over the file, not over MOORAGE_PROVIDERS', (t) => {
    const file =
      'providers:\n  - { name: local, baseUrl: "http://127.0.0.1:1/v1" }\n  - { name: openai, type: openai, apiKey: old }\n'
    const folder = configFolder(t, { 'moorage.yaml': file })
    const loaded = folder.load({ OPENAI_API_KEY: 'new' })
    assert.deepEqual(
      loaded.config.providers.map(({ apiKey }) => apiKey),
      [undefined, 'new'],
    )
    assert.deepEqual(originsOf(loaded, 'providers[0].name', 'providers[1].name', 'providers[1].apiKey'), [
      'moorage.yaml:2',
      'moorage.yaml:3',
      'environment OPENAI_API_KEY',
    ])
    const MOORAGE_PROVIDERS = '[{"name":"openai","type":"openai","apiKey":"listed"}]'
    const specific = folder.load({ OPENAI_API_KEY: 'new', OPENAI_BASE_URL: 'https://x.test', MOORAGE_PROVIDERS }).config
    assert.deepEqual(specific.providers, [
      { name: 'openai', type: 'openai', apiKey: 'listed', baseUrl: 'https://x.test' },
    ])
  })
})

describe('configuration shown', () => {
  test('secrets are only ever (set)', (t) => {
    const secret = 'hunter2-hunter2-hunter2-hunter2-hunter2'
    const yaml = [
      `database: { url: "postgres://u:${secret}@db/x" }`,
      `providers: [{ name: a, baseUrl: "https://x.test", apiKey: ${secret} }]`,
      `secrets: { CRM: { value: ${secret}, hosts: [crm.test] } }`,
      `memory: { embedder: { type: openai-compatible, baseUrl: "https://x.test", model: m, apiKey: ${secret} } }`,
      `auth: { type: oauth2, provider: "https://id.test", clientId: c, clientSecret: ${secret} }`,
    ]
    const env = { MOORAGE_MASTER_KEY: 'cd'.repeat(32), MOORAGE_INIT_KEY: KEY, REDIS_URL: `redis://:${secret}@r` }
    const { settings } = configFolder(t, { 'moorage.yaml': yaml.join('\n') }).load(env)
    const shown = JSON.stringify(settings)
    for (const hidden of [secret, env.MOORAGE_MASTER_KEY, KEY]) assert.ok(!shown.includes(hidden), shown)
    assert.deepEqual(
      settings.filter(({ value }) => value === '(set)').map(({ path }) => path),
      [
        'masterKey',
        'initKey',
        'database.url',
        'redis.url',
        'providers[0].apiKey',
        'secrets.CRM.value',
        'memory.embedder.apiKey',
        'auth.clientSecret',
      ],
    )
    assert.deepEqual(settings.find(({ path }) => path === 'secrets.CRM.hosts')?.value, ['crm.test'])
  })

  test('durations and sizes as they were written', (t) => {
    const { settings } = configFolder(t, { 'moorage.yaml': 'retention: { logs: 2d }' }).load({
      MOORAGE_LIMITS__BODY: '4096',
    })
    const valueOf = (path: string) => settings.find((setting) => setting.path === path)?.value
    assert.deepEqual(['retention.logs', 'retention.audit', 'limits.body'].map(valueOf), ['2d', '400d', '4096'])
  })
})

describe('configuration documents', () => {
  const settings = listSettings(configSchema())

  test('docs/configuration.md has a row for every setting', () => {
    assert.ok(settings.length > 60)
    for (const setting of settings) assert.ok(DOCS.includes(rowOf(setting)), `missing: ${rowOf(setting)}`)
  })

  test('its example can be loaded', (t) => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(DOCS) ?? []
    const { config } = configFolder(t, { 'moorage.yaml': example }).load()
    assert.equal(config.limits.defaultTier, 'team')
  })

  test('the JSON Schema accepts the example and rejects an unknown key', () => {
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(configSchema())
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(DOCS) ?? []
    assert.equal(validate(parse(example)), true, JSON.stringify(validate.errors))
    assert.equal(validate({ server: { prot: 1 } }), false)
  })

  function rowOf(setting: Setting): string {
    const isEmpty = setting.default === undefined || ['[]', '{}'].includes(JSON.stringify(setting.default))
    const fallback = isEmpty ? 'none' : `\`${setting.default}\``
    const outer = settings.find(
      ({ kind, path }) => kind === 'json' && path.every((key, index) => key === setting.path[index]),
    )
    const names = variablesOf(setting).map((name) => `\`${name}\``)
    const environment = names.length > 0 ? names.join(', ') : `in \`${outer?.variable}\``
    return `| \`${pathText(setting.path)}\` | ${fallback} | ${environment} | ${setting.description} |`
  }
})
