import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type KyselyPlugin, sql } from 'kysely'
import { idSource } from '../../src/lib/id.ts'
import { findMemories } from '../../src/memory/search/find-memories.ts'
import { WarmRecall } from '../../src/memory/search/warm-recall.ts'
import * as memories from '../../src/memory/store.ts'
import { recount } from '../../src/memory/warm/scope-counts.ts'
import type { MemoryScope } from '../../src/operation/recall.ts'
import { openJournal } from '../../src/storage/journal/journal.ts'
import type { Storage } from '../../src/storage/open-storage.ts'
import { fc, tries } from '../support/running/property.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { onBothStores } from '../support/stores/store.ts'

const newId = idSource()
const ROOM = 10_000_000
const WORDS = ['river', 'stone', 'apple', 'coffee', 'ladder', 'winter']
const QUERY = 'river stone apple coffee'

type Step =
  | { do: 'say'; user: string | null; session: string | null; text: string }
  | { do: 'note'; user: string | null; text: string }
  | { do: 'forget'; which: number }
  | { do: 'change'; which: number; text: string; kind: 'turn' | 'note' }
  | { do: 'clear'; user: string | null }
  | { do: 'clear old'; before: number }

const user = fc.constantFrom('anna', 'ben', null)
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('say' as const), user, session: fc.constantFrom('s1', 's2', null), text }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('note' as const), user, text }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('forget' as const), which: fc.nat(50) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('change' as const),
        which: fc.nat(50),
        text,
        kind: fc.constantFrom('turn' as const, 'note' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const), user }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('clear old' as const), before: fc.nat(30) }) },
  ),
  { minLength: 3, maxLength: 25 },
)

let agents = 50_000

onBothStores('the memory cache', (store) => {
  test('finds the same as an uncached search after any mix of writes and deletions, and its counts stay correct', async () => {
    const { storage, engine } = store()
    const journal = openJournal(storage, { backlog: 1000 })
    await fc.assert(
      fc.asyncProperty(steps, async (story) => {
        const agent_seq = ++agents
        const warm = new WarmRecall({ storage, now: Date.now, room: ROOM })
        for (const [time, step] of story.entries()) {
          await take(step, { storage, journal, agent_seq, time })
          await sameAsCold(warm, storage, agent_seq)
        }
        const counted = await countsOf(storage, agent_seq)
        await storage.transaction((db) => recount(db, newId('mem', 0)))
        assert.deepEqual(counted, await countsOf(storage, agent_seq))
      }),
      // PostgreSQL takes several times longer for each run.
      { numRuns: tries(engine === 'sqlite' ? 10 : 4) },
    )
  })

  test('loads a long memory in pages, including what is added meanwhile', async () => {
    const { storage } = store()
    const agent_seq = ++agents
    const write = (from: number, count: number) =>
      storage.transaction((db) =>
        memories.insert(
          db,
          agent_seq,
          Array.from({ length: count }, (_, i) => note('anna', `river ${from + i}`, from + i)),
        ),
      )
    for (let from = 0; from < 4500; from += 500) await write(from, 500)
    const warm = new WarmRecall({ storage, now: Date.now, room: ROOM })
    const scope = { agent_seq, user_id: 'anna' }
    const found = warm.search(scope, 'river', { limit: 1 }, FREE_METER)
    await write(4500, 1)
    assert.ok((await found).total >= 4500)
    assert.equal((await warm.search(scope, 'river', { limit: 1 }, FREE_METER)).total, 4501)
    assert.equal((await warm.search(scope, 'river 4500', { limit: 1 }, FREE_METER)).items[0]?.content, 'river 4500')
  })

  test('each of many simultaneous searches finds what was written before it', async () => {
    const { storage } = store()
    const agent_seq = ++agents
    const warm = new WarmRecall({ storage, now: Date.now, room: ROOM })
    const asked = Array.from({ length: 20 }, async (_, i) => {
      await storage.transaction((db) => memories.insert(db, agent_seq, [note('anna', `stone number ${i}`, i)]))
      const { items } = await warm.search({ agent_seq, user_id: 'anna' }, `number ${i}`, { limit: 20 }, FREE_METER)
      assert.ok(
        items.some(({ content }) => content === `stone number ${i}`),
        `${i}`,
      )
    })
    await Promise.all(asked)
  })

  test('reads each text only once, and a new one together with the news, but never shows what was changed or erased', async () => {
    const { storage } = store()
    const agent_seq = ++agents
    const journal = openJournal(storage, { backlog: 10 })
    let queries = 0
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        queries += 1
        return result
      },
    }
    const counted = { db: storage.db.withPlugin(plugin), compare: storage.compare }
    const warm = new WarmRecall({ storage: counted, now: Date.now, room: ROOM })
    const say = (message: string, time: number) =>
      take({ do: 'say', user: 'anna', session: 's1', text: message }, { storage, journal, agent_seq, time })
    const conversation = { agent_seq, user_id: 'anna', session_id: 's1' }
    const remember = async () => {
      queries = 0
      const { history } = await warm.remember(conversation, QUERY, { history: 10, recall: 5 }, FREE_METER)
      return { queries, said: history.map(({ content }) => content) }
    }
    await say('river', 1)
    assert.deepEqual(await remember(), { queries: 2, said: ['river', 'river'] })
    assert.deepEqual(await remember(), { queries: 1, said: ['river', 'river'] })
    await say('stone', 2)
    assert.deepEqual(await remember(), { queries: 1, said: ['river', 'river', 'stone', 'stone'] })

    const seqs = await seqsOf(storage, { agent_seq })
    const { items } = await findMemories(storage.db, { agent_seq }, { limit: 10, offset: 0, sort: 'id' }, {})
    const last = items.find(({ role, content }) => role === 'assistant' && content === 'stone')
    await storage.transaction(async (db) => {
      const { seq, memory } = await memories.lock(db, { agent_seq }, last?.id ?? '')
      await memories.update(db, agent_seq, { seq, memory: { ...memory, content: 'winter' } }, newId('req', 0))
    })
    assert.deepEqual((await remember()).said, ['river', 'river', 'stone', 'winter'])
    await storage.transaction((db) => memories.remove(db, seqs.slice(0, 2)))
    assert.deepEqual((await remember()).said, ['stone', 'winter'])
    await removeAll(storage, { agent_seq, user_id: 'anna' })
    assert.deepEqual((await remember()).said, [])
  })

  test("finds an agent's new memories, however many other agents have stored since", async () => {
    const { storage, engine } = store()
    const agent_seq = ++agents
    const warm = new WarmRecall({ storage, now: Date.now, room: ROOM })
    const say = (content: string) =>
      storage.transaction((db) => memories.insert(db, agent_seq, [note('anna', content, 1)]))
    const total = async () => (await warm.search({ agent_seq }, 'stone', { limit: 10 }, FREE_METER)).total
    await say('the first stone')
    assert.equal(await total(), 1)
    await say('the second stone')
    assert.equal(await total(), 2)
    // As if so many rows had been written for other agents.
    if (engine === 'postgres') {
      await sql`select setval(pg_get_serial_sequence('memories', 'seq'), max(seq) + 50000) from memories`.execute(
        storage.db,
      )
    }
    await say('the third stone')
    if (engine === 'sqlite') {
      await sql`update memories set seq = seq + 50000 where content = 'the third stone'`.execute(storage.db)
    }
    assert.equal(await total(), 3)
  })

  test('drops scopes that do not fit, and loads them again correctly', async () => {
    const { storage } = store()
    const agent_seq = ++agents
    const small = new WarmRecall({ storage, now: Date.now, room: 20_000 })
    const users = Array.from({ length: 12 }, (_, i) => `user ${i}`)
    for (const user_id of users) {
      await storage.transaction((db) =>
        memories.insert(db, agent_seq, [note(user_id, 'a river', 1), note(user_id, 'a stone', 2)]),
      )
    }
    for (const user_id of [...users, ...users]) {
      const { items } = await small.search({ agent_seq, user_id }, QUERY, { limit: 10 }, FREE_METER)
      assert.deepEqual(items.map(({ content }) => content).toSorted(), ['a river', 'a stone'])
    }
  })

  for (const [how, room] of Object.entries({ 'warm scopes': ROOM, 'the index': 0 })) {
    test(`keeps turns of the same millisecond in the order they were said: ${how}`, async () => {
      const { storage } = store()
      const agent_seq = ++agents
      const conversation = { agent_seq, user_id: 'anna', session_id: 's1' }
      const said = Array.from({ length: 6 }, (_, i) => `line ${i}`)
      await storage.transaction((db) =>
        memories.insert(
          db,
          agent_seq,
          said.map((content) => ({ ...note('anna', content, 7, 's1'), kind: 'turn' as const, role: 'user' as const })),
        ),
      )
      // An updated row moves within its table: its position there must not matter.
      for (const created_at of [6, 7]) {
        const moved = storage.db.updateTable('memories').set({ created_at }).where('agent_seq', '=', agent_seq)
        await moved.where('content', 'in', ['line 2', 'line 3']).execute()
      }
      const recall = new WarmRecall({ storage, now: Date.now, room })
      const { history } = await recall.remember(conversation, '', { history: 4, recall: 0 }, FREE_METER)
      assert.deepEqual(
        history.map(({ content }) => content),
        said.slice(2),
      )
    })
  }

  test('the index picks up what was added, changed and deleted since the last search', async () => {
    const { storage } = store()
    const agent_seq = ++agents
    const write = async (...contents: string[]) => {
      const written = contents.map((content, i) => note('anna', content, i))
      await storage.transaction((db) => memories.insert(db, agent_seq, written))
      return written.map(({ id }) => id) as [string, string, string]
    }
    const change = (id: string, content: string) =>
      storage.transaction(async (db) => {
        const { seq, memory } = await memories.lock(db, { agent_seq }, id)
        await memories.update(db, agent_seq, { seq, memory: { ...memory, content } }, newId('req', 0))
      })
    const forget = (id: string) =>
      storage.transaction(async (db) => memories.remove(db, [(await memories.get(db, { agent_seq }, id)).seq]))
    const found = async () => {
      const cold = new WarmRecall({ storage, now: Date.now, room: 0 })
      const { items } = await cold.search({ agent_seq }, 'river', { limit: 100 }, FREE_METER)
      return items.map(({ content }) => content).toSorted()
    }
    const [, indexed, newest] = await write('river 1', 'river 2', 'river 3')
    assert.deepEqual(await found(), ['river 1', 'river 2', 'river 3'])
    const [waiting, gone] = await write('river 4', 'river 5', 'stone 6')
    await change(waiting, 'stone 4')
    await change(indexed, 'stone 2')
    await forget(gone)
    await forget(newest)
    assert.deepEqual(await found(), ['river 1'])
    await change(waiting, 'river 7')
    await write('river 8')
    assert.deepEqual(await found(), ['river 1', 'river 7', 'river 8'])
  })

  describe('memory counts', () => {
    test('are zero after a user is erased', async () => {
      const { storage } = store()
      const agent_seq = ++agents
      await storage.transaction((db) => memories.insert(db, agent_seq, [note('anna', 'a river', 1)]))
      await removeAll(storage, { agent_seq, user_id: 'anna' })
      assert.deepEqual(await countsOf(storage, agent_seq), [])
    })
  })
})

function note(user_id: string | null, content: string, created_at: number, session_id: string | null = null) {
  const id = newId('mem', created_at)
  return { id, kind: 'note' as const, role: null, content, user_id, session_id, created_at, metadata: {} }
}

type World = { storage: Storage; journal: ReturnType<typeof openJournal>; agent_seq: number; time: number }

async function take(step: Step, { storage, journal, agent_seq, time }: World): Promise<void> {
  const request_id = 'req_1'
  if (step.do === 'say') {
    const exchange = { agent_seq, user_id: step.user, session_id: step.session, request_id, created_at: time, newId }
    const served = { version: null, deployment_id: null }
    const writes = memories.turnWrites({ ...exchange, served, message: step.text, response: step.text })
    await journal.commit({ writes })
  }
  if (step.do === 'note') {
    await storage.transaction((db) => memories.insert(db, agent_seq, [note(step.user, step.text, time)]))
  }
  if (step.do === 'clear') await removeAll(storage, { agent_seq, user_id: step.user })
  if (step.do === 'clear old') await removeAll(storage, { agent_seq }, step.before)
  if (step.do === 'change') {
    const { items } = await findMemories(storage.db, { agent_seq }, { limit: 100, offset: 0, sort: 'id' }, {})
    const chosen = items[step.which % items.length]
    if (chosen) {
      await storage.transaction(async (db) => {
        const { seq, memory } = await memories.lock(db, { agent_seq }, chosen.id)
        const changed = { ...memory, content: step.text, kind: step.kind, role: 'user' as const }
        await memories.update(db, agent_seq, { seq, memory: changed }, newId('req', 0))
      })
    }
  }
  if (step.do === 'forget') {
    const seqs = await seqsOf(storage, { agent_seq })
    if (seqs.length > 0) {
      await storage.transaction((db) => memories.remove(db, [seqs[step.which % seqs.length] as number]))
    }
  }
}

async function removeAll(storage: Storage, scope: MemoryScope, before?: number): Promise<void> {
  const seqs = await seqsOf(storage, scope, before)
  await storage.transaction((db) => memories.remove(db, seqs))
}

function seqsOf(storage: Storage, scope: MemoryScope, before?: number): Promise<number[]> {
  return memories.listSeqs(storage.db, { scope, before, through: Number.MAX_SAFE_INTEGER }, 1000)
}

async function sameAsCold(warm: WarmRecall, storage: Storage, agent_seq: number): Promise<void> {
  const cold = new WarmRecall({ storage, now: Date.now, room: ROOM })
  const scopes = [{ agent_seq }, { agent_seq, user_id: 'anna' }, { agent_seq, user_id: null }]
  const conversation = { agent_seq, user_id: 'anna', session_id: 's1' }
  const find = (recall: WarmRecall) =>
    Promise.all([
      ...scopes.map((scope) => recall.search(scope, QUERY, { limit: 100 }, FREE_METER)),
      recall.remember(conversation, QUERY, { history: 4, recall: 5 }, FREE_METER),
    ])
  const [found, expected] = await Promise.all([find(warm), find(cold)])
  assert.deepEqual(found, expected)
}

async function countsOf(storage: Storage, agent_seq: number) {
  return storage.db
    .selectFrom('memory_scopes')
    .select(['level', 'user_id', 'session_id', 'turns', 'notes', 'turn_terms', 'note_terms'])
    .where('agent_seq', '=', agent_seq)
    .orderBy('level')
    .orderBy('user_id')
    .orderBy('session_id')
    .execute()
}
