import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as agents from '../../src/agents/store.ts'
import { logWrites } from '../../src/logs/store.ts'
import type { LogEntry, LogLevel } from '../../src/runtime/outcome.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { partsOf, storeOf } from '../support/inside.ts'
import { fc } from '../support/running/property.ts'
import { onBothEngines } from '../support/service/service.ts'

const NOON = Date.UTC(2026, 10, 15, 12)
const at = (seconds: number) => new Date(NOON + seconds * 1000).toISOString()

onBothEngines('logs', (service) => {
  let made = 0

  /** An agent with these entries: seconds after noon, level, message, and perhaps metadata and the invocation. */
  const agentWith = async (...entries: [number, LogLevel, string, object?, string?][]) => {
    const node = service()
    const { call } = node
    const { body } = await call('POST', '/v1/agents', { body: { name: `logged-${++made}` } })
    const { seq } = await agents.get(storeOf(node), body.data.id)
    for (const [seconds, level, message, metadata = {}, request_id = 'req_1'] of entries) {
      const entry = { timestamp: NOON + seconds * 1000, level, message, metadata } as LogEntry
      await partsOf(node).journal.commit({ writes: logWrites({ agent_seq: seq, request_id }, [entry]) })
    }
    return { id: body.data.id as string, name: body.data.name as string, seq }
  }
  const read = async (id: string, query: Record<string, string> = {}) => {
    const reply = await service().call('GET', `/v1/agents/${id}/logs?${new URLSearchParams(query)}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }
  const messages = async (id: string, query?: Record<string, string>): Promise<string[]> =>
    (await read(id, query)).data.map(({ message }: { message: string }) => message)

  describe('GET /v1/agents/{agent_id}/logs', () => {
    /** The reply without the ids of its entries, which other agents' entries decide too. */
    const readWithoutIds = async (id: string, query?: Record<string, string>) => {
      const { data, ...rest } = await read(id, query)
      return { ...rest, data: data.map(({ id: _id, ...entry }: { id: string }) => entry) }
    }

    test('200 with the newest first, in the format of the specification', async () => {
      const agent = await agentWith(
        [0, 'info', 'Tool weather answered', { tool: 'weather', duration_ms: 12 }],
        [1, 'error', 'The agent failed.', {}, 'req_2'],
      )
      const expected = {
        data: [
          { timestamp: at(1), level: 'error', message: 'The agent failed.', metadata: { request_id: 'req_2' } },
          {
            timestamp: at(0),
            level: 'info',
            message: 'Tool weather answered',
            metadata: { tool: 'weather', duration_ms: 12, request_id: 'req_1' },
          },
        ],
        pagination: { limit: 100, offset: 0, total: 2, has_more: false },
      }
      assert.deepEqual(await readWithoutIds(agent.id), expected)
      assert.deepEqual(await readWithoutIds(agent.name), expected)
      const ids = (await read(agent.id)).data.map(({ id }: { id: string }) => id)
      assert.equal(new Set(ids).size, 2)
    })

    test('entries of one millisecond stay in the order they were written, across pages', async () => {
      const agent = await agentWith()
      const entries = Array.from({ length: 25 }, (_, i) => ({
        timestamp: NOON,
        level: 'info' as const,
        message: `entry ${i}`,
        metadata: {},
      }))
      const { journal } = partsOf(service())
      await journal.commit({ writes: logWrites({ agent_seq: agent.seq, request_id: 'req_1' }, entries) })
      const written = entries.map(({ message }) => message)
      assert.deepEqual(await messages(agent.id), written.toReversed())
      assert.deepEqual(await messages(agent.id, { sort: 'timestamp' }), written)
      const pages = []
      for (const offset of ['0', '10', '20', '30']) pages.push(await read(agent.id, { limit: '10', offset }))
      assert.deepEqual(
        pages.flatMap(({ data }) => data.map(({ message }: { message: string }) => message)),
        written.toReversed(),
      )
      assert.deepEqual(
        pages.map(({ pagination }) => pagination),
        [0, 10, 20, 30].map((offset) => ({ limit: 10, offset, total: 25, has_more: offset < 20 })),
      )
    })

    test("an agent's log contains only its own entries", async () => {
      const one = await agentWith([0, 'info', 'of one'])
      const other = await agentWith([0, 'info', 'of the other'])
      assert.deepEqual(await messages(one.id), ['of one'])
      assert.deepEqual(await messages(other.id), ['of the other'])
      const key = await service().call('POST', '/v1/keys', {
        body: { name: 'scoped', agent_id: one.id, permissions: ['read'] },
      })
      const reply = await service().call('GET', `/v1/agents/${other.id}/logs`, { key: key.body.data.secret })
      assert.equal(reply.status, 403)
    })

    test('level accepts one or several', async () => {
      const agent = await agentWith([0, 'debug', 'd'], [1, 'info', 'i'], [2, 'warn', 'w'], [3, 'error', 'e'])
      assert.deepEqual(await messages(agent.id, { level: 'warn' }), ['w'])
      assert.deepEqual(await messages(agent.id, { level: 'debug,error' }), ['e', 'd'])
      assert.deepEqual(await messages(agent.id, { level: 'info,warn' }), ['w', 'i'])
      const totals = { 'debug,error': 2, info: 1, 'info,error': 2, 'debug,info,warn,error': 4, error: 1 }
      for (const [level, total] of Object.entries(totals)) {
        assert.equal((await read(agent.id, { level })).pagination.total, total, level)
      }
    })

    test('start_time is inclusive, end_time exclusive, and a time zone offset is respected', async () => {
      const agent = await agentWith([0, 'info', 'zero'], [1, 'info', 'one'], [2, 'info', 'two'])
      assert.deepEqual(await messages(agent.id, { start_time: at(1) }), ['two', 'one'])
      assert.deepEqual(await messages(agent.id, { end_time: at(1) }), ['zero'])
      assert.deepEqual(await messages(agent.id, { start_time: at(1), end_time: at(2) }), ['one'])
      assert.deepEqual(await messages(agent.id, { start_time: '2026-11-15T14:00:02+02:00' }), ['two'])
    })

    test('request_id selects one invocation', async () => {
      const agent = await agentWith([0, 'info', 'first', {}, 'req_a'], [1, 'info', 'second', {}, 'req_b'])
      await agentWith([0, 'info', "another agent's", {}, 'req_a'])
      assert.deepEqual(await messages(agent.id, { request_id: 'req_a' }), ['first'])
      assert.deepEqual(await messages(agent.id, { request_id: "' or 1=1 --" }), [])
    })

    test('filters can be combined', async () => {
      const agent = await agentWith(
        [0, 'warn', 'slow', {}, 'req_a'],
        [1, 'warn', 'slow', {}, 'req_b'],
        [2, 'info', 'slow', {}, 'req_a'],
        [3, 'warn', 'slower', {}, 'req_a'],
        [3.5, 'warn', 'quick', {}, 'req_a'],
      )
      const query = {
        level: 'warn',
        request_id: 'req_a',
        search: 'SLOW',
        start_time: at(0),
        end_time: at(4),
        limit: '1',
      }
      assert.deepEqual(await readWithoutIds(agent.id, query), {
        data: [{ timestamp: at(3), level: 'warn', message: 'slower', metadata: { request_id: 'req_a' } }],
        pagination: { limit: 1, offset: 0, total: 2, has_more: true },
      })
    })

    describe('search', () => {
      test('finds a part of the message or the metadata, whatever its case', async () => {
        const agent = await agentWith(
          [0, 'info', 'Übergröße in MÜNCHEN'],
          [1, 'info', 'ΟΔΥΣΣΕΥΣ'],
          [1, 'info', 'İstanbul'],
          [2, 'info', 'other', { error: 'said "No" to C:\\Temp', deep: { list: ['Привет'] } }],
        )
        const hits: [string, string[]][] = [
          ['münchen', ['Übergröße in MÜNCHEN']],
          ['GRÖßE', ['Übergröße in MÜNCHEN']],
          ['οδυσσευς', ['ΟΔΥΣΣΕΥΣ']],
          ['SAID "no"', ['other']],
          ['c:\\temp', ['other']],
          ['ПРИВЕТ', ['other']],
          ['İSTAN', ['İstanbul']],
          ['nothing like it', []],
        ]
        for (const [search, expected] of hits) assert.deepEqual(await messages(agent.id, { search }), expected, search)
      })

      test('no character has a special meaning', async () => {
        const special = [
          '%',
          '_',
          '*',
          '?',
          '[',
          ']',
          '[a-z]',
          '^',
          '$',
          '.',
          '\\',
          '|',
          '(',
          ')',
          '+',
          '{2}',
          "'",
          '--',
          '\\d',
          '(?i)',
          '***=',
        ]
        const said = special.map((text) => `<${text}>ä${text}`).join('')
        const agent = await agentWith([0, 'info', 'plain 2a ö2a'], [1, 'info', said])
        for (const search of special) {
          assert.equal((await messages(agent.id, { search })).length, 1, search)
          assert.equal((await messages(agent.id, { search: `<${search}>` })).length, 1, search)
          assert.equal((await messages(agent.id, { search: `lain${search}` })).length, 0, search)
          // Letters beyond ASCII are searched in another way.
          assert.equal((await messages(agent.id, { search: `Ä${search}` })).length, 1, `Ä${search}`)
          assert.equal((await messages(agent.id, { search: `Ö${search}` })).length, 0, `Ö${search}`)
        }
      })

      test('agrees with a plain search in JavaScript', async () => {
        const words = fc.string({ unit: fc.constantFrom(...'abAB%_*?[]^$.\\äÄß é-'), minLength: 1, maxLength: 4 })
        const texts = fc.sample(fc.string({ unit: fc.constantFrom(...'abAB%_*?[]^$.\\äÄß é-'), maxLength: 12 }), 40)
        const agent = await agentWith(...texts.map((text, i): [number, LogLevel, string] => [i, 'info', text]))
        for (const word of fc.sample(words, 60)) {
          const expected = texts.filter((text) => text.toLowerCase().includes(word.toLowerCase()))
          assert.deepEqual(await messages(agent.id, { search: word, sort: 'timestamp' }), expected, word)
        }
      })
    })

    test("secrets, and characters that a database can't store, are replaced before an entry is stored", async () => {
      const agent = await agentWith(
        [
          0,
          'warn',
          `Authorization: Bearer abcdef0123456789 \0 \uD800 ${'x'.repeat(20_000)}`,
          { key: 'sk-proj-0123456789abcdef' },
        ],
        [1, 'info', 'big', { text: 'y'.repeat(100_000) }],
        [2, 'info', 'mine', { request_id: 'forged', nul: '\0' }],
      )
      const { data } = await read(agent.id, { sort: 'timestamp' })
      const [secret, big, mine] = data
      assert.match(secret.message, /^Authorization: Bearer \[redacted\] \uFFFD \uFFFD x+…$/)
      assert.equal(secret.message.length, 10_001)
      assert.deepEqual(secret.metadata, { key: '[redacted]', request_id: 'req_1' })
      assert.deepEqual(big.metadata, { left_out: '100011 characters', request_id: 'req_1' })
      assert.deepEqual(mine.metadata, { nul: '\0', request_id: 'req_1' })
    })

    test('a page can have 1000 entries', async () => {
      const agent = await agentWith()
      const entries = Array.from({ length: 1001 }, (_, i) => ({
        timestamp: NOON + i,
        level: 'debug' as const,
        message: String(i),
        metadata: {},
      }))
      const { journal } = partsOf(service())
      await journal.commit({ writes: logWrites({ agent_seq: agent.seq, request_id: 'req_1' }, entries) })
      const { data, pagination } = await read(agent.id, { limit: '1000' })
      assert.deepEqual([data.length, data[0].message, data[999].message], [1000, '1000', '1'])
      assert.deepEqual(pagination, { limit: 1000, offset: 0, total: 1001, has_more: true })
    })

    const refused: [string, string][] = [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=1e2', 'limit'],
      ['offset=-1', 'offset'],
      ['level=fatal', 'level'],
      ['level=', 'level'],
      ['level=info,', 'level'],
      ['level=info&level=warn', 'level'],
      ['sort=message', 'sort'],
      ['start_time=2026-02-30T00:00:00Z', 'start_time'],
      ['start_time=2026-11-15T00:00:00', 'start_time'],
      ['end_time=yesterday', 'end_time'],
      ['start_time=2026-11-15T00:00:00Z&end_time=2026-11-15T00:00:00Z', 'end_time'],
      ['search=', 'search'],
      [`search=${'a'.repeat(201)}`, 'search'],
      [`request_id=${'a'.repeat(101)}`, 'request_id'],
      ['since=1h', 'since'],
    ]
    for (const [query, field] of refused) {
      test(`400 for ${query.slice(0, 70)}`, async () => {
        const { status, body } = await service().call('GET', `/v1/agents/hello/logs?${query}`)
        assert.equal(status, 400)
        assert.deepEqual(fieldsOf(body), [field])
      })
    }
  })
})
