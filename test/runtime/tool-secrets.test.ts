import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { databaseUrl, storeOf } from '../support/inside.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import {
  betweenNodes,
  onAnyEngine,
  onManyNodes,
  type Reply,
  type Service,
  withService,
} from '../support/service/service.ts'
import { createAgent, createKey, namesOf } from '../support/slices/resources.ts'
import { everythingStored } from '../support/stores/stored.ts'

const VALUE = 'kept-to-ourselves-8d1f'
const ONE_FOR_ALL = 'FROM_FILE'

let api: LocalServer
let sent: (string | undefined)[] = []
before(async () => {
  api = await startLocalServer((request, response) => {
    sent.push(request.headers.authorization)
    response.end(`you sent ${request.headers.authorization}`)
  })
})
after(() => api.close())

const put = (service: Service, name: string, body: object, key = service.admin) =>
  service.call('PUT', `/v1/secrets/${name}`, { body, key })
const setFor = (service: Service, name: string, value: string) => put(service, name, { value, hosts: [api.host] })

/** An agent whose only tool sends the secret; answers with what the tool answered. */
async function createCaller(service: Service, agent: string, secret: string): Promise<void> {
  const tool = {
    type: 'http',
    name: 'whoami',
    description: 'Who asks',
    input_schema: { type: 'object' },
    url: `${api.url}/whoami`,
    headers: { Authorization: `Bearer {{secret.${secret}}}` },
  }
  const script = { rules: [{ call: { tool: 'whoami', arguments: {} }, reply: '{{result}}' }] }
  await createAgent(service, agent, { model: 'builtin/script', tools: [tool], script })
}

async function ask(service: Service, agent: string): Promise<{ reply: Reply; sent: string | undefined }> {
  sent = []
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  assert.equal(reply.status, 200, reply.text)
  return { reply, sent: sent[0] }
}

onManyNodes(
  'secrets',
  (service, engine) => {
    describe('PUT /v1/secrets/{name}', () => {
      test('sets a secret; its value is never returned', async () => {
        const reply = await setFor(service(), 'FIRST', VALUE)
        assert.equal(reply.status, 200)
        const { created_at, updated_at, ...rest } = reply.body.data
        assert.deepEqual(rest, { name: 'FIRST', hosts: [api.host], overridden: false })
        assert.equal(created_at, updated_at)
        const listed = await service().call('GET', '/v1/secrets')
        assert.deepEqual(listed.body.data[0], reply.body.data)
        assert.ok(!(listed.text + reply.text).includes(VALUE))
      })

      test('replaces a secret, and the next call uses the new value', async () => {
        await setFor(service(), 'CHANGING', 'before')
        await createCaller(service(), 'changing', 'CHANGING')
        assert.equal((await ask(service(), 'changing')).sent, 'Bearer before')
        const { body: first } = await setFor(service(), 'CHANGING', 'after')
        service().advance(1000)
        const { body: second } = await setFor(service(), 'CHANGING', 'after')
        assert.deepEqual({ ...second.data, updated_at: first.data.updated_at }, first.data)
        assert.ok(second.data.updated_at > first.data.updated_at)
        assert.equal((await ask(service(), 'changing')).sent, 'Bearer after')
      })

      test('400 for an invalid name, value or host, without quoting the value', async () => {
        const good = { value: VALUE, hosts: ['api.example.com'] }
        const bad: [string, object, string][] = [
          ['1ST', good, 'name'],
          ['with-dash', good, 'name'],
          ['x'.repeat(65), good, 'name'],
          ['%20', good, 'name'],
          ['S', { ...good, value: '' }, 'value'],
          ['S', { ...good, value: `${VALUE}\nmore` }, 'value'],
          ['S', { ...good, value: `${VALUE}€` }, 'value'],
          ['S', { ...good, value: VALUE.repeat(1000) }, 'value'],
          ['S', { ...good, value: 7 }, 'value'],
          ['S', { value: VALUE }, 'hosts'],
          ['S', { ...good, hosts: [] }, 'hosts'],
          ['S', { ...good, hosts: ['https://api.example.com'] }, 'hosts.0'],
          ['S', { ...good, hosts: ['*'] }, 'hosts.0'],
          ['S', { ...good, hosts: Array(101).fill('a.example') }, 'hosts'],
        ]
        for (const [name, body, field] of bad) {
          const reply = await put(service(), name, body)
          assert.equal(reply.status, 400, reply.text)
          assert.equal(reply.body.error.details[0].field, field, reply.text)
          assert.ok(!reply.text.includes(VALUE))
        }
      })

      test('names like __proto__ and constructor work', async () => {
        for (const name of ['__proto__', 'constructor', 'toString']) {
          await createCaller(service(), `caller-${name.replaceAll('_', '').toLowerCase()}`, name)
          const { reply } = await ask(service(), `caller-${name.replaceAll('_', '').toLowerCase()}`)
          assert.match(reply.body.data.response, /is not configured/)
          assert.equal((await setFor(service(), name, `value of ${name}`)).status, 200)
          const { sent: header } = await ask(service(), `caller-${name.replaceAll('_', '').toLowerCase()}`)
          assert.equal(header, `Bearer value of ${name}`)
        }
      })

      test('a secret in moorage.yaml always wins, and the reply says so', async () => {
        const reply = await setFor(service(), ONE_FOR_ALL, 'from the api')
        assert.equal(reply.body.data.overridden, true)
        await createCaller(service(), 'from-file', ONE_FOR_ALL)
        // The secret in the file is for another host. The API's secret, which is for this host, must not be used instead.
        const { reply: answer, sent: header } = await ask(service(), 'from-file')
        assert.equal(header, undefined)
        assert.match(answer.body.data.response, /FROM_FILE can't be sent to/)
      })
    })

    describe('a tool that uses one', () => {
      test('sends it to its hosts only, and no one else sees it', async () => {
        await setFor(service(), 'SHOWN', VALUE)
        await createCaller(service(), 'shown', 'SHOWN')
        const { reply, sent: header } = await ask(service(), 'shown')
        assert.equal(header, `Bearer ${VALUE}`)
        assert.equal(reply.body.data.response, 'you sent Bearer [secret SHOWN]')

        await put(service(), 'SHOWN', { value: VALUE, hosts: ['elsewhere.example.com'] })
        const refused = await ask(service(), 'shown')
        assert.equal(refused.sent, undefined)
        assert.match(refused.reply.body.data.response, /SHOWN can't be sent to/)
        const traces = [await everythingStored(service()), service().log()]
        for (const path of ['/v1/agents/shown/logs', '/v1/agents/shown/invocations', '/v1/audit-log?limit=100']) {
          traces.push((await service().call('GET', path)).text)
        }
        assert.ok(!traces.join().includes(VALUE))
      })
    })

    test('a deployment warns of a secret that no one has set yet, and no longer once it is set', async () => {
      await createCaller(service(), 'warned', 'NOT_YET')
      const deploy = async (version: string) => {
        const body = { environment: 'production', version }
        return (await service().call('POST', '/v1/agents/warned/deployments', { body })).body.data.warnings
      }
      assert.match(String(await deploy('v1')), /NOT_YET is not configured/)
      await setFor(service(), 'NOT_YET', 'x')
      assert.equal(await deploy('v2'), undefined)
    })

    describe('GET /v1/secrets', () => {
      test('pages and sorts like every list', async () => {
        for (const name of ['PAGE_B', 'PAGE_A', 'PAGE_C']) await setFor(service(), name, 'x')
        const all = namesOf(await service().call('GET', '/v1/secrets?limit=100&sort=name'))
        assert.deepEqual(all, all.toSorted())
        const page = await service().call('GET', '/v1/secrets?limit=2&offset=1&sort=name')
        assert.deepEqual(namesOf(page), all.slice(1, 3))
        assert.deepEqual(page.body.pagination, { limit: 2, offset: 1, total: all.length, has_more: true })
        assert.equal((await service().call('GET', '/v1/secrets?sort=value')).status, 400)
      })
    })

    describe('DELETE /v1/secrets/{name}', () => {
      test('tools that use the secret fail afterwards; deleting it again is 404', async () => {
        await setFor(service(), 'GOING', 'x')
        await createCaller(service(), 'going', 'GOING')
        assert.equal((await ask(service(), 'going')).sent, 'Bearer x')
        const reply = await service().call('DELETE', '/v1/secrets/GOING')
        assert.deepEqual(reply.body, { success: true, data: { name: 'GOING', deleted: true } })
        assert.match((await ask(service(), 'going')).reply.body.data.response, /GOING is not configured/)
        assert.equal((await service().call('DELETE', '/v1/secrets/GOING')).status, 404)
      })
    })

    test('secrets require manage on the whole service, for all users', async () => {
      const agent_id = await createAgent(service(), 'narrow')
      const keys = {
        developer: (await createKey(service(), { role: 'developer' })).secret,
        scoped: (await createKey(service(), { role: 'admin', agent_id, tier: 'enterprise' })).secret,
        bound: await signJwt({ permissions: ['read', 'write', 'delete', 'manage'] }),
      }
      for (const [who, key] of Object.entries(keys)) {
        const body = { value: 'x', hosts: ['a.example'] }
        for (const [method, path] of [
          ['PUT', '/v1/secrets/FIRST'],
          ['GET', '/v1/secrets'],
          ['DELETE', '/v1/secrets/FIRST'],
        ] as const) {
          const reply = await service().call(method, path, { key, ...(method === 'PUT' && { body }) })
          assert.equal(reply.status, 403, `${who}: ${reply.text}`)
        }
      }
    })

    test('every change is in the audit log: its name and fields, never the value', async () => {
      await setFor(service(), 'AUDITED', VALUE)
      await service().call('DELETE', '/v1/secrets/AUDITED')
      for (const [action, fields] of [
        ['setSecret', ['value', 'hosts']],
        ['deleteSecret', []],
      ] as const) {
        const { body } = await service().call('GET', `/v1/audit-log?action=${action}&outcome=success&limit=1`)
        assert.equal(body.data[0].target, 'AUDITED')
        assert.deepEqual(body.data[0].fields, fields)
      }
    })

    test("secrets are kept after a restart; a damaged one doesn't affect the others", async () => {
      await setFor(service(), 'LASTING', 'lasts')
      await setFor(service(), 'BROKEN', 'breaks')
      await createCaller(service(), 'lasting', 'LASTING')
      await createCaller(service(), 'broken', 'BROKEN')
      const db = storeOf(service())
      const { value } = await db
        .selectFrom('secrets')
        .select('value')
        .where('name', '=', 'LASTING')
        .executeTakeFirstOrThrow()
      // Encrypted for its own name: another secret's value can't be decrypted under this one.
      await db.updateTable('secrets').set({ value }).where('name', '=', 'BROKEN').execute()
      await service().restart()
      assert.equal((await ask(service(), 'lasting')).sent, 'Bearer lasts')
      assert.match((await ask(service(), 'broken')).reply.body.data.response, /BROKEN is not configured/)
      assert.match(service().log(), /a secret can't be decrypted/)
    })

    betweenNodes(engine)('a change on one node soon takes effect on the others', async () => {
      await setFor(service(), 'SHARED', 'old')
      await createCaller(service(), 'sharing', 'SHARED')
      const other = await service().beside()
      try {
        assert.equal((await ask(other, 'sharing')).sent, 'Bearer old')
        await setFor(service(), 'SHARED', 'new')
        await until('the other node has heard', async () => (await ask(other, 'sharing')).sent === 'Bearer new')
      } finally {
        await other.stop()
      }
    })
  },
  {
    MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
    MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
    MOORAGE_SECRETS: JSON.stringify({ [ONE_FOR_ALL]: { value: 'from the file', hosts: ['file.example.com'] } }),
    ...JWT_SETTINGS,
  },
)

test('409 for one secret too many; replacing one still works', () =>
  withService('sqlite', async (service) => {
    const body = { value: 'x', hosts: ['a.example'] }
    const rows = Array.from({ length: 500 }, (_, i) => ({
      project_id: 'prj_default',
      name: `S${i}`,
      value: 'x',
      hosts: '[]',
      created_at: 0,
      updated_at: 0,
    }))
    await storeOf(service).insertInto('secrets').values(rows).execute()
    assert.equal((await put(service, 'ONE_MORE', body)).status, 409)
    assert.equal((await put(service, 'S1', body)).status, 200)
    assert.equal((await service.call('GET', '/v1/secrets?limit=1')).body.pagination.total, 500)
  }))

onAnyEngine('moorage secrets', (service) => {
  let shell: Shell
  before(() => {
    shell = newShell(service())
  })
  after(() => shell.remove())

  test('set reads the value from stdin, list shows names and hosts, and remove deletes it', async () => {
    const set = ['secrets', 'set', 'CRM', '--hosts', 'crm.example.com,crm.example.org']
    const done = await shell.moorage(set, { stdin: `${VALUE}\n` })
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stderr, /Set CRM for crm\.example\.com, crm\.example\.org/)
    const listed = await shell.moorage(['secrets', 'list'])
    assert.match(
      listed.stdout,
      /^NAME +HOSTS +UPDATED +OVERRIDDEN\nCRM +crm\.example\.com, crm\.example\.org +\S+ +no\n$/,
    )
    assert.ok(!(done.stdout + done.stderr + listed.stdout).includes(VALUE))
    assert.equal((await shell.moorage(['secrets', 'remove', 'CRM'])).code, 2)
    assert.equal((await shell.moorage(['secrets', 'remove', 'CRM', '--yes'])).code, 0)
    assert.equal((await shell.moorage(['secrets', 'rm', 'CRM', '--yes'])).code, 3)
  })

  test('a value as an argument is refused; without a value or hosts, it says what to do', async () => {
    const withArgument = await shell.moorage(['secrets', 'set', 'CRM', VALUE, '--hosts', 'a.example'])
    assert.equal(withArgument.code, 2)
    const empty = await shell.moorage(['secrets', 'set', 'CRM', '--hosts', 'a.example'])
    assert.equal(empty.code, 2)
    assert.match(empty.stderr, /on stdin/)
    const nowhere = await shell.moorage(['secrets', 'set', 'CRM'], { stdin: VALUE })
    assert.equal(nowhere.code, 2)
    assert.match(nowhere.stderr, /--hosts/)
  })

  test('works on the local data if no key is configured, and the service notices', async () => {
    const url = databaseUrl(service())
    const env = { MOORAGE_DATA: service().data, ...(url && { DATABASE_URL: url }) }
    const host = newShell()
    const { code, stderr } = await host.moorage(['secrets', 'set', 'LOCAL', '--hosts', 'a.example'], {
      env,
      stdin: 'x',
    })
    host.remove()
    assert.equal(code, 0, stderr)
    assert.deepEqual(namesOf(await service().call('GET', '/v1/secrets')), ['LOCAL'])
  })
})
