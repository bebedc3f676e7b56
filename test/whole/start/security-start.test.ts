import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { tlsFile } from '../../support/outside/tls.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { built } from '../../support/service/built.ts'
import { childEnv, startChild } from '../../support/service/child.ts'

const MAIN = built('main')

type StartResult = { code: number | null; stdout: string; stderr: string; folder: string }

/** Starts the service in a folder of its own with this configuration, and waits until it has ended. */
async function start(t: TestContext, yaml: string, env: Record<string, string> = {}): Promise<StartResult> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-start-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'moorage.yaml'), yaml)
  const child = startChild(process.execPath, [MAIN], { cwd: folder, env: { ...childEnv(), PORT: '0', ...env } })
  // Whatever starts by mistake must not delay the test.
  const guard = setTimeout(() => child.kill('SIGKILL'), 60_000 * PATIENCE)
  const code = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  clearTimeout(guard)
  return { code: await code, stdout, stderr, folder }
}

describe("a start with a configuration that can't be fulfilled", { concurrency: true }, () => {
  test('lists every error with its place and exits with 2, before it creates or listens to anything', async (t) => {
    const yaml = [
      'server:',
      '  tls:',
      `    cert: ${tlsFile('server.pem')}`,
      `    key: ${tlsFile('client-key.pem')}`,
      'security:',
      '  enforceHttp: true',
      '  ipWhitelist: { enabled: true, addresses: [10.0.0.0/40] }',
      '  mtls: { enabled: true, caCert: nowhere.pem }',
      '  rateLimit: { enabled: true, requests: 0, window: 1 minute }',
      '  mfa: { enabled: true, requiredFor: [erase] }',
      'auth:',
      '  type: jwt',
      '  secret: thirty-one-bytes-are-one-short.',
      'roles: { operator: [reed] }',
    ].join('\n')
    const { code, stdout, stderr, folder } = await start(t, yaml)
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      'moorage.yaml:4:10: server.tls.key: is not the private key of the certificate',
      'moorage.yaml:6:3: security.enforceHttp: unknown setting; did you mean enforceHttps?',
      'moorage.yaml:7:45: security.ipWhitelist.addresses[0]: must be an IP address or a CIDR range such as 10.0.0.0/8',
      'moorage.yaml:8:34: security.mtls.caCert: must name a readable file (ENOENT)',
      'moorage.yaml:9:41: security.rateLimit.requests: must be at least 1',
      'moorage.yaml:9:52: security.rateLimit.window: must be a duration such as 1m',
      'moorage.yaml:10:39: security.mfa.requiredFor[0]: must be one of delete, update, deploy, rollback, clear_memory, webhooks, keys, secrets, approve, invoke',
      'moorage.yaml:13:11: auth.secret: must be at least 32 bytes for HS256',
      'moorage.yaml:14:21: roles.operator[0]: must be one of read, invoke, write, delete, manage, approve; did you mean read?',
    ])
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(existsSync(join(folder, 'data')), false)
  })

  const refused: Record<string, [yaml: string, env: Record<string, string>, stderr: RegExp]> = {
    'an HS256 secret of 31 bytes in the environment': [
      '',
      { MOORAGE_AUTH__TYPE: 'jwt', MOORAGE_AUTH__SECRET: 'x'.repeat(31) },
      /^environment MOORAGE_AUTH__SECRET: must be at least 32 bytes for HS256\n$/,
    ],
    'enforceHttps that nobody could meet': [
      'security: { enforceHttps: true }',
      {},
      /security.enforceHttps: no client could connect; also set server.tls or server.trustedProxies\n$/,
    ],
    'mutual TLS without TLS': [
      `security: { mtls: { enabled: true, caCert: ${tlsFile('ca.pem')} } }`,
      {},
      /security.mtls.enabled: requires server.tls\n$/,
    ],
    'introspection without a secret': [
      'auth: { type: oauth2, provider: "https://id.example.com", clientId: c, introspection: always }',
      {},
      /auth.clientSecret: is required for introspection\n$/,
    ],
  }
  for (const [name, [yaml, env, expected]] of Object.entries(refused)) {
    test(`exits with 2 for ${name}`, async (t) => {
      const { code, stdout, stderr } = await start(t, yaml, env)
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, expected)
    })
  }

  test('no error message contains a secret', async (t) => {
    const { code, stderr } = await start(t, 'auth: { type: jwt, secret: sesame-open-up }')
    assert.equal(code, 2)
    assert.equal(stderr.includes('sesame'), false)
  })
})
