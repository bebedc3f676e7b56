import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { codeAt, stepAt } from '../../src/security/one-time-code.ts'
import type { Database } from '../../src/storage/database.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { newShell } from '../support/clients/cli.ts'
import { startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { readBody } from '../support/outside/local-server.ts'
import { receive } from '../support/outside/receiver.ts'
import { until } from '../support/running/until.ts'
import { ENGINES, type Service } from '../support/service/service.ts'
import { type Answer, askService, changesIn } from './answers.ts'
import { type PlacedStore, placeFixture, RELEASES } from './fixture.ts'
import { ADDED, BROKEN, STRANGER } from './planted.ts'
import { oneOfEach } from './questions.ts'

const INDEX = 'filled from the memories by a search among more than fit into memory'
const LATER = 'came after the release'
/** Tables that a store of an engine has no rows in, and why. */
const EMPTY: Readonly<Record<string, string>> = {
  'sqlite feedback': LATER,
  'sqlite applications': LATER,
  'postgres applications': LATER,
  'sqlite refresh_tokens': LATER,
  'postgres refresh_tokens': LATER,
  'sqlite connections': LATER,
  'postgres connections': LATER,
  'sqlite connection_grants': LATER,
  'postgres connection_grants': LATER,
  'sqlite connection_links': LATER,
  'postgres connection_links': LATER,
  'postgres feedback': LATER,
  'sqlite triggers': LATER,
  'postgres triggers': LATER,
  'sqlite incoming_deliveries': LATER,
  'postgres incoming_deliveries': LATER,
  'sqlite chat_answers': LATER,
  'postgres chat_answers': LATER,
  'sqlite sets': LATER,
  'postgres sets': LATER,
  'sqlite rollouts': LATER,
  'postgres rollouts': LATER,
  'sqlite rollout_answers': LATER,
  'postgres rollout_answers': LATER,
  'sqlite replays': LATER,
  'postgres replays': LATER,
  'sqlite cases': LATER,
  'postgres cases': LATER,
  'sqlite links': LATER,
  'postgres links': LATER,
  'sqlite link_visitors': LATER,
  'postgres link_visitors': LATER,
  'sqlite version_metrics': LATER,
  'postgres version_metrics': LATER,
  'sqlite nodes': 'the only service of a SQLite store needs no row',
  'sqlite memory_index': INDEX,
  'sqlite memory_index_docsize': INDEX,
  'sqlite memory_index_idx': INDEX,
}

/** Asks everything that was asked when the store was made. */
async function changedAnswers(service: Service, answers: readonly Answer[]): Promise<string[]> {
  const changes: string[] = []
  for (const before of answers) {
    const now = await askService(service, before)
    changes.push(...changesIn(before, now, `${before.method} ${before.path} ${before.status}`))
  }
  return changes
}

for (const release of RELEASES) {
  for (const engine of ENGINES) {
    describe(`a database of ${release} on ${engine}`, () => {
      const place = async (t: { after(end: () => Promise<void>): void }): Promise<PlacedStore> => {
        const placed = await placeFixture(release, engine)
        t.after(() => placed.remove())
        return placed
      }

      test('has rows in every table', async (t) => {
        const { settings } = await place(t)
        const { MOORAGE_DATA: data = '', DATABASE_URL: url } = settings
        const storage = await openStorage({ data, database: { url, poolSize: 1 } })
        t.after(() => storage.close())
        const tables = await storage.db.introspection.getTables()
        const names = tables.filter(({ isView }) => !isView).map(({ name }) => name)
        assert.ok(names.length > 45, names.join())
        const empty: string[] = []
        for (const name of names) if ((await countRows(storage.db, name)) === 0) empty.push(`${engine} ${name}`)
        assert.deepEqual(
          empty.filter((name) => !(name in EMPTY)),
          [],
        )
      })

      test('opens in this version, and the API returns the same replies', async (t) => {
        const placed = await place(t)
        const { answers } = placed.told
        assert.ok(answers.length > 500, String(answers.length))
        const embedder = await startEmbeddingServer()
        t.after(() => embedder.close())
        const service = await placed.start({ MOORAGE_MEMORY__EMBEDDER__BASE_URL: embedder.url })
        t.after(() => service.stop())
        assert.deepEqual(await changedAnswers(service, answers), [])
      })

      test('still opens, with the same replies, after a newer version has added to it', async (t) => {
        const placed = await place(t)
        const embedder = await startEmbeddingServer()
        t.after(() => embedder.close())
        const where = { MOORAGE_MEMORY__EMBEDDER__BASE_URL: embedder.url }
        const newer = await placed.start(where, { migrations: ADDED, version: { version: '9.0.0', commit: null } })
        const answers = oneOfEach(placed.told.answers)
        assert.ok(answers.length > 50, String(answers.length))
        assert.deepEqual(await changedAnswers(newer, answers.slice(0, 10)), [])
        await newer.stop()
        const older = await placed.start(where)
        assert.deepEqual(await changedAnswers(older, answers), [])
        await older.stop()
      })

      test('is refused with a sentence after a newer version has made a breaking change', async (t) => {
        const placed = await place(t)
        const newer = await placed.start({}, { migrations: BROKEN })
        await newer.stop()
        await assert.rejects(placed.start(), { message: STRANGER })
      })

      test('runs, keys, secrets, second factors and the audit log keep working', async (t) => {
        const placed = await place(t)
        const { kept } = placed.told
        const service = await placed.start()
        t.after(() => service.stop())
        const ended = (path: string, headers = {}) =>
          until(`${path} has ended`, async () => {
            const { body } = await service.call('GET', path, { headers })
            return body.data.status === 'completed' ? body.data : undefined
          })

        const asking = `/v1/agents/asking/invocations/${kept.waiting}`
        const answer = { decision: 'approve', answer: 'Yes' }
        const decided = await service.call('POST', `${asking}/approvals/call_1`, { body: answer })
        assert.equal(decided.status, 200, decided.text)
        assert.match((await ended(asking)).response, /Yes/)

        const south = { 'Moorage-Project': 'south' }
        assert.equal((await service.call('POST', '/v1/resume', { headers: south, body: {} })).status, 200)
        assert.equal((await ended(`/v1/agents/penguin/invocations/${kept.paused}`, south)).response, 'waddle')

        const { path, headers, body, request_id } = kept.keyed
        const again = await service.call('POST', path, { headers, body })
        assert.deepEqual([again.status, again.body.data.request_id], [200, request_id])

        const { key, secret } = kept.mfa
        const code = codeAt({ secret, step: stepAt(service.now()) + 1 })
        const { data: other } = (await service.call('GET', '/v1/keys/self', { key: kept.keys.developer })).body
        const enrol = (otp: string) =>
          service.call('POST', `/v1/keys/${other.id}/mfa`, { key, headers: { 'X-Service-OTP': otp } })
        assert.equal((await enrol('000000')).status, 401)
        const enrolled = await enrol(code)
        assert.equal(enrolled.status, 200, enrolled.text)

        const arrived = Promise.withResolvers<{ headers: Record<string, string>; text: string }>()
        const receiver = await receive(t, async (request, response) => {
          const text = await readBody(request)
          response.end()
          arrived.resolve({ headers: request.headers as Record<string, string>, text })
        })
        const webhook = `/v1/webhooks/${kept.webhook.id}`
        await service.call('PATCH', webhook, { body: { url: receiver.url } })
        assert.equal((await service.call('POST', `${webhook}/test`)).status, 200)
        const { headers: sent, text } = await arrived.promise
        // The verifier knows the time of this machine only.
        const verified = new Webhook(kept.webhook.secret).sign(
          sent['webhook-id'] ?? '',
          new Date(Number(sent['webhook-timestamp']) * 1000),
          text,
        )
        assert.ok(sent['webhook-signature']?.split(' ').includes(verified))

        const shell = newShell(service)
        t.after(async () => shell.remove())
        const audit = await shell.moorage(['audit', 'verify'], { env: placed.settings })
        assert.equal(audit.code, 0, audit.stderr)
      })
    })
  }
}

async function countRows(db: Database, table: string): Promise<number> {
  const { rows } = await sql<{ rows: number }>`select count(*) as rows from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.rows)
}

test('changes that a later version must not make in a reply', () => {
  const before = { id: 'a', tags: [{ n: 1 }], none: null }
  assert.deepEqual(changesIn(before, { ...before, more: 1, tags: [{ n: 1, m: 2 }] }), [])
  for (const [after, change] of [
    [{ ...before, id: 'b' }, '.id: "a" became "b"'],
    [{ id: 'a', tags: [{ n: 1 }] }, '.none: null became undefined'],
    [{ ...before, tags: [] }, '.tags: 1 items became 0'],
    [{ ...before, tags: [{ n: 2 }] }, '.tags[0].n: 1 became 2'],
    [null, ': {"id":"a","tags":[{"n":1}],"none":null} became null'],
  ] as const)
    assert.deepEqual(changesIn(before, after), [change])
})
