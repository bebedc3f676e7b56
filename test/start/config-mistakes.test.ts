import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { configFolder } from '../support/service/config-folder.ts'

const tlsFile = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const TLS = `server: { tls: { cert: ${tlsFile('server.pem')}, key: ${tlsFile('server-key.pem')} } }\n`

describe('configuration mistakes', () => {
  test('all at once, in the order of the file, then the environment', (t) => {
    const yaml = `sever:
  port: 1
server:
  port: "80"
  trusted_proxies: [10.0.0.0/8]
  drainTimeout: 5 s
  tls: { cert: missing.pem }
limits:
  body: 1 MB
  invokeTimeout: 601s
  backlog: 0
  tiers: { Gold: { requestsPerMinute: 1, burst: 1 }, bronze: { burst: 0 } }
log: { level: warning }
database:
security:
  mtls: { enabled: true }
  ipWhitelist: { addresses: [10.0.0.0/33] }
providers:
  - { name: a }
  - { name: a, baseUrl: "ftp://x" }
  - { name: builtin, type: openai }
memory: { embedder: { type: lokal } }
`
    const env = {
      MOORAGE_WEBHOOK__ALLOW_INSECURE: 'true',
      MOORAGE_WEBHOOKS__MAX_IN_FLIGHT: 'many',
      MOORAGE_WEBHOOKS__ALLOW_INSECURE: 'yes',
      MOORAGE_ROLES: '{',
      MOORAGE_RETENTION__LOGS: '1m',
      MOORAGE_OPENAI_API_KEY: 'sk-1',
    }
    assert.deepEqual(configFolder(t, { 'moorage.yaml': yaml }).problems(env), [
      'moorage.yaml:1:1: sever: unknown setting; did you mean server?',
      'moorage.yaml:4:9: server.port: must be a whole number',
      'moorage.yaml:5:3: server.trusted_proxies: unknown setting; did you mean trustedProxies?',
      'moorage.yaml:6:17: server.drainTimeout: must be a duration such as 250ms, 15s, 5m, 1h or 30d',
      'moorage.yaml:7:3: server.tls.key: is required',
      'moorage.yaml:7:16: server.tls.cert: must name a readable file (ENOENT)',
      'moorage.yaml:9:9: limits.body: must be a size such as 1MiB, 500kB or 65536',
      'moorage.yaml:10:18: limits.invokeTimeout: must be between 1s and 600s',
      'moorage.yaml:11:12: limits.backlog: must be at least 1',
      'moorage.yaml:12:12: limits.tiers.Gold: is not a valid name; use 1 to 32 of a-z, 0-9, _ and -, starting with a letter',
      'moorage.yaml:12:54: limits.tiers.bronze.requestsPerMinute: is required',
      'moorage.yaml:12:71: limits.tiers.bronze.burst: must be at least 1',
      'moorage.yaml:13:15: log.level: must be one of fatal, error, warn, info, debug, trace, silent; did you mean warn?',
      'moorage.yaml:14:1: database: is empty; give it a value or remove the key',
      'moorage.yaml:16:3: security.mtls.caCert: is required when mtls is enabled',
      'moorage.yaml:17:30: security.ipWhitelist.addresses[0]: must be an IP address or a CIDR range such as 10.0.0.0/8',
      'moorage.yaml:19:5: providers[0].baseUrl: is required for openai-compatible providers',
      'moorage.yaml:20:13: providers[1].name: is already the name of providers[0]',
      'moorage.yaml:20:25: providers[1].baseUrl: must be an http(s) URL without user name, query or fragment',
      'moorage.yaml:21:13: providers[2].name: is reserved for the built-in models',
      'moorage.yaml:22:29: memory.embedder.type: must be one of openai-compatible, local',
      'environment MOORAGE_ROLES: is not valid JSON',
      'environment MOORAGE_WEBHOOK__ALLOW_INSECURE: unknown variable; did you mean MOORAGE_WEBHOOKS__ALLOW_INSECURE?',
      'environment MOORAGE_OPENAI_API_KEY: unknown variable; did you mean OPENAI_API_KEY?',
      'environment MOORAGE_WEBHOOKS__ALLOW_INSECURE: must be true or false',
      'environment MOORAGE_WEBHOOKS__MAX_IN_FLIGHT: must be a whole number',
      'environment MOORAGE_RETENTION__LOGS: must be between 1h and 36500d',
    ])
  })

  test('the error says all of it', (t) => {
    const folder = configFolder(t, { 'moorage.yaml': 'a: 1\nb: 2\n' })
    assert.throws(() => folder.load(), {
      name: 'ConfigError',
      message: /a: unknown setting[^\n]*\n.*b: unknown setting/,
    })
  })

  test('a flag is named by its place', (t) => {
    const folder = configFolder(t)
    assert.deepEqual(folder.problems({}, { server: { port: 'x' } }), ['flag server.port: must be a whole number'])
  })

  test('a setting that is missing beside one from the environment', (t) => {
    assert.deepEqual(configFolder(t).problems({ MOORAGE_AUTH__TYPE: 'jwt' }), [
      'environment MOORAGE_AUTH__TYPE: auth.secret: is required',
    ])
  })
})

describe("a YAML file that can't be parsed", () => {
  const broken = {
    'server:\n\tport: 1\n': ['moorage.yaml:2:1: indent with spaces, not tabs'],
    'server: { port: 1\n': ['moorage.yaml:2:1: wrong indentation, or an earlier bracket that is not closed'],
    'server:\n  port: 1\nserver:\n  port: 2\n': ['moorage.yaml:3:1: server: appears twice'],
    'server:\n  port: 1\n  port: 1\n': ['moorage.yaml:3:3: server.port: appears twice'],
    '- server\n': ['moorage.yaml:1:1: must be a mapping of settings, such as "server:"'],
    'auth:\n  secret: !vault x\n': ['moorage.yaml:2:11: an unknown tag; put a value that starts with ! in quotes'],
    'auth:\n  secret: *x\n': [
      'moorage.yaml:2:11: anchors and aliases are not supported; put a value that starts with * or & in quotes',
    ],
    'auth:\n  secret: @x\n': ["moorage.yaml:2:11: this character can't start a plain value; put the value in quotes"],
    'auth:\n  secret: "\\q"\n': [
      'moorage.yaml:2:12: an unknown escape in double quotes; use single quotes or double the backslash',
    ],
    'auth:\n  secret: a: b\n': [
      `moorage.yaml:2:11: a mapping can't start here; put a value that contains ": " in quotes`,
    ],
    'auth:\n  secret: "x\n': [
      'moorage.yaml:3:1: a character is missing here, such as a closing quote, a bracket, a comma or a colon',
    ],
    'server: {}\n---\nlog: {}\n': [
      'moorage.yaml:2:1: only one YAML document is allowed; remove this line and what follows',
    ],
  }
  for (const [yaml, expected] of Object.entries(broken)) {
    test(JSON.stringify(yaml), (t) => assert.deepEqual(configFolder(t, { 'moorage.yaml': yaml }).problems(), expected))
  }

  test('is reported with errors in the environment, but no setting is reported as missing', (t) => {
    const folder = configFolder(t, { 'moorage.yaml': 'auth:\n  secret: "x' })
    const problems = folder.problems({ PORT: '70000', MOORAGE_AUTH__TYPE: 'jwt' })
    assert.equal(problems.length, 2, problems.join('\n'))
    assert.match(problems[0] ?? '', /^moorage\.yaml:2:/)
    assert.equal(problems[1], 'environment PORT: must be at most 65535')
  })
})

describe('settings that do not go together', () => {
  const cases: [name: string, yaml: string, problems: string[]][] = [
    [
      'enforceHttps without TLS or a proxy',
      'security: { enforceHttps: true }',
      [
        'moorage.yaml:1:27: security.enforceHttps: no client could connect; also set server.tls or server.trustedProxies',
      ],
    ],
    ['sign-in without a URL', 'mcp: { signIn: true }', ['moorage.yaml:1:16: mcp.signIn: requires server.publicUrl']],
    [
      'sign-in at a path',
      'server: { publicUrl: https://example.com/agents }\nmcp: { signIn: true }',
      ['moorage.yaml:2:16: mcp.signIn: requires a server.publicUrl without a path, such as https://agents.example.com'],
    ],
    [
      'sign-in over plain HTTP, and without the console',
      'server: { publicUrl: http://agents.example.com }\nconsole: { enabled: false }\nmcp: { signIn: true }',
      [
        'moorage.yaml:3:16: mcp.signIn: requires console.enabled',
        'moorage.yaml:3:16: mcp.signIn: requires a server.publicUrl that begins with https://',
      ],
    ],
    [
      'mtls without TLS',
      `security: { mtls: { enabled: true, caCert: ${tlsFile('ca.pem')} } }`,
      ['moorage.yaml:1:30: security.mtls.enabled: requires server.tls'],
    ],
    [
      'mtls without TLS and authority',
      'security: { mtls: { enabled: true } }',
      [
        'moorage.yaml:1:13: security.mtls.caCert: is required when mtls is enabled',
        'moorage.yaml:1:30: security.mtls.enabled: requires server.tls',
      ],
    ],
    [
      'mtls with a file that is none',
      `${TLS}security: { mtls: { enabled: true, caCert: . } }`,
      ['moorage.yaml:2:44: security.mtls.caCert: must name a readable file (EISDIR)'],
    ],
    [
      'a certificate and the key of another',
      `server: { tls: { cert: ${tlsFile('server.pem')}, key: ${tlsFile('client-key.pem')} } }`,
      [
        `moorage.yaml:1:${31 + tlsFile('server.pem').length}: server.tls.key: is not the private key of the certificate`,
      ],
    ],
    [
      'files that hold something else',
      [
        'server:',
        '  tls:',
        `    cert: ${tlsFile('server-key.pem')}`,
        `    key: ${tlsFile('server.pem')}`,
        '    clientCaDir: nowhere',
        `security: { mtls: { enabled: true, caCert: ${tlsFile('client.pem')} } }`,
      ].join('\n'),
      [
        'moorage.yaml:3:11: server.tls.cert: must be a PEM file that begins with a certificate',
        'moorage.yaml:4:10: server.tls.key: must be a PEM file with an unencrypted private key',
        'moorage.yaml:5:18: server.tls.clientCaDir: must name a directory',
        'moorage.yaml:6:44: security.mtls.caCert: must be a PEM file with a CA certificate',
      ],
    ],
    [
      'a default tier that does not exist',
      'limits: { defaultTier: gold }',
      ['moorage.yaml:1:24: limits.defaultTier: must be one of the tiers: free, pro, enterprise'],
    ],
    [
      'introspection without a client secret, beside another mistake',
      'auth: { type: oauth2, provider: "https://id.test", introspection: always }',
      [
        'moorage.yaml:1:1: auth.clientId: is required',
        'moorage.yaml:1:1: auth.clientSecret: is required for introspection',
      ],
    ],
    [
      'scopes that grant nothing',
      'auth: { type: oauth2, provider: "https://id.test", clientId: c, scopes: [openid] }',
      [
        'moorage.yaml:1:65: auth.scopes: must contain one of read:agents, invoke:agents, write:agents, delete:agents, manage:agents, approve:agents',
      ],
    ],
  ]
  for (const [name, yaml, problems] of cases) {
    test(name, (t) => assert.deepEqual(configFolder(t, { 'moorage.yaml': yaml }).problems(), problems))
  }

  test('enforceHttps and mtls with TLS, enforceHttps behind a proxy', (t) => {
    const secure = `${TLS}security: { enforceHttps: true, mtls: { enabled: true, caCert: ${tlsFile('ca.pem')} } }`
    assert.equal(configFolder(t, { 'moorage.yaml': secure }).load().config.security.mtls.enabled, true)
    const proxied = 'server: { trustedProxies: [10.0.0.1] }\nsecurity: { enforceHttps: true }'
    assert.equal(configFolder(t, { 'moorage.yaml': proxied }).load().config.security.enforceHttps, true)
  })

  test('files of switched-off mtls are not looked for', (t) => {
    const folder = configFolder(t, { 'moorage.yaml': 'security: { mtls: { enabled: false, caCert: ca.pem } }' })
    assert.equal(folder.load().config.security.mtls.caCert, `${folder.path}/ca.pem`)
  })
})

describe('secrets and mistakes', () => {
  const secret = 'hunter2hunter2hunter2'

  test('an HS256 secret of 31 bytes is refused, one of 32 is not', (t) => {
    const folder = configFolder(t)
    const env = { MOORAGE_AUTH__TYPE: 'jwt', MOORAGE_AUTH__SECRET: 's'.repeat(31) }
    assert.deepEqual(folder.problems(env), ['environment MOORAGE_AUTH__SECRET: must be at least 32 bytes for HS256'])
    assert.equal(folder.load({ ...env, MOORAGE_AUTH__SECRET: 'é'.repeat(16) }).config.auth?.type, 'jwt')
  })

  test('a first key with a wrong checksum is refused', (t) => {
    const MOORAGE_INIT_KEY = 'mrg_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2Wnokq'
    assert.deepEqual(configFolder(t).problems({ MOORAGE_INIT_KEY }), [
      'environment MOORAGE_INIT_KEY: must be a well-formed API key (mrg_…)',
    ])
  })

  test('NAME and NAME_FILE together', (t) => {
    const folder = configFolder(t, { key: secret })
    assert.deepEqual(folder.problems({ REDIS_URL: secret, REDIS_URL_FILE: 'key' }), [
      'environment REDIS_URL: is set together with REDIS_URL_FILE; remove one of them',
    ])
  })

  test('an empty secret file', (t) => {
    assert.deepEqual(configFolder(t, { empty: '\n' }).problems({ MOORAGE_MASTER_KEY_FILE: 'empty' }), [
      'environment MOORAGE_MASTER_KEY_FILE: the file it names is empty',
    ])
  })

  const guesses = {
    MOORAGE_PORT: 'unknown variable; did you mean PORT?',
    MOORAGE_DATABASE_URL: 'unknown variable; did you mean MOORAGE_DATABASE__URL?',
    MOORAGE_CONFIG_FILE: 'unknown variable; did you mean MOORAGE_CONFIG?',
    MOORAGE_LIMITS__TIERS__FREE__BURST: 'unknown variable; set MOORAGE_LIMITS__TIERS as JSON',
    MOORAGE_TELEMETRY: 'unknown variable',
  }
  for (const [name, message] of Object.entries(guesses)) {
    test(`${name}: ${message}`, (t) => {
      assert.deepEqual(configFolder(t).problems({ [name]: '1' }), [`environment ${name}: ${message}`])
    })
  }

  const leaks: Record<string, string> = {
    'wrong key': `masterKey: ${secret}\ninitKey: ${secret}\nauth: { type: jwt, secret: ${secret} }`,
    'wrong addresses': `database: { url: ${secret} }\nredis: { url: ${secret} }\nproviders: [{ name: a, baseUrl: "https://u:${secret}@x" }]`,
    'wrong types': `secrets: { A: ${secret}, B: { value: [${secret}], hosts: [x] }, C: { value: "${secret}\\n", hosts: [x] } }`,
    'PEM in place of a path': `server: { tls: { cert: ${secret}, key: ${secret} } }`,
    alias: `masterKey: *${secret}`,
    'anchor without value': `masterKey: &${secret}`,
    tag: `masterKey: !${secret} x`,
    'reserved character': `masterKey: "@" ${secret}`,
    'at sign': `masterKey: @${secret}`,
    'open quote': `masterKey: "${secret}`,
    escape: `masterKey: "\\q${secret}"`,
    'colon in a value': `masterKey: a: ${secret}`,
    'no colon': `${secret}\nserver: {}`,
    'block header': `masterKey: |${secret}\n  x`,
    directive: `%${secret}\n---\nserver: 1`,
  }
  for (const [name, yaml] of Object.entries(leaks)) {
    test(`no message repeats a secret: ${name}`, (t) => {
      const problems = configFolder(t, { 'moorage.yaml': yaml }).problems()
      assert.ok(!problems.join('\n').includes(secret), problems.join('\n'))
    })
  }

  test('no message repeats a secret of the environment', (t) => {
    const problems = configFolder(t).problems({
      DATABASE_URL: secret,
      MOORAGE_MASTER_KEY_FILE: secret,
      MOORAGE_SECRETS: `{"A": ${secret}`,
      MOORAGE_PROVIDERS: `[{"name":"a","apiKey":["${secret}"]}]`,
      OPENAI_BASE_URL: secret,
      PORT: secret,
      MOORAGE_UNKNOWN: secret,
    })
    assert.equal(problems.length, 8, problems.join('\n'))
    assert.ok(!problems.join('\n').includes(secret), problems.join('\n'))
  })

  test('inherited names are no settings', (t) => {
    const folder = configFolder(t, { 'moorage.yaml': '__proto__: { polluted: 1 }\nconstructor: 1\n' })
    assert.equal(folder.problems({ MOORAGE_LOG__COLOR: 'constructor' }).length, 3)
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })
})
