import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createClient } from '../../sdk/client.ts'
import { startApp } from '../../src/app.ts'
import { buildParts } from '../../src/build-parts.ts'
import { localFetch } from '../../src/cli/connect/local-store.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { newKey } from '../../src/security/key-format.ts'
import { ANY_ENGINE } from '../support/service/service.ts'
import { freshPostgres, freshSqlite } from '../support/stores/fresh-store.ts'

for (const engine of ANY_ENGINE) {
  describe(`the first start of a service on ${engine}`, () => {
    /** A store that somebody on the host has used, but that no service has served yet. */
    async function withFreshStore(story: (env: Record<string, string>) => Promise<void>) {
      const home = await mkdtemp(join(tmpdir(), 'moorage-first-'))
      const database = engine === 'postgres' ? await freshPostgres() : undefined
      if (!database) await freshSqlite(join(home, 'data'))
      const env = { MOORAGE_DATA: join(home, 'data'), PORT: '0', ...(database && { DATABASE_URL: database.url }) }
      try {
        await story(env)
      } finally {
        await database?.drop()
        await rm(home, { recursive: true, force: true })
      }
    }
    const log = createLog({ level: 'silent', format: 'json' }, { write() {} })
    const configOf = (env: Record<string, string>) => loadConfig({ env, cwd: tmpdir() }).config
    const start = (env: Record<string, string>) => startApp(configOf(env), { log })

    async function createOnHost(env: Record<string, string>): Promise<string> {
      const { parts, close } = await buildParts(configOf(env), { log })
      const client = createClient({ url: 'http://local', fetch: localFetch(parts), retries: 0 })
      const { secret } = await client.keys.create({ name: 'made before', role: 'admin' })
      await close()
      return secret
    }

    test('creates an admin key if there is none, and none at the second start', () =>
      withFreshStore(async (env) => {
        const first = await start(env)
        const keys = createClient({ url: first.url, key: first.adminKey }).keys
        assert.equal((await keys.list()).pagination.total, 1)
        await first.stop()
        const second = await start(env)
        assert.equal(second.adminKey, undefined)
        await second.stop()
      }))

    test('creates no admin key if a key already exists, whatever MOORAGE_INIT_KEY says', () =>
      withFreshStore(async (env) => {
        const existing = await createOnHost(env)
        const unwanted = newKey(randomBytes)
        const app = await start({ ...env, MOORAGE_INIT_KEY: unwanted })
        assert.equal(app.adminKey, undefined)
        const { data } = await createClient({ url: app.url, key: existing }).keys.list()
        assert.deepEqual(
          data.map(({ name }) => name),
          ['made before'],
        )
        const stranger = createClient({ url: app.url, key: unwanted, retries: 0 })
        await assert.rejects(stranger.keys.self(), { code: 'unauthorized' })
        await app.stop()
      }))

    test('makes the project and the key that the operator names, once', () =>
      withFreshStore(async (env) => {
        const key = newKey(randomBytes)
        const named = { ...env, MOORAGE_INIT_PROJECT: 'shop', MOORAGE_INIT_KEY: key }
        const namesAt = async (url: string) =>
          (await createClient({ url, key }).projects.list({ sort: 'name' })).data.map(({ name }) => name)
        const first = await start(named)
        assert.equal(first.adminKey, undefined)
        assert.deepEqual(await namesAt(first.url), ['default', 'shop'])
        const shop = createClient({ url: first.url, key, project: 'shop' })
        assert.equal((await shop.keys.self()).reach, 'service')
        assert.equal((await shop.agents.list()).pagination.total, 0)
        await createClient({ url: first.url, key }).projects.delete('shop', { name: 'shop' })
        await first.stop()
        const second = await start(named)
        assert.deepEqual(await namesAt(second.url), ['default'], 'what was deleted stays so')
        await second.stop()
      }))

    test('MOORAGE_INIT_PROJECT may name the default project', () =>
      withFreshStore(async (env) => {
        const app = await start({ ...env, MOORAGE_INIT_PROJECT: 'default' })
        const { pagination } = await createClient({ url: app.url, key: app.adminKey }).projects.list()
        assert.equal(pagination.total, 1)
        await app.stop()
      }))

    test('makes no key to be printed where a key exists already', () =>
      withFreshStore(async (env) => {
        const existing = await createOnHost(env)
        const app = await start(env)
        assert.equal(app.adminKey, undefined)
        assert.equal((await createClient({ url: app.url, key: existing }).keys.list()).pagination.total, 1)
        await app.stop()
      }))
  })
}
