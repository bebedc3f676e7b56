import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createClient } from '../../sdk/client.ts'
import { storeOf } from '../support/inside.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'

const LARGE = 1_000
const SMALL = 10_000
const MOST_MS = 50

onBothEngines('large rows', (service) => {
  /** Each of the entries is as large as one may be. They are newer than the small ones. */
  const fillLog = async (agent: string) => {
    const db = storeOf(service())
    const { seq } = await db.selectFrom('agents').select('seq').where('id', '=', agent).executeTakeFirstOrThrow()
    const begun = service().now() - 3_600_000
    const entry = (timestamp: number, message: string, detail: string) => {
      const metadata = JSON.stringify({ detail })
      return { agent_seq: seq, request_id: 'req_1', timestamp: begun + timestamp, level: 1, message, metadata }
    }
    const entries = [
      ...Array.from({ length: SMALL }, (_, i) => entry(i, `needle ${i}`, '')),
      ...Array.from({ length: LARGE }, (_, i) =>
        entry(SMALL + i, `needle ${SMALL + i}`.padEnd(10_000), 'x'.repeat(19_900)),
      ),
    ]
    for (let at = 0; at < entries.length; at += 100)
      await db
        .insertInto('logs')
        .values(entries.slice(at, at + 100))
        .execute()
  }

  /** Piece by piece: a client that puts the pieces together would take longer than the service in this process. */
  const readBytes = async (path: string) => {
    const { body, status } = await fetch(service().url + path, {
      headers: { Authorization: `Bearer ${service().admin}` },
    })
    assert.equal(status, 200)
    let bytes = 0
    for await (const piece of body ?? []) bytes += piece.length
    return bytes
  }

  describe('is read page by page, and delays no one', () => {
    test('in a log that is listed, searched and followed', async () => {
      const agent = await newAgent(service())
      const { url, admin } = service()
      const { logs } = createClient({ url, key: admin })
      const { next_after: after = '' } = (await logs.list(agent, { after: 'latest' })).pagination
      await fillLog(agent)
      for (const query of [{}, { search: 'needle' }, { after }]) {
        const ms = await leastLongestPass(async () => {
          assert.ok(
            (await readBytes(`/v1/agents/${agent}/logs?${new URLSearchParams({ ...query, limit: '1000' })}`)) > 0,
          )
        })
        assert.ok(ms < MOST_MS, `${JSON.stringify(query)}: ${ms} ms`)
        const times = new Set<string>()
        for await (const { timestamp } of logs.list(agent, { ...query, limit: 1_000 })) times.add(timestamp)
        assert.equal(times.size, SMALL + LARGE, JSON.stringify(query))
      }
    })

    test('in a list of schedules', async () => {
      const agent = await newAgent(service())
      const body = { message: 'x'.repeat(100_000), every: '1h', context: { data: 'x'.repeat(60_000) } }
      const made = await service().call('POST', `/v1/agents/${agent}/schedules`, { body })
      assert.equal(made.status, 201, made.text)
      const db = storeOf(service())
      const row = await db.selectFrom('schedules').selectAll().where('agent_id', '=', agent).executeTakeFirstOrThrow()
      for (let i = 1; i < 100; i++)
        await db
          .insertInto('schedules')
          .values({ ...row, id: `${row.id}${i}` })
          .execute()
      const ms = await leastLongestPass(() => readBytes(`/v1/agents/${agent}/schedules?limit=100`))
      assert.ok(ms < MOST_MS, `${ms} ms`)
      const { schedules } = createClient({ url: service().url, key: service().admin })
      const ids = new Set<string>()
      for await (const { id } of schedules.list(agent, { limit: 100 })) ids.add(id)
      assert.equal(ids.size, 100)
    })
  })
})
