import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { Client } from 'pg'
import { listWithMemory } from '../../src/agents/store.ts'
import { idSource } from '../../src/lib/id.ts'
import { WarmRecall } from '../../src/memory/search/warm-recall.ts'
import * as memories from '../../src/memory/store.ts'
import { openJournal } from '../../src/storage/journal/journal.ts'
import type { Storage } from '../../src/storage/open-storage.ts'
import { partsOf } from '../support/inside.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { until } from '../support/running/until.ts'
import { newAgent, newLongAgents } from '../support/service/agents.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { searchMemory, writeMemory } from '../support/slices/memory.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'
import { onBothStores } from '../support/stores/store.ts'

const newId = idSource()
const ROOM = 128 * 1_048_576

const note = (user_id: string, content: string) => {
  const created_at = 1
  const id = newId('mem', created_at)
  return { id, kind: 'note' as const, role: null, content, user_id, session_id: null, created_at, metadata: {} }
}

/** Texts of 400 words, none of which occurs twice. */
function differentWords(count: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: 400 }, (_word, j) => `w${(i * 400 + j).toString(36)}x`).join(' '),
  )
}

/** Counts the memories whose terms are read. */
function counted(storage: Storage) {
  const read = { rows: 0 }
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      read.rows += result.rows.filter((row) => typeof row['terms'] === 'string' && row['seq'] !== 0).length
      return result
    },
  }
  return { read, storage: { db: storage.db.withPlugin(plugin), compare: storage.compare } }
}

onBothStores('a memory of very many different words', (store, engine) => {
  const write = async (agent_seq: number, user_id: string, texts: string[]) => {
    for (let from = 0; from < texts.length; from += 100) {
      const items = texts.slice(from, from + 100).map((content) => note(user_id, content))
      await store().storage.transaction((db) => memories.insert(db, agent_seq, items))
    }
  }

  test('is read once, and then searched by the index until it is small again', async () => {
    const texts = differentWords(260)
    const scope = { agent_seq: 1, user_id: 'anna' }
    await write(1, 'anna', ['the harbour is closed', ...texts])
    const { read, storage } = counted(store().storage)
    const recall = new WarmRecall({ storage, now: Date.now, room: ROOM })
    const search = async (query: string) => {
      read.rows = 0
      const { items } = await recall.search(scope, query, { limit: 3 }, FREE_METER)
      return items.map(({ content }) => content)
    }
    assert.deepEqual(await search('harbour'), ['the harbour is closed'])
    assert.ok(read.rows > 200, `${read.rows} rows`)
    assert.deepEqual(await search('harbour'), ['the harbour is closed'])
    assert.equal(read.rows, 1)
    await write(1, 'anna', ['the harbour is open'])
    assert.deepEqual(await search('harbour open'), ['the harbour is open', 'the harbour is closed'])
    assert.equal(read.rows, 2)

    await memories.clear(store().storage, scope)
    await write(1, 'anna', ['the harbour is small'])
    assert.deepEqual(await search('harbour'), ['the harbour is small'])
    assert.deepEqual(await search('harbour'), ['the harbour is small'])
    assert.equal(read.rows, 0, 'it is kept in memory again')
  })

  test('takes no room from other projects', async () => {
    for (const user of Array.from({ length: 12 }, (_, i) => `user ${i}`)) await write(2, user, [`${user} anchored`])
    await write(3, 'ben', ['ben anchored'])
    const { read, storage } = counted(store().storage)
    const projectOf = async (agent_seq: number) => (agent_seq === 3 ? 'small' : 'large')
    const recall = new WarmRecall({ storage, now: Date.now, room: 12_000, projectOf })
    const search = (agent_seq: number, user_id: string) =>
      recall.search({ agent_seq, user_id }, 'anchored', { limit: 1 }, FREE_METER)
    await search(3, 'ben')
    for (let i = 0; i < 24; i++) await search(2, `user ${i % 12}`)
    assert.ok(read.rows > 13, `${read.rows} rows: the larger project does not have room for all its users`)
    read.rows = 0
    assert.equal((await search(3, 'ben')).items[0]?.content, 'ben anchored')
    assert.equal(read.rows, 0)
  })

  // SQLite has one writer.
  if (engine === 'postgres') {
    test('the memories of an agent are committed in the order of their numbers', async () => {
      const { storage, options } = store()
      await write(4, 'anna', ['first'])
      const journal = openJournal(storage, { backlog: 10 })
      const client = new Client({ connectionString: options.database.url })
      await client.connect()
      try {
        const lastNumber = async () =>
          (await client.query(`select last_value from ${(await sequence()) ?? ''}`)).rows[0].last_value
        const sequence = async () =>
          (await client.query(`select pg_get_serial_sequence('memories', 'seq') as name`)).rows[0].name
        const before = await lastNumber()
        await client.query('begin')
        await client.query('select 1 from memory_scopes where agent_seq = 4 and level = 0 for update')
        const turns = { agent_seq: 4, user_id: 'anna', session_id: null, created_at: 1, newId }
        const served = { version: null, deployment_id: null }
        const said = { request_id: 'req_1', served, message: 'said', response: 'answered' }
        const written = [
          write(4, 'anna', ['later']),
          journal.commit({ writes: memories.turnWrites({ ...turns, ...said }) }),
        ]
        await until('both writers wait', async () => (await lockWaiters(client)) === 2)
        assert.equal(await lastNumber(), before, 'a writer that waits has taken no number yet')
        await client.query('commit')
        await Promise.all(written)
      } finally {
        await client.end()
      }
    })
  }
})

onAnyEngine('words inside other words', (service) => {
  const LANGUAGES = {
    German: ['Versicherung', 'Die Haftpflichtversicherungen laufen bei der Allianz', 'Versicherungsnummer: 12-34'],
    Dutch: ['welke verzekering', 'Mijn zorgverzekering is van de buren', 'verzekeringspapieren in de la'],
    Finnish: ['vakuutus', 'Kotivakuutus on voimassa', 'vakuutuskirja on kadonnut'],
    Swedish: ['försäkring', 'Hemförsäkringen gäller till maj', 'försäkringsbolaget ringde'],
  }

  for (const [language, [query, ...texts]] of Object.entries(LANGUAGES)) {
    test(`are found: ${language}`, async () => {
      const agent = await newAgent(service())
      await writeMemory(
        service(),
        agent,
        [...texts, 'Etwas ganz anderes'].map((content) => ({ content })),
      )
      const { data } = await searchMemory(service(), agent, { query })
      assert.deepEqual(data.map((hit: { content: string }) => hit.content).toSorted(), texts.toSorted())
    })
  }

  test('come behind the word alone, and are not looked for in English', async () => {
    const agent = await newAgent(service())
    const texts = ['The highlighted part', 'A light in the window', 'Haftpflichtversicherung', 'Versicherung']
    await writeMemory(
      service(),
      agent,
      texts.map((content) => ({ content })),
    )
    const found = async (query: string) =>
      (await searchMemory(service(), agent, { query })).data.map((hit: { content: string }) => hit.content)
    assert.deepEqual(await found('What about the light?'), ['A light in the window'])
    assert.deepEqual(await found('Versicherung'), ['Versicherung', 'Haftpflichtversicherung'])
  })
})

onAnyEngine('many agents with long definitions whose memory needs work', (service) => {
  test('do not block other requests while the work is being found', async () => {
    await newLongAgents(service(), 60, { memory: { retention_days: 30 } })
    const { storage } = partsOf(service())
    const ms = await leastLongestPass(async () => {
      assert.equal((await listWithMemory(storage.db, () => true)).length, 60)
    })
    assert.ok(ms < 50, `${ms} ms`)
  })
})
