import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type OlderLines, pageOf } from '../../console/pages/logs/log-page.ts'
import { createClient } from '../../sdk/client.ts'
import * as agents from '../../src/agents/store.ts'
import { LEVELS } from '../../src/logs/log-entry.ts'
import { logWrites } from '../../src/logs/store.ts'
import type { LogEntry } from '../../src/runtime/outcome.ts'
import { newShell } from '../support/clients/cli.ts'
import { partsOf, storageOf } from '../support/inside.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { fc } from '../support/running/property.ts'
import { onBothEngines } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const NOON = Date.UTC(2026, 10, 15, 12)
const timeOf = (ms: number) => new Date(NOON + ms).toISOString()

/** A search looks through so many entries at once. */
const WINDOW = 10_000

/** How many entries each millisecond has: most have several, and one has more than a search looks through. */
const BIG_MS = 50
const SMALL = fc.sample(fc.nat(40), 650)
const PER_MS = [...SMALL.slice(0, BIG_MS), WINDOW + 500, ...SMALL.slice(BIG_MS)]
const ENTRIES = PER_MS.flatMap((count, ms) => Array.from({ length: count }, () => ms)).map((ms, i): LogEntry => {
  const words = [i % 29 === 3 ? 'often' : '', i % 997 === 5 ? 'seldom' : '', i < 40 ? 'at first' : '']
  return {
    timestamp: NOON + ms,
    level: LEVELS[i % 5 === 0 ? 3 : 1] as LogEntry['level'],
    message: `entry ${i} ${words.join(' ').trim()}`,
    metadata: {},
  }
})

type Query = Record<string, string>

/** What a client must find, in the order of the sort. */
function expected({ search = '', level, start_time, end_time, sort }: Query): string[] {
  const found = ENTRIES.filter(
    (entry) =>
      entry.message.includes(search) &&
      (level === undefined || entry.level === level) &&
      (start_time === undefined || entry.timestamp >= Date.parse(start_time)) &&
      (end_time === undefined || entry.timestamp < Date.parse(end_time)),
  ).map(({ message }) => message)
  return sort === 'timestamp' ? found : found.toReversed()
}

onBothEngines('a search of more entries than are looked through at once', (service) => {
  before(async () => {
    const id = await createAgent(service(), 'long')
    const storage = storageOf(service())
    const { journal } = partsOf(service())
    const { seq } = await agents.get(storage.db, id)
    await journal.commit({ writes: logWrites({ agent_seq: seq, request_id: 'req_1' }, ENTRIES) })
  })

  test('the console shows every match once, page by page', async () => {
    const { logs } = createClient({ url: service().url, key: service().admin })
    const readPage = async (older: Partial<OlderLines>) =>
      pageOf(await logs.list('long', { search: 'often', limit: 200, ...older }), older)
    const found = new Map<string, string>()
    for (let older: Partial<OlderLines> | undefined = {}; older; ) {
      const page = await readPage(older)
      for (const { id, message } of page.entries.toReversed()) found.set(id, message)
      older = page.older
    }
    assert.deepEqual([...found.values()], expected({ search: 'often' }))
  })

  const read = async (query: Query) => {
    const reply = await service().call('GET', `/v1/agents/long/logs?${new URLSearchParams(query)}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }

  const cases: Query[] = [
    { search: 'often' },
    { search: 'often', level: 'error' },
    { search: 'seldom', limit: '5' },
    { search: 'seldom', start_time: timeOf(20), end_time: timeOf(400) },
    { search: 'at first' },
    { search: 'nowhere' },
  ]
  for (const filters of cases) {
    for (const sort of ['-timestamp', 'timestamp']) {
      const query = { limit: '1000', sort, ...filters }
      test(`finds every match once: ${new URLSearchParams(query)}`, async () => {
        const found: string[] = []
        let range: Query = {}
        let searches = 0
        for (let offset = 0; ; ) {
          const { data, pagination } = await read({ ...query, ...range, offset: String(offset) })
          found.push(...data.map(({ message }: LogEntry) => message))
          offset += data.length
          const { total, has_more, searched_to } = pagination
          assert.equal(has_more, offset < total || searched_to !== undefined)
          if (offset < total) continue
          assert.ok(++searches <= 4, `${searches} searches`)
          if (searched_to === undefined) break
          range = sort === 'timestamp' ? { start_time: searched_to } : { end_time: searched_to }
          offset = 0
        }
        assert.deepEqual(found, expected(query))
      })
    }
  }

  test('nothing is left when the rest is of the millisecond in which it stopped', async () => {
    const { pagination } = await read({ search: 'nowhere', start_time: timeOf(BIG_MS), end_time: timeOf(BIG_MS + 1) })
    assert.deepEqual(pagination, { limit: 100, offset: 0, total: 0, has_more: false })
  })

  describe('SDK', () => {
    const client = () => createClient({ url: service().url, key: service().admin })

    type LogsQuery = Parameters<ReturnType<typeof client>['logs']['list']>[1]
    const queries: LogsQuery[] = [{}, { sort: 'timestamp' }, { limit: 7 }, { offset: 9 }, { offset: 15 }]
    for (const query of queries) {
      test(`continues to the end: ${JSON.stringify(query)}`, async () => {
        const found: string[] = []
        for await (const { message } of client().logs.list('long', { ...query, search: 'seldom' })) found.push(message)
        const all = expected({ search: 'seldom', ...(query?.sort && { sort: query.sort }) })
        assert.deepEqual(found, all.slice(query?.offset))
      })
    }
  })

  describe('moorage logs', () => {
    const logs = async (...args: string[]) => {
      const shell = newShell(service())
      const { code, stdout, stderr } = await shell.moorage(['logs', 'long', '--json', ...args])
      shell.remove()
      assert.equal(code, 0, stderr)
      return { found: JSON.parse(stdout).map(({ message }: LogEntry) => message), stderr }
    }

    test('finds old entries', async () => {
      const { found, stderr } = await logs('--search', 'at first')
      assert.deepEqual(found, expected({ search: 'at first', sort: 'timestamp' }))
      assert.equal(stderr, '')
    })

    test('ends at its limit and says that there might be more', async () => {
      const { found, stderr } = await logs('--search', 'seldom', '--limit', '20')
      assert.deepEqual(found, expected({ search: 'seldom' }).slice(0, 20).toReversed())
      assert.deepEqual(JSON.parse(stderr), { note: 'There might be more. Use --limit 40.' })
    })

    test('says how many more entries there are, and when there are none', async () => {
      const { stderr } = await logs('--limit', '3')
      assert.deepEqual(JSON.parse(stderr), {
        note: `${ENTRIES.length - 3} more not shown. Use --limit ${ENTRIES.length} to see all.`,
      })
      const shell = newShell(service())
      const none = await shell.moorage(['logs', 'long', '--search', 'nowhere'])
      shell.remove()
      assert.deepEqual(none, { code: 0, stdout: '', stderr: 'none\n' })
    })
  })
})

describe('the SDK and a search that makes no progress', () => {
  test('stops after two requests', async () => {
    let requests = 0
    const server = await startLocalServer((_request, response) => {
      if (++requests > 10) return response.destroy()
      const pagination = { limit: 1, offset: 0, total: 0, has_more: true, searched_to: timeOf(0) }
      response.end(JSON.stringify({ data: [], pagination }))
    })
    const client = createClient({ url: server.url, key: 'mrg_x', retries: 0 })
    for await (const _ of client.logs.list('long', { search: 'x' })) assert.fail('nothing is there')
    await server.close()
    assert.equal(requests, 2)
  })
})
