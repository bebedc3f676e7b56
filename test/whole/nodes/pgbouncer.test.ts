import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { hearsChanges } from '../../support/inside.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { createKey } from '../../support/slices/resources.ts'
import { pgbouncerPath, startPgBouncer } from '../../support/stores/pgbouncer.ts'
import { testPostgres } from '../../support/stores/postgres.ts'

const program = pgbouncerPath()

describe('behind PgBouncer in transaction mode', { skip: program ? false : 'there is no pgbouncer' }, () => {
  for (const listens of [true, false]) {
    const how = listens ? 'two nodes that listen to PostgreSQL itself' : 'two nodes that nobody told of it'
    test(`${how} answer, learn of changes and share the work`, async (t) => {
      const database = await testPostgres()
      const bouncer = await startPgBouncer(program as string, database.url)
      const first = await startService('postgres', {
        DATABASE_URL: bouncer.url,
        ...(listens && { MOORAGE_DATABASE__LISTEN_URL: database.url }),
      })
      const second = await first.beside()
      t.after(async () => {
        await second.stop()
        await first.stop()
        await bouncer.close()
        await database.drop()
      })
      const nodes = [first, second]
      if (listens) await until('both hear', () => nodes.every((node) => hearsChanges(node)))
      else await until('a warning', () => /set database.listenUrl to PostgreSQL itself/.test(first.log()))

      await answersMany(nodes)
      // What one changes counts at once for the other.
      const { id, secret } = await createKey(first, { role: 'viewer' })
      const self = () => second.call('GET', '/v1/keys/self', { key: secret })
      assert.equal((await self()).status, 200)
      await first.call('DELETE', `/v1/keys/${id}`)
      await until('it is refused', async () => (await self()).status === 401, listens ? 5_000 : 100)
    })
  }
})

/** Invocations of every kind, many at a time, so that connections change hands. */
async function answersMany(nodes: Service[]): Promise<void> {
  const agent = await newAgent(nodes[0] as Service)
  const invoke = (node: Service, headers: Record<string, string>) =>
    node.call('POST', `/v1/agents/${agent}/invoke`, {
      body: { message: 'go', context: { user_id: 'u', session_id: 's' } },
      headers,
    })
  const kinds = [() => ({}), () => ({ 'Idempotency-Key': randomUUID() }), () => ({ Prefer: 'respond-async' })]
  const rounds = Array.from({ length: 20 }, async () => {
    for (const node of nodes) {
      for (const headers of kinds) {
        const { status, text } = await invoke(node, headers() as Record<string, string>)
        assert.ok(status === 200 || status === 202, text)
      }
    }
  })
  await Promise.all(rounds)
  const path = `/v1/agents/${agent}/invocations?status=completed`
  await until('all are done', async () => (await nodes[1]?.call('GET', path))?.body.pagination.total === 120)
}
