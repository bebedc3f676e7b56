import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { startProxy } from '../support/outside/proxy.ts'
import { startService } from '../support/service/service.ts'

describe('a service that is reached through a proxy', () => {
  test('commands go by the proxy of the environment, except for this machine and NO_PROXY', async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    const proxy = await startProxy(t, service)
    const far = newShell({ url: 'http://moorage.example', admin: service.admin })
    t.after(() => far.remove())
    const list = ['agents', 'list', '--json']
    for (const name of ['HTTP_PROXY', 'http_proxy']) {
      const { code, stdout, stderr } = await far.moorage(list, { env: { [name]: proxy.url } })
      assert.equal(code, 0, stderr)
      assert.match(stdout, /"hello"/)
    }
    assert.equal(proxy.asked.length, 2)
    for (const url of proxy.asked) assert.ok(url.startsWith('http://moorage.example/v1/agents?'), url)

    const doctor = await far.moorage(['doctor', '--json'], { env: { HTTP_PROXY: proxy.url } })
    assert.match(doctor.stdout, /http:\/\/moorage\.example is ready/)

    const asked = proxy.asked.length
    const near = newShell(service)
    t.after(() => near.remove())
    const direct = await near.moorage(list, { env: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url } })
    assert.equal(direct.code, 0, direct.stderr)
    const excepted = { HTTP_PROXY: proxy.url, NO_PROXY: 'moorage.example' }
    const refused = await far.moorage(['whoami'], {
      env: excepted,
      stopWhen: (_out, err) => err.includes('retrying'),
    })
    assert.notEqual(refused.code, 0)
    assert.equal(proxy.asked.length, asked)
  })

  test('a service on TLS is reached through a tunnel, which the proxy sees only the address of', async (t) => {
    const asked: string[] = []
    const proxy = createServer().on('connect', ({ url = '' }, socket) => {
      asked.push(url)
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    t.after(() => proxy.close())
    const shell = newShell({ url: 'https://moorage.example', admin: 'mrg_key' })
    t.after(() => shell.remove())
    const { port } = proxy.address() as AddressInfo
    const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` }
    const { code } = await shell.moorage(['whoami'], { env, stopWhen: (_out, err) => err.includes('retrying') })
    assert.notEqual(code, 0)
    assert.deepEqual([...new Set(asked)], ['moorage.example:443'])
  })
})
