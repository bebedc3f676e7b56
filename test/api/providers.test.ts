import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { announce } from '../../src/storage/database.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { inTransaction, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, NOWHERE, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { betweenNodes, onAnyEngine, onManyNodes, type Service, withService } from '../support/service/service.ts'
import { createAgent, createKey, namesOf } from '../support/slices/resources.ts'
import { everythingStored } from '../support/stores/stored.ts'

const KEY = 'sk-kept-to-ourselves-41c7'
const GONE = `${NOWHERE}/v1`

let model: ModelServer
/** Answers every request with 401. */
let locked: LocalServer
before(async () => {
  model = await startModelServer()
  locked = await startLocalServer((_request, response) => response.writeHead(401).end('{"error":"wrong key"}'))
})
after(async () => {
  await model.close()
  await locked.close()
})
beforeEach(() => model.reset())

const put = (service: Service, name: string, body: object, key = service.admin) =>
  service.call('PUT', `/v1/providers/${name}`, { body, key })
const setLocal = (service: Service, name: string, api_key: string | null = KEY) =>
  put(service, name, { base_url: model.url, api_key })

async function ask(service: Service, agent: string) {
  return service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Hello there' } })
}

onManyNodes(
  'model providers',
  (service, engine) => {
    describe('PUT /v1/providers/{name}', () => {
      test('sets a provider; its key is never returned, and agents use it immediately', async () => {
        const reply = await setLocal(service(), 'first')
        assert.equal(reply.status, 200, reply.text)
        const { created_at, updated_at, ...rest } = reply.body.data
        assert.deepEqual(rest, {
          name: 'first',
          type: 'openai-compatible',
          base_url: model.url,
          has_key: true,
          vision: null,
          cache: true,
          source: 'api',
          overridden: false,
        })
        assert.equal(created_at, updated_at)

        await createAgent(service(), 'uses-first', { model: 'first/tiny' })
        const answer = await ask(service(), 'uses-first')
        assert.equal(answer.body.data.response, 'Hello there', answer.text)
        assert.equal(model.requests[0]?.headers.authorization, `Bearer ${KEY}`)
        assert.equal(model.requests[0]?.body.model, 'tiny')

        const texts = [reply.text, answer.text, service().log(), await everythingStored(service())]
        for (const path of ['/v1/providers', '/v1/system', '/v1/agents/uses-first/logs', '/v1/audit-log?limit=100']) {
          texts.push((await service().call('GET', path)).text)
        }
        assert.ok(!texts.join().includes(KEY))
      })

      test('setting it again replaces it completely, and runs use the new settings immediately', async () => {
        await setLocal(service(), 'changing', 'before')
        await createAgent(service(), 'uses-changing', { model: 'changing/tiny' })
        await ask(service(), 'uses-changing')
        service().advance(1000)
        const { body: keyed } = await setLocal(service(), 'changing', 'after')
        await ask(service(), 'uses-changing')
        const { body: keyless } = await setLocal(service(), 'changing', null)
        await ask(service(), 'uses-changing')
        assert.deepEqual(
          model.requests.map(({ headers }) => headers.authorization),
          ['Bearer before', 'Bearer after', undefined],
        )
        assert.equal(keyless.data.has_key, false)
        assert.equal(keyless.data.created_at, keyed.data.created_at)
      })

      test('without api_key, the stored key is kept for the same origin; for another origin it is 400', async () => {
        await setLocal(service(), 'moving')
        await createAgent(service(), 'uses-moving', { model: 'moving/tiny' })
        const kept = await put(service(), 'moving', { base_url: `${model.url}/`, vision: true })
        assert.deepEqual([kept.status, kept.body.data.has_key, kept.body.data.vision], [200, true, true], kept.text)
        await ask(service(), 'uses-moving')
        assert.equal(model.requests[0]?.headers.authorization, `Bearer ${KEY}`)

        const elsewhere = { base_url: locked.url }
        for (const other of [elsewhere, { type: 'openai' }]) {
          const refused = await put(service(), 'moving', other)
          assert.deepEqual([refused.status, refused.body.error.details?.[0].field], [400, 'api_key'], refused.text)
        }
        const { body: listed } = await service().call('GET', '/v1/providers?limit=100')
        const { base_url } = listed.data.find(({ name }: { name: string }) => name === 'moving')
        assert.equal(base_url, `${model.url}/`, 'nothing was changed')
        assert.equal((await put(service(), 'moving', { ...elsewhere, api_key: KEY })).body.data.has_key, true)
        assert.equal((await put(service(), 'moving', { base_url: model.url, api_key: null })).body.data.has_key, false)
        // There is no stored key that could be sent to another URL.
        assert.equal((await put(service(), 'moving', elsewhere)).body.data.has_key, false)
      })

      test("of two simultaneous updates, the one without a key does not remove the other's key", async () => {
        for (let i = 0; i < 10; i++) {
          const name = `raced-${i}`
          const [keyed] = await Promise.all([setLocal(service(), name), put(service(), name, { base_url: model.url })])
          assert.equal(keyed.status, 200)
          const { body } = await service().call('GET', '/v1/providers?limit=100')
          assert.equal(body.data.find((one: { name: string }) => one.name === name).has_key, true)
          await service().call('DELETE', `/v1/providers/${name}`)
        }
      })

      test('400 for invalid settings, without quoting the key', async () => {
        const good = { base_url: model.url, api_key: KEY }
        const bad: [string, object, string][] = [
          ['Upper', good, 'name'],
          ['with_line', good, 'name'],
          ['builtin', good, 'name'],
          ['x'.repeat(64), good, 'name'],
          ['p', { api_key: KEY }, 'base_url'],
          ['p', { ...good, base_url: 'ftp://models.example.com' }, 'base_url'],
          ['p', { ...good, base_url: 'https://user:pass@models.example.com/v1' }, 'base_url'],
          ['p', { ...good, base_url: 'http://10.0.0.1/v1' }, 'base_url'],
          ['p', { ...good, type: 'telepathy' }, 'type'],
          ['p', { ...good, api_key: '' }, 'api_key'],
          ['p', { ...good, api_key: `${KEY}\nmore` }, 'api_key'],
          ['p', { ...good, api_key: KEY.repeat(1000) }, 'api_key'],
        ]
        for (const [name, body, field] of bad) {
          const reply = await put(service(), name, body)
          assert.equal(reply.status, 400, `${name}: ${reply.text}`)
          assert.equal(reply.body.error.details[0].field, field, reply.text)
          assert.ok(!reply.text.includes(KEY))
        }
      })

      test('409 for a provider from moorage.yaml, which always wins; the list shows where it is defined', async () => {
        const reply = await setLocal(service(), 'from-file')
        assert.equal(reply.status, 409)
        assert.match(reply.body.error.message, /moorage\.yaml.*Change it there/)
        assert.equal((await service().call('DELETE', '/v1/providers/from-file')).status, 404)
        const { body } = await service().call('GET', '/v1/providers?limit=100')
        assert.deepEqual(
          body.data.find(({ name }: { name: string }) => name === 'from-file'),
          {
            name: 'from-file',
            type: 'openai-compatible',
            base_url: GONE,
            has_key: true,
            vision: null,
            cache: true,
            source: 'configuration',
            overridden: false,
            created_at: null,
            updated_at: null,
          },
        )
      })
    })

    test('400 if an agent names a provider that does not exist; the error lists the existing ones', async () => {
      await setLocal(service(), 'listed')
      const body = { name: 'nowhere', model: 'nobody/x' }
      const { body: refused } = await service().call('POST', '/v1/agents', { body })
      assert.match(refused.error.details[0].error, /^provider nobody is not configured.*builtin, from-file.*listed/)
      await createAgent(service(), 'somewhere', { model: 'listed/tiny' })
      const moved = await service().call('PATCH', '/v1/agents/somewhere', { body: { model: 'nobody/x' } })
      assert.equal(moved.status, 400)
    })

    test('GET /v1/providers pages and sorts by name like every list', async () => {
      for (const name of ['page-b', 'page-a', 'page-c']) await setLocal(service(), name)
      const all = namesOf(await service().call('GET', '/v1/providers?limit=100'))
      assert.deepEqual(all, all.toSorted())
      const page = await service().call('GET', '/v1/providers?limit=2&offset=1&sort=-name')
      assert.deepEqual(namesOf(page), all.toReversed().slice(1, 3))
      assert.deepEqual(page.body.pagination, { limit: 2, offset: 1, total: all.length, has_more: true })
    })

    describe('GET /v1/providers/{name}/models', () => {
      const models = async (name: string) => (await service().call('GET', `/v1/providers/${name}/models`)).body.data

      test("returns the provider's own list, limited to names that an agent can use", async () => {
        await setLocal(service(), 'lister')
        model.models.push('tiny', 'with space')
        assert.deepEqual(await models('lister'), {
          models: [
            { id: 'tiny', model: 'lister/tiny' },
            { id: 'tiny-2', model: 'lister/tiny-2' },
          ],
          error: null,
        })
        model.models.length = 2
        assert.equal(model.lists[0]?.authorization, `Bearer ${KEY}`)
      })

      test("uses Anthropic's own headers", async () => {
        await put(service(), 'claude', { type: 'anthropic', base_url: model.url, api_key: KEY })
        assert.equal((await models('claude')).models.length, 2)
        assert.equal(model.lists[0]?.['x-api-key'], KEY)
        assert.equal(model.lists[0]?.['anthropic-version'], '2023-06-01')
      })

      test('returns an empty list with the reason', async () => {
        await put(service(), 'locked', { base_url: locked.url, api_key: KEY })
        assert.deepEqual(await models('locked'), {
          models: [],
          error: "Model provider locked answered 401: the API key was refused; check this provider's key.",
        })
        assert.match((await models('from-file')).error, /could not be reached/)
        for (const text of ['{"models":["tiny"]}', '{"data":{"id":"tiny"}}', '["tiny"]', 'tiny']) {
          const strange = await startLocalServer((_request, response) => response.end(text))
          await put(service(), 'strange', { base_url: strange.url, api_key: KEY })
          const told = await models('strange')
          await strange.close()
          const error = 'Model provider strange returned something that is not a list of models.'
          assert.deepEqual(told, { models: [], error }, text)
        }
        assert.equal((await service().call('GET', '/v1/providers/nobody/models')).status, 404)
      })
    })

    describe('POST /v1/providers/{name}/test', () => {
      const run = async (name: string, body?: object) =>
        (await service().call('POST', `/v1/providers/${name}/test`, { body })).body.data

      test('lists the models, or sends a message to one of them', async () => {
        await setLocal(service(), 'tested')
        const { duration_ms, ...listed } = await run('tested')
        assert.deepEqual(listed, { ok: true, error: null, key: 'untested', models: 2 })
        assert.equal(typeof duration_ms, 'number')
        assert.deepEqual(
          model.lists.map(({ authorization }) => authorization),
          [`Bearer ${KEY}`, undefined],
          'the list is public: a request without the key gets it, too',
        )
        const answered = await run('tested', { model: 'tiny' })
        assert.deepEqual([answered.ok, answered.key], [true, 'accepted'])
        assert.equal(model.requests[0]?.body.max_tokens, 16)
        model.reply({ status: 404, body: { error: { message: 'no such model' } } })
        const failed = await run('tested', { model: 'other' })
        assert.deepEqual(
          [failed.ok, failed.error],
          [false, 'Model provider tested answered 404: the model was not found.'],
        )
      })

      test('reports that a key was accepted only if the list requires one', async () => {
        const strict = await startLocalServer((request, response) => {
          const isKnown = request.headers.authorization === `Bearer ${KEY}`
          response.writeHead(isKnown ? 200 : 401).end(JSON.stringify({ data: [{ id: 'tiny' }] }))
        })
        await put(service(), 'strict', { base_url: strict.url, api_key: KEY })
        assert.equal((await run('strict')).key, 'accepted')
        await strict.close()
        for (const status of [429, 503]) {
          const busy = await startLocalServer((request, response) => {
            response.writeHead(request.headers.authorization ? 200 : status).end(JSON.stringify({ data: [] }))
          })
          await put(service(), 'busy', { base_url: busy.url, api_key: KEY })
          assert.equal((await run('busy')).key, 'untested')
          await busy.close()
        }
        await setLocal(service(), 'open', null)
        assert.equal((await run('open')).key, 'none')
      })

      test('reports what is wrong with the key or the URL', async () => {
        await put(service(), 'shut', { base_url: locked.url, api_key: KEY })
        assert.match((await run('shut')).error, /the API key was refused/)
        await put(service(), 'silent', { base_url: GONE })
        assert.match((await run('silent')).error, /Model provider silent could not be reached/)
        assert.match((await run('silent', { model: 'x' })).error, /Model provider silent could not be reached/)
      })
    })

    test('DELETE: agents that use it fail and say why; deleting it again is 404', async () => {
      await setLocal(service(), 'going')
      await createAgent(service(), 'uses-going', { model: 'going/tiny' })
      assert.equal((await ask(service(), 'uses-going')).status, 200)
      const reply = await service().call('DELETE', '/v1/providers/going')
      assert.deepEqual(reply.body, { success: true, data: { name: 'going', deleted: true } })
      assert.match((await ask(service(), 'uses-going')).body.error.message, /going is not configured/)
      assert.equal((await service().call('DELETE', '/v1/providers/going')).status, 404)
    })

    test('changing or testing a provider requires manage on the whole service; listing providers and models requires write', async () => {
      const agent_id = await createAgent(service(), 'narrow')
      await setLocal(service(), 'guarded')
      const developer = (await createKey(service(), { role: 'developer' })).secret
      const scoped = (await createKey(service(), { role: 'admin', agent_id, tier: 'enterprise' })).secret
      const bound = await signJwt({ permissions: ['read', 'write', 'delete', 'manage'] })
      const as = (key: string, method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string) =>
        service().call(method, path, { key, ...(method === 'PUT' && { body: { base_url: model.url } }) })
      for (const key of [developer, scoped, bound]) {
        assert.equal((await as(key, 'PUT', '/v1/providers/guarded')).status, 403)
        assert.equal((await as(key, 'POST', '/v1/providers/guarded/test')).status, 403)
        assert.equal((await as(key, 'DELETE', '/v1/providers/guarded')).status, 403)
      }
      for (const key of [developer, scoped]) {
        assert.equal((await as(key, 'GET', '/v1/providers')).status, 200)
        assert.equal((await as(key, 'GET', '/v1/providers/guarded/models')).status, 200)
      }
      assert.equal((await as(bound, 'GET', '/v1/providers')).status, 403)
    })

    test('every change and test is in the audit log with its name and fields, but never the key', async () => {
      await setLocal(service(), 'audited')
      await service().call('POST', '/v1/providers/audited/test')
      await service().call('DELETE', '/v1/providers/audited')
      for (const [action, fields] of [
        ['setProvider', ['base_url', 'api_key']],
        ['testProvider', []],
        ['deleteProvider', []],
      ] as const) {
        const { body } = await service().call('GET', `/v1/audit-log?action=${action}&outcome=success&limit=1`)
        assert.equal(body.data[0].target, 'audited')
        assert.deepEqual(body.data[0].fields, fields)
      }
    })

    test("providers are kept after a restart; one with a damaged key doesn't affect the others", async () => {
      await setLocal(service(), 'lasting')
      await setLocal(service(), 'broken')
      await createAgent(service(), 'uses-lasting', { model: 'lasting/tiny' })
      await createAgent(service(), 'uses-broken', { model: 'broken/tiny' })
      const db = storeOf(service())
      const sealed = db.selectFrom('providers').select('api_key').where('name', '=', 'lasting')
      const { api_key } = await sealed.executeTakeFirstOrThrow()
      // Encrypted for its own name: the key of another provider can't be decrypted under this one.
      await db.updateTable('providers').set({ api_key }).where('name', '=', 'broken').execute()
      await service().restart()
      assert.equal((await ask(service(), 'uses-lasting')).status, 200)
      assert.match((await ask(service(), 'uses-broken')).body.error.message, /broken is not configured/)
      assert.match(service().log(), /a provider's key can't be decrypted/)
    })

    betweenNodes(engine)('a change on one node soon takes effect on the others', async () => {
      await setLocal(service(), 'shared', 'old')
      await createAgent(service(), 'sharing', { model: 'shared/tiny' })
      const other = await service().beside()
      try {
        const keySent = async () => {
          model.reset()
          await ask(other, 'sharing')
          return model.requests[0]?.headers.authorization
        }
        assert.equal(await keySent(), 'Bearer old')
        await setLocal(service(), 'shared', 'new')
        await until('the other node has heard', async () => (await keySent()) === 'Bearer new')
      } finally {
        await other.stop()
      }
    })
  },
  {
    ...LOCAL_TOOLS,
    MOORAGE_PROVIDERS: JSON.stringify([{ name: 'from-file', baseUrl: GONE, apiKey: 'sk-from-file' }]),
    ...JWT_SETTINGS,
  },
)

test('an address that is not public is refused, with the setting that would allow it, when it is set and when it is called', () =>
  withService('sqlite', async (service) => {
    const literal = await put(service, 'inside', { base_url: 'http://127.0.0.1:11434/v1' })
    assert.deepEqual(fieldsOf(literal.body), ['base_url'])
    assert.match(literal.text, /outgoing\.allowInsecure and outgoing\.allowedCidrs/)
    const row = {
      project_id: 'prj_default',
      name: 'inside',
      type: 'openai-compatible',
      base_url: model.url,
      api_key: null,
      paid_by: 'service',
    }
    const times = { created_at: 0, updated_at: 0 }
    await inTransaction(service, async (db) => {
      await db
        .insertInto('providers')
        .values({ ...row, ...times })
        .execute()
      await announce(db, 'providers', row.project_id)
    })
    await createAgent(service, 'inward', { model: 'inside/tiny' })
    const refusal = /^Model provider inside can't be called \(invalid_url\): .*outgoing\.allowedCidrs/
    assert.match((await ask(service, 'inward')).body.error.message, refusal)
    assert.match((await service.call('GET', '/v1/providers/inside/models')).body.data.error, refusal)
    assert.deepEqual([model.requests, model.lists], [[], []])
  }))

test('a provider added to moorage.yaml later is listed as defined there, and its stored copy can be deleted', () =>
  withService(
    'sqlite',
    async (service) => {
      const times = { paid_by: 'service', created_at: 0, updated_at: 0 }
      const row = { project_id: 'prj_default', name: 'both', type: 'openai', base_url: null, api_key: null, ...times }
      await storeOf(service).insertInto('providers').values(row).execute()
      const { body } = await service.call('GET', '/v1/providers')
      assert.deepEqual(
        body.data.map(({ name, source, overridden }: Record<string, unknown>) => ({ name, source, overridden })),
        [{ name: 'both', source: 'configuration', overridden: true }],
      )
      assert.equal((await service.call('DELETE', '/v1/providers/both')).status, 200)
      assert.equal((await service.call('GET', '/v1/providers')).body.data[0].overridden, false)
    },
    { MOORAGE_PROVIDERS: JSON.stringify([{ name: 'both', baseUrl: GONE }]) },
  ))

test('409 for one provider too many; replacing one still works', () =>
  withService('sqlite', async (service) => {
    const rows = Array.from({ length: 100 }, (_, i) => ({
      project_id: 'prj_default',
      name: `p${i}`,
      type: 'openai',
      base_url: null,
      api_key: null,
      paid_by: 'service',
      created_at: 0,
      updated_at: 0,
    }))
    await storeOf(service).insertInto('providers').values(rows).execute()
    assert.equal((await put(service, 'one-more', { type: 'openai' })).status, 409)
    assert.equal((await put(service, 'p1', { type: 'openai' })).status, 200)
  }))

onAnyEngine(
  'moorage providers',
  (service) => {
    let shell: Shell
    before(() => {
      shell = newShell(service())
    })
    after(() => shell.remove())

    test('set reads the key from stdin, list, models and test show that it works, and remove deletes it', async () => {
      const set = await shell.moorage(['providers', 'set', 'mine', '--base-url', model.url], { stdin: `${KEY}\n` })
      assert.equal(set.code, 0, set.stderr)
      assert.match(set.stderr, /Set mine: agents use it as mine\/<model>/)
      const listed = await shell.moorage(['providers', 'list'])
      assert.match(listed.stdout, /^NAME +TYPE +URL +KEY +FROM\nmine +openai-compatible +\S+ +set +api\n$/)
      assert.equal((await shell.moorage(['providers', 'models', 'mine'])).stdout, 'MODEL\nmine/tiny\nmine/tiny-2\n')
      assert.match(
        (await shell.moorage(['providers', 'test', 'mine'])).stderr,
        /mine listed 2 models. The list is public, so the key was not tested/,
      )
      const answered = await shell.moorage(['providers', 'test', 'mine', '--model', 'tiny'])
      assert.match(answered.stderr, /mine\/tiny answers/)
      assert.ok(!(set.stdout + set.stderr + listed.stdout).includes(KEY))
      assert.equal((await shell.moorage(['providers', 'remove', 'mine'])).code, 2)
      assert.equal((await shell.moorage(['providers', 'remove', 'mine', '--yes'])).code, 0)
      assert.equal((await shell.moorage(['providers', 'rm', 'mine', '--yes'])).code, 3)
    })

    test("test fails for a provider without a key that can't be reached", async () => {
      const set = await shell.moorage(['providers', 'set', 'dead', '--base-url', GONE, '--no-key'])
      assert.match(set.stderr, /Set dead, without a key/)
      const tested = await shell.moorage(['providers', 'test', 'dead'])
      assert.equal(tested.code, 1)
      assert.match(tested.stderr, /could not be reached/)
    })
  },
  LOCAL_TOOLS,
)
