import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { CONFIDENTIAL, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { startCollector } from '../support/outside/collector.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { startChildService } from '../support/service/child-service.ts'
import type { Service } from '../support/service/service.ts'
import { startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { Browser, connect, toServer, whoamiAgent } from '../support/slices/connections.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'
import { unusedPort } from '../support/stores/daemon.ts'

/** `MOORAGE_TOKEN_RUNS=500` by hand. */
const RUNS_EACH = Number(process.env['MOORAGE_TOKEN_RUNS'] ?? 12)
const AT_ONCE = 8

describe('tokens of two users, in a process of its own', () => {
  test('each call has a token of its own user; kill -9 between code and token loses nothing; no token is anywhere', async (t) => {
    const server = await startAuthorizationServer()
    const collector = await startCollector()
    t.after(() => Promise.all([server.close(), collector.close()]))
    const inbox = await openInbox(t)
    const port = await unusedPort()
    const child = await startChildService(t, 'sqlite', {
      ...LOCAL_RECEIVERS,
      PORT: String(port),
      MOORAGE_SERVER__PUBLIC_URL: `http://127.0.0.1:${port}`,
      LOG_LEVEL: 'debug',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    })
    const service = {
      get url() {
        return child.url()
      },
      admin: child.admin,
      data: child.data,
      call: (
        method: string,
        path: string,
        { body, headers }: { body?: object; headers?: Record<string, string> } = {},
      ) => child.send(method, path, body, headers),
    } as unknown as Service
    const self = () => service
    await child.call('PUT', '/v1/connections/desk', toServer(server))
    const agent = await newAgent(service, whoamiAgent(server))
    const events = ['agent.completed', 'agent.waiting', 'connection.granted', 'connection.ended']
    await child.call('POST', '/v1/webhooks', { url: inbox.url, events })

    // The run waits. The provider has taken the code, and the process dies before it has the tokens.
    const { path, approval } = await startWaiting(service, agent, 'Who am I?', { user_id: 'ann' })
    const { link_id, url } = (await child.call('GET', approval)).data.connection
    server.next = 'ann'
    const asked = Promise.withResolvers<void>()
    server.hold = () => {
      asked.resolve()
      return new Promise(() => {})
    }
    const cut = new Browser(self).signIn(url).catch(() => undefined)
    await asked.promise
    await child.kill()
    await cut
    server.hold = async () => {}
    await child.start()
    const grants = '/v1/connections/desk/grants'
    assert.deepEqual((await child.call('GET', grants)).data, [])
    assert.equal((await new Browser(self).signIn(url)).status, 200, 'the same link can be used again')
    await child.call('POST', `/v1/connections/desk/links/${link_id}/confirm`, { user_id: 'ann' })
    assert.match((await untilStatus(service, path, 'completed')).response, /you are ann,/)

    server.next = 'bob'
    await connect(self, 'desk', 'bob')
    const left = Array.from({ length: RUNS_EACH * 2 }, (_, i) => (i % 2 === 0 ? 'ann' : 'bob'))
    const askNext = async (): Promise<void> => {
      for (let user_id = left.pop(); user_id; user_id = left.pop()) {
        // Now and then, all tokens end between two calls.
        if (left.length % 50 === 5) server.expireAll()
        const { data } = await child.call('POST', `/v1/agents/${agent}/invoke`, { message: 'x', context: { user_id } })
        assert.match(data.response, new RegExp(`you are ${user_id},`))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, askNext))
    const callsOf = (user: string) => server.called.filter((one) => one === user).length
    assert.deepEqual([callsOf('ann'), callsOf('bob')], [RUNS_EACH + 1, RUNS_EACH])

    await until('the events have arrived', () => inbox.arrivals.length >= RUNS_EACH * 2 + 4)
    const exports = await Promise.all(
      ['/v1/users/ann/export', '/v1/approvals', '/v1/connections', grants, '/v1/audit-log'].map(async (from) =>
        (await child.open(from, { Authorization: `Bearer ${child.admin}` })).text(),
      ),
    )
    const shell = newShell()
    t.after(async () => shell.remove())
    const stored = ['--data', child.data]
    const made = await shell.moorage(['backup', 'copy', ...stored, '--include-master-key'])
    assert.equal(made.code, 0, made.stderr)
    await child.terminate()
    const project = ['export', '--project', 'default', '--with', 'all', '--to', 'default.moorage', ...stored]
    const exported = await shell.moorage(project)
    assert.equal(exported.code, 0, exported.stderr)
    const places: Record<string, string> = {
      database: bytesIn(child.data),
      'backup and project file': bytesIn(shell.folder),
      log: child.output(),
      events: JSON.stringify(inbox.arrivals),
      traces: JSON.stringify(collector.bodies),
      exports: exports.join('\n'),
    }
    assert.ok(server.given.size >= 6)
    for (const [place, text] of Object.entries(places)) {
      assert.ok(text.length > 200, `${place} is not empty`)
      // What is compressed or encrypted as a whole would hide a token from this test.
      if (place !== 'log' && place !== 'traces') assert.ok(text.includes('ann'), place)
      for (const token of [...server.given, CONFIDENTIAL.secret])
        for (const form of [token, Buffer.from(token).toString('base64'), Buffer.from(token).toString('hex')])
          assert.equal(text.includes(form), false, `a token is in: ${place}`)
    }
  })
})

function bytesIn(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  return files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('\n')
}
