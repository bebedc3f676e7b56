import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { approve, steady } from '../support/running/approved.ts'
import { built } from '../support/service/built.ts'
import { childEnv, startChild } from '../support/service/child.ts'

/** Sets everything that can be set together, each to another value than its default. */
const RICH = `data: /srv/elsewhere
masterKey: ${'ab'.repeat(32)}
initProject: shop
initPerson: ada@example.com
server:
  host: 0.0.0.0
  port: 9001
  publicUrl: https://agents.example.com/
  metricsPort: 9002
  metricsHost: 10.0.0.1
  trustedProxies: [10.0.0.0/8, 192.168.0.1]
  requestTimeout: 31s
  stallTimeout: 32s
  drainDelay: 3s
  drainTimeout: 4s
database: { poolSize: 11, readTimeout: 12s }
redis: { url: "redis://:hush@127.0.0.1:6379" }
log: { level: debug, format: json, color: false }
otel: { endpoint: "http://127.0.0.1:4318", headers: "a=hush", serviceName: moor, sampler: traceidratio, samplerArg: 0.25, content: true, disabled: true }
console:
  hosts: [console.example.com]
  sessionLifetime: 8h
  idleTimeout: 20m
  oidc: [{ name: corp, issuer: "https://id.example.com", clientId: moorage, clientSecret: hush }]
limits:
  defaultTier: team
  tiers: { team: { requestsPerMinute: 300, burst: 600 }, free: { requestsPerMinute: 6, burst: 10 } }
  body: 2MiB
  invokeTimeout: 90s
  failedAuthPerMinute: 31
  backlog: 10001
outgoing: { allowInsecure: true, allowedCidrs: [10.20.0.0/16] }
proxy: { http: "http://127.0.0.1:3128", https: "http://127.0.0.1:3129", except: example.com }
webhooks: { allowInsecure: false, allowedCidrs: [10.30.0.0/16], attemptTimeout: 14s, maxInFlight: 51, maxPerEndpoint: 6, maxPerAgent: 52 }
schedules: { maxPerAgent: 101 }
budgets: { outputTokens: 4097 }
files: { maxBytes: 51MiB, maxBytesPerUser: 1GiB, maxPerUser: 100001, maxPerProject: 1000001 }
retention: { logs: 31d, invocations: 91d, metrics: 401d, deliveries: 32d, audit: 402d, files: 33d, usage: 403d }
providers:
  - { name: anthropic, type: anthropic }
  - { name: local, baseUrl: "http://127.0.0.1:11434/v1", apiKey: hush }
prices: [{ model: local/tiny, input: 1, output: 2.5, cached_input: 0.5 }]
secrets: { CRM_TOKEN: { value: hush, hosts: [crm.example.com] } }
memory: { warm: 64MiB, embedder: { type: openai-compatible, baseUrl: "http://127.0.0.1:1/v1", model: m, apiKey: hush, dimensions: 256 } }
security:
  ipWhitelist: { enabled: true, addresses: [10.0.0.0/8] }
  enforceHttps: true
  hsts: { enabled: true, maxAge: 60 }
  rateLimit: { enabled: true, requests: 61, window: 2m }
  mfa: { enabled: true, requiredFor: [deploy] }
  cors: { origins: ["https://app.example.com"], maxAge: 601 }
auth: { type: oauth2, provider: "https://id.example.com", clientId: c, clientSecret: hush, scopes: ["read:agents"], introspection: always }
roles: { viewer: [read, approve], robot: [invoke] }
`

describe('output for operators', () => {
  const shell = newShell()
  after(() => shell.remove())

  test('the effective configuration', async (t) => {
    stopClock()
    t.after(startClock)
    const { run, both, about, text } = transcriptOf(() => shell)
    about('nothing is configured')
    await both('config validate')
    await run('config show --data /srv/moorage')
    await run('config schema nonsense')
    about('everything is configured, some of it by variables')
    writeFileSync(join(shell.folder, 'moorage.yaml'), RICH)
    const env = { PORT: '9100', MOORAGE_LIMITS__BODY: '3MiB', OPENAI_API_KEY: 'hush', ANTHROPIC_API_KEY: 'hush' }
    await both('config validate', { env })
    await run('config show --data /srv/other', { env })
    await run('config show --json', { env })
    about('mistakes')
    writeFileSync(
      join(shell.folder, 'wrong.yaml'),
      'server: { port: 70000 }\nsever: {}\nprices: [{ model: local/, input: much, output: -1 }]\n',
    )
    await both('config validate -c wrong.yaml', { env: { MOORAGE_LOG__LEVEL: 'loud' } })
    await run('config show -c missing.yaml')
    const gone = await startLocalServer(() => {})
    await gone.close()
    await run('doctor -c wrong.yaml', { env: { MOORAGE_URL: gone.url } })
    approve(t, 'start/config.txt', text([[/v\d+\.\d+\.\d+/g, 'version']]))
  })

  /** All that it prints until it is stopped, or until it has ended by itself. */
  async function start(args: string[], env: Record<string, string>): Promise<string> {
    const given = { ...childEnv(), HOME: shell.folder, LOG_LEVEL: 'info', MOORAGE_LOG__FORMAT: 'json', ...env }
    const child = startChild(process.execPath, [built('main'), ...args], { cwd: shell.folder, env: given })
    let [stdout, stderr] = ['', '']
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk
    })
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk
      if (stdout.includes('"message": "Ahoy!"')) child.kill('SIGTERM')
    })
    const [code] = await once(child, 'close')
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value} `)
    return `$ ${variables.join('')}npm start ${args.join(' ')}\n${stdout}${stderr.replaceAll(/^(?=.)/gm, '! ')}exit code ${code}\n\n`
  }

  test('first and second starts, and starts that fail', async (t) => {
    const port = ['--port', '0', '--config', 'empty.yaml', '--data', 'harbour']
    writeFileSync(join(shell.folder, 'empty.yaml'), '')
    const told = [
      await start(port, {}),
      await start(port, { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', HOST: '0.0.0.0' }),
      ...(await Promise.all([
        start(['--port', 'many', '--config', 'empty.yaml'], { MOORAGE_LOG__LEVLE: 'info' }),
        start(['--prot', '1'], {}),
        start(['--config', 'missing.yaml'], {}),
      ])),
    ]
    const more = [
      [/(?<="time":)("[^"]+"|\d+)/g, 'time'],
      [/(?<="(pid|port|ms|seconds)":)\d+/g, 'number'],
      [/(?<="hostname":)"[^"]+"/g, 'host'],
      [/(?<="commit":)("\w+"|null)/g, 'commit'],
      [/(?<="node_version":")[^"]+/g, 'version'],
      [/0\.0\.0\.0:\d+/g, 'host'],
      [new RegExp(resolve(shell.folder), 'g'), 'folder'],
    ] as const
    approve(t, 'start/starts.txt', steady(told.join(''), more))
  })
})
