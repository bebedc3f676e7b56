import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { ConsoleFiles } from '../../src/http/server/console/console-files.ts'
import { assertStandardHeaders } from '../support/clients/raw.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { until } from '../support/running/until.ts'
import { built } from '../support/service/built.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { startChildService } from '../support/service/child-service.ts'
import { type Service, startService } from '../support/service/service.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// None of this uses the database, so one engine is enough.
describe('the console is served', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())
  const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'Sec-Fetch-Site': 'none' }
  const open = (path: string, headers: Record<string, string> = browser) => fetch(service.url + path, { headers })

  test('at / and on each of its own paths, and can run only its own files', async () => {
    const paths = ['/', '/agents/hello', '/agents/hello/logs', '/activity', '/activity/req_1', '/approvals']
    for (const path of [...paths, '/webhooks/whk_1/dlv_1', '/keys', '/system?tab=audit']) {
      const reply = await open(path)
      assert.equal(reply.status, 200, path)
      assertStandardHeaders(reply.headers, 'text/html')
      assert.equal(reply.headers.get('content-security-policy'), POLICY)
      assert.equal(reply.headers.get('x-frame-options'), 'DENY')
      assert.equal(reply.headers.get('referrer-policy'), 'no-referrer')
      assert.equal(reply.headers.get('cross-origin-opener-policy'), 'same-origin')
      assert.doesNotMatch(await reply.text(), /<script(?![^>]*\ssrc=)|\son\w+=|<style|<base/)
    }
  })

  test('its links work at any depth', async () => {
    for (const path of ['/', '/keys', '/agents/hello/logs', '/webhooks/whk_1/dlv_1']) {
      const html = await (await open(path)).text()
      const links = Array.from(html.matchAll(/\s(?:src|href)="([^"]+)"/g), ([, link = '']) => link)
      const assets = links.filter((link) => link.includes('assets/'))
      assert.ok(assets.length > 1, html)
      for (const asset of assets) {
        assert.doesNotMatch(asset, /^\/|^\w+:/, 'relative, for a prefix that a proxy takes away')
        const { pathname } = new URL(asset, `http://proxy/moorage${path}`)
        assert.match(pathname, /^\/moorage\/console\/assets\//)
        const file = await fetch(service.url + pathname.replace('/moorage', ''))
        assert.equal(file.status, 200)
        assert.equal(file.headers.get('cache-control'), 'public, max-age=31536000, immutable')
        assert.equal(file.headers.get('x-content-type-options'), 'nosniff')
      }
    }
  })

  test('an API client that forgot /v1 still gets a 404 that names it', async () => {
    for (const path of ['/agents', '/agents/hello', '/keys', '/webhooks']) {
      const { status, body } = await service.call('GET', path)
      assert.equal(status, 404)
      assert.match(body.error.message, /\/v1/)
      assert.equal((await service.call('POST', path, { body: {} })).status, 404)
    }
    assert.equal((await open('/nothing')).status, 401, 'no page of the console')
  })

  test('404 for other files', async () => {
    for (const name of [
      'missing.js',
      '..%2Findex.html',
      '%2e%2e%2findex.html',
      'index.html',
      '.js',
      'a..js',
      'a%00.js',
      `${'a'.repeat(300)}.js`,
    ]) {
      const { status } = await fetch(`${service.url}/console/assets/${name}`)
      assert.ok([400, 404].includes(status), `${name}: ${status}`)
    }
  })

  test('405 for other methods', async () => {
    const session = await service.call('PUT', '/console/session', { body: {} })
    assert.deepEqual([session.status, session.headers.get('allow')], [405, 'POST, GET, HEAD, DELETE'])
    const file = await service.call('DELETE', '/console/assets/main.js')
    assert.deepEqual([file.status, file.headers.get('allow')], [405, 'GET, HEAD'])
  })
})

describe('the files of the console', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-console-'))
  after(() => rmSync(folder, { recursive: true }))
  const script = 'export const ahoy = 1\n'.repeat(200)

  test('are read when they are built, and packed as the browser wants', async () => {
    const files = new ConsoleFiles(folder)
    assert.equal(await files.page('/'), undefined)
    assert.equal(await files.asset('main-1.js', ''), undefined)
    mkdirSync(join(folder, 'assets'))
    writeFileSync(join(folder, 'index.html'), '<script type="module" src="./console/assets/main-1.js"></script>')
    writeFileSync(join(folder, 'assets/main-1.js'), script)
    writeFileSync(join(folder, 'assets/logo.png'), 'no text')
    assert.match(String((await files.page('/agents/hello'))?.body), /src="\.\.\/console\/assets/)
    const packed = async (accepted: string) => {
      const found = await files.asset('main-1.js', accepted)
      return [found?.headers['Content-Encoding'], found?.body] as [string | undefined, Buffer]
    }
    for (const accepted of ['gzip, deflate, br, zstd', 'br', 'br;q=1.0, gzip;q=0.5']) {
      const [coding, body] = await packed(accepted)
      assert.deepEqual([coding, String(brotliDecompressSync(body))], ['br', script])
    }
    for (const accepted of ['gzip', 'gzip, deflate', 'br;q=0, gzip']) {
      const [coding, body] = await packed(accepted)
      assert.deepEqual([coding, String(gunzipSync(body))], ['gzip', script], accepted)
    }
    for (const accepted of ['', 'identity', 'zstd', 'xbr', 'gzip;q=0']) {
      const [coding, body] = await packed(accepted)
      assert.deepEqual([coding, String(body)], [undefined, script], accepted)
    }
    assert.equal((await files.asset('logo.png', 'br'))?.headers['Content-Encoding'], undefined)
  })
})

describe('a service without the console', () => {
  test('serves only the API with console.enabled: false', async () => {
    const service = await startService('sqlite', { MOORAGE_CONSOLE__ENABLED: 'false' })
    try {
      const tab = new ConsoleTab(() => service)
      assert.equal((await tab.ask('GET', '/')).status, 302)
      for (const path of ['/agents/hello', '/console/assets/main.js', '/console/session']) {
        assert.equal((await tab.ask('GET', path, { headers: { Accept: 'text/html' } })).status, 401, path)
        assert.equal((await service.call('GET', path)).status, 404, path)
      }
      const key = { body: { key: service.admin } }
      assert.equal((await tab.ask('POST', '/console/session', key)).status, 401)
      assert.equal(await service.app.newConsoleLink(), undefined)
    } finally {
      await service.stop()
    }
  })

  test('says how to build the console if it is not built', async () => {
    const service = await startService('sqlite', {}, {}, { consoleFolder: '/nowhere' })
    try {
      const reply = await fetch(service.url)
      assert.equal(reply.status, 503)
      assert.match(await reply.text(), /npm run build/)
    } finally {
      await service.stop()
    }
  })
})

describe('the sign-in link printed at startup', () => {
  test('is printed on a terminal, and signs in once', async (t) => {
    const { env, home } = newHome(t)
    const child = startChild('script', ['-qefc', `exec '${process.execPath}' '${built('main')}'`, '/dev/null'], {
      cwd: home,
      env,
    })
    t.after(() => child.kill())
    let screen = ''
    child.stdout.on('data', (chunk: Buffer) => {
      screen += chunk
    })
    const link = () => /(http\S+)\/#link=([\w-]{43}) /.exec(screen) ?? undefined
    const [, url, link_token] = await until('the link', async () => link())
    const signIn = () =>
      fetch(`${url}/console/session`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin', 'X-Moorage-Console': '1' },
        body: JSON.stringify({ link_token }),
      })
    assert.equal((await signIn()).status, 201)
    assert.equal((await signIn()).status, 401)
  })

  for (const host of ['127.0.0.1', '0.0.0.0']) {
    test(`is not printed to a file or pipe (${host}); the command for one is printed instead`, async (t) => {
      const child = await startChildService(t, 'sqlite', { HOST: host })
      assert.match(child.output(), /Open {3}npm run -s moorage -- open .*prints a sign-in link/)
      assert.doesNotMatch(child.output(), /#link=/)
    })
  }
})

/** A folder of its own, and the environment of a service there. */
function newHome(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'moorage-terminal-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  return { home, env: { ...childEnv(), PORT: '0', MOORAGE_DATA: join(home, 'data'), TERM: 'xterm' } }
}
