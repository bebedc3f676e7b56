import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idSource } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import { embedMemories } from '../../src/memory/embedding/embed-memories.ts'
import { questionOf } from '../../src/memory/language/question.ts'
import { WordVectors } from '../../src/memory/language/word-vectors.ts'
import type { Memory } from '../../src/memory/memory.ts'
import { bestOf } from '../../src/memory/ranking/best.ts'
import { planSearch } from '../../src/memory/ranking/plan.ts'
import { Postings } from '../../src/memory/ranking/postings.ts'
import { Scorer } from '../../src/memory/ranking/score.ts'
import { findMemories } from '../../src/memory/search/find-memories.ts'
import { WarmRecall } from '../../src/memory/search/warm-recall.ts'
import * as memories from '../../src/memory/store.ts'
import { listSessions, listUsers } from '../../src/memory/warm/scope-lists.ts'
import type { MemoryScope, Recall } from '../../src/operation/recall.ts'
import type { Embedder } from '../../src/runtime/embedders/embedder.ts'
import type { Storage } from '../../src/storage/open-storage.ts'
import { fc, tries } from '../support/running/property.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { NOTHING_PAUSED } from '../support/service/run-agent.ts'
import { onBothStores } from '../support/stores/store.ts'

const newId = idSource()
const log = createLog({ level: 'silent', format: 'json' })
const vocabulary = ['river', 'stone', 'apple', 'coffee', 'ladder', 'winter', 'paper', 'green']
const query = 'river stone apple coffee today'
const now = () => 5

/** Pairs of different users, however similar their IDs. */
const pairsOfUsers: [string | null, string | null][] = [
  ['anna', 'ben'],
  ['anna', null],
  ['anna', 'Anna'],
  ['anna', 'anna '],
  ['a', '61'],
  ['%', '_'],
  ["x' or '1'='1", 'x'],
  ["a' | 'b", 'b'],
  ['\\', "\\'"],
  ['"', '" OR "a'],
  ['東'.repeat(256), `${'東'.repeat(255)}京`],
  ['caf\u00e9', 'cafe\u0301'],
  ['🙂', '🙃'],
]

const said = fc.record({
  by: fc.constantFrom(0, 1),
  session_id: fc.constantFrom('s1', 's2', null),
  kind: fc.constantFrom('turn' as const, 'turn' as const, 'note' as const, 'fact' as const),
  role: fc.constantFrom('user' as const, 'assistant' as const),
  content: fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 5 }).map((chosen) => chosen.join(' ')),
  created_at: fc.integer({ min: 1, max: 5 }),
})
type StoryMemory = Omit<Memory, 'id' | 'user_id' | 'metadata'> & { by: number }

const stories = fc.record({
  users: fc.constantFrom(...pairsOfUsers),
  items: fc.array(said, { minLength: 1, maxLength: 15 }),
})

/** Counts letters: what it makes of a text depends on nothing else. */
const letters: Embedder = {
  model: 'letters',
  embed: async (texts) => texts.map(countLetters),
  query: async (text) => countLetters(text),
  close: async () => {},
}

function countLetters(text: string): Float32Array {
  const counts = new Float32Array(26)
  for (const letter of text) {
    const i = letter.charCodeAt(0) - 97
    if (i >= 0 && i < 26) counts[i] = (counts[i] as number) + 1
  }
  const length = Math.hypot(...counts)
  return counts.map((count) => count / length)
}

let agents = 0

/** A new agent that remembers these; its seq. */
async function remember(storage: Storage, users: (string | null)[], items: StoryMemory[]): Promise<number> {
  agents += 1
  const agent_seq = agents
  await storage.transaction((db) =>
    memories.insert(
      db,
      agent_seq,
      items.map(({ by, ...item }) => ({
        ...item,
        id: newId('mem', item.created_at),
        user_id: users[by] as string | null,
        metadata: { by },
      })),
    ),
  )
  return agent_seq
}

/** Memories are embedded on behalf of an agent, which must exist. */
async function makeAgentsUpTo({ db }: Storage, agent_seq: number): Promise<void> {
  const rest = { project_id: 'prj_default', status: 'running', definition: '{}', created_at: 0, updated_at: 0 }
  for (let i = 1; i <= agent_seq; i++) {
    await db
      .insertInto('agents')
      .values({ id: `agt_${i}`, name: `agent ${i}`, ...rest })
      .execute()
  }
}

function plain<T extends { id: string }>({ id: _id, ...rest }: T): Omit<T, 'id'> {
  return rest
}

/** Everything that lists tell about one user, ids left out. */
async function listed({ db }: Storage, agent_seq: number, user_id: string | null) {
  const page = { limit: 100, offset: 0, sort: 'created_at' }
  const lists = [{}, { kind: 'turn' }, { kind: 'note' }, { after: 2, before: 5 }].map((filter) =>
    findMemories(db, { agent_seq, user_id }, page, filter),
  )
  const counts = { ...page, sort: 'last_used_at' }
  return {
    lists: (await Promise.all(lists)).map(({ items, total }) => ({ total, items: items.map(plain) })),
    users: await listUsers(db, { agent_seq, user_id }, counts),
    sessions: await listSessions(db, { agent_seq, user_id }, counts),
  }
}

/** Everything that memory tells about one user, ids left out. */
async function known(recall: Recall, agent_seq: number, user_id: string | null) {
  const searches = [{}, { session_id: 's1' }, { session_id: null }].map((session) =>
    recall.search({ agent_seq, user_id, ...session }, query, { limit: 100 }, FREE_METER),
  )
  const sessions = ['s1', 's2', null].filter((session) => user_id !== null || session !== null)
  const remembered = sessions.map((session_id) =>
    recall.remember({ agent_seq, user_id, session_id }, query, { recall: 50, history: 2 }, FREE_METER),
  )
  return {
    searches: (await Promise.all(searches)).map(({ items, total }) => ({ total, items: items.map(plain) })),
    remembered: (await Promise.all(remembered)).map(({ history, recalled }) => ({
      history,
      recalled: recalled.map(plain),
    })),
  }
}

/** One user's memories do not exist for another user, whatever the operation. */
async function cannotTouch({ db }: Storage, agent_seq: number, of: { user_id: string | null; other: string | null }) {
  const page = { limit: 2, offset: 0, sort: 'id' }
  const { items } = await findMemories(db, { agent_seq, user_id: of.other }, page, {})
  for (const { id } of items) {
    await assert.rejects(memories.get(db, { agent_seq, user_id: of.user_id }, id), { code: 'not_found' })
    await assert.rejects(memories.lock(db, { agent_seq, user_id: of.user_id }, id), { code: 'not_found' })
  }
}

/** Without room for warm scopes the index is asked. */
const ROOMS = { 'warm scopes': 10_000_000, 'the index': 0 }

onBothStores('the scope of memory', (store) => {
  /** PostgreSQL takes several times longer for each run. */
  const runs = (count: number) => tries(store().engine === 'sqlite' ? count : Math.ceil(count / 3))
  const tellsNothingOfTheOther = async (room: number, embedder?: Embedder) => {
    const { storage } = store()
    const recall = new WarmRecall({ storage, now, room, embedder })
    const embed = async () => {
      if (!embedder) return
      const { run } = embedMemories(embedder, {
        storage,
        now: () => 0,
        log,
        pauses: NOTHING_PAUSED,
        spending: { meter: () => FREE_METER, heldLines: () => new Set() },
      })
      await run(new AbortController().signal)
    }
    const property = fc.asyncProperty(stories, async ({ users, items }) => {
      const together = await remember(storage, users, items)
      const alone = [
        await remember(
          storage,
          users,
          items.filter(({ by }) => by === 0),
        ),
        await remember(
          storage,
          users,
          items.filter(({ by }) => by === 1),
        ),
      ]
      await embed()
      for (const [by, user_id] of users.entries()) {
        const seen = await known(recall, together, user_id)
        for (const { items: hits, total } of seen.searches) {
          assert.equal(total, hits.length, 'nothing of another scope is counted, or takes a place')
          for (const hit of hits) assert.deepEqual([hit.user_id, hit.metadata], [user_id, { by }])
        }
        // The same hits, in the same order, with the same scores as if the other user did not exist.
        assert.deepEqual(seen, await known(recall, alone[by] as number, user_id))
      }
    })
    await fc.assert(property, { numRuns: runs(embedder ? 6 : 12) })
  }

  for (const [how, room] of Object.entries(ROOMS)) {
    test(`another user does not affect a user's results or scores: ${how}`, () => tellsNothingOfTheOther(room))

    test(`nor does it with an embedder: ${how}`, () => tellsNothingOfTheOther(room, letters))
  }

  test("a user can't list, read, change or delete another user's memories", async () => {
    const { storage } = store()
    const property = fc.asyncProperty(stories, async ({ users, items }) => {
      const together = await remember(storage, users, items)
      for (const [by, user_id] of users.entries()) {
        const own = items.filter((item) => item.by === by)
        const alone = await remember(storage, users, own)
        assert.deepEqual(await listed(storage, together, user_id), await listed(storage, alone, user_id))
        await cannotTouch(storage, together, { user_id, other: users[1 - by] as string | null })
      }
    })
    await fc.assert(property, { numRuns: runs(10) })
  })

  for (const [how, room] of Object.entries(ROOMS))
    test(`finds and scores exactly the same as ranking every memory of the scope: ${how}`, async () => {
      const { storage } = store()
      const recall = new WarmRecall({ storage, now, room })
      await fc.assert(
        fc.asyncProperty(stories, async ({ users, items }) => {
          const agent_seq = await remember(storage, users, items)
          for (const scope of [{ agent_seq }, { agent_seq, session_id: 's1' }, { agent_seq, user_id: users[0] }]) {
            const { items: hits, total } = await recall.search(scope, query, { limit: 100 }, FREE_METER)
            // A session's scope is always searched in the index, which does not know the meaning of words.
            const isWarm = room > 0 && !('session_id' in scope)
            assert.deepEqual(
              hits.map(({ id, score }) => ({ id, score })),
              await rankEverything(storage, scope, isWarm ? WordVectors.read() : undefined),
            )
            assert.equal(total, hits.length)
          }
        }),
        { numRuns: runs(10) },
      )
    })
})

onBothStores('with an embedder, a changed memory', (store) => {
  test('is compared by its current text; a superseded one is not compared', async () => {
    const { storage } = store()
    const agent_seq = await remember(
      storage,
      ['anna', null],
      [{ by: 0, session_id: null, kind: 'fact', role: null, content: 'zzzz', created_at: 1 }],
    )
    await makeAgentsUpTo(storage, agent_seq)
    const recall = new WarmRecall({ storage, now: Date.now, room: 0, embedder: letters })
    const { run } = embedMemories(letters, {
      storage,
      now: () => 0,
      log,
      pauses: NOTHING_PAUSED,
      spending: { meter: () => FREE_METER, heldLines: () => new Set() },
    })
    const signal = new AbortController().signal
    const embed = () => run(signal)
    const scope = { agent_seq, user_id: 'anna' }
    const hits = async (text: string) =>
      (await recall.search(scope, text, { limit: 5, min_score: 0.1 }, FREE_METER)).items.length
    await embed()
    assert.deepEqual([await hits('zz'), await hits('qq')], [1, 0])
    const change = (changes: object, generation: string) =>
      storage.transaction(async (db) => {
        const [kept] = await memories.listAfter(db, scope, 0, 1)
        assert.ok(kept)
        await memories.update(db, agent_seq, { seq: kept.seq, memory: { ...kept.memory, ...changes } }, generation)
      })
    await change({ content: 'qqqq' }, '~1')
    await embed()
    assert.deepEqual([await hits('zz'), await hits('qq')], [0, 1])
    await change({ superseded_by: 'mem_newer' }, '~2')
    await embed()
    assert.equal(await hits('qq'), 0)
  })
})

onBothStores('the latest turns of a conversation', (store) => {
  test('are in the order in which they were said, even within a millisecond and without the index', async () => {
    const { storage } = store()
    const turn = { by: 0, session_id: 's1', kind: 'turn', role: 'user', created_at: 1 } as const
    const items = Array.from({ length: 20 }, (_, i) => ({ ...turn, content: `turn ${i}` }))
    const note = { ...turn, kind: 'note', role: null, content: 'a note' } as const
    const agent_seq = await remember(storage, ['anna'], [...items, note])
    // The index happens to have them in that order, but a planner need not use it.
    for (const index of ['memories_by_session', 'memories_by_user', 'memories_by_time']) {
      await storage.db.schema.dropIndex(index).execute()
    }
    const recall = new WarmRecall({ storage, now, room: 0 })
    const conversation = { agent_seq, user_id: 'anna', session_id: 's1' }
    const { history } = await recall.remember(conversation, '', { history: 12, recall: 0 }, FREE_METER)
    assert.deepEqual(
      history.map(({ content }) => content),
      items.slice(8).map(({ content }) => content),
    )
  })
})

/** The same ranking without an index: every row of the scope is read. */
async function rankEverything(storage: Storage, scope: MemoryScope, words: WordVectors | undefined) {
  const rows = await storage.db
    .selectFrom('memories')
    .selectAll()
    .where('agent_seq', '=', scope.agent_seq)
    .orderBy('seq')
    .execute()
  const postings = new Postings(words)
  for (const row of rows) {
    const { user_id, session_id } = row
    if (scope.user_id !== undefined && user_id !== (scope.user_id ?? '')) continue
    if (scope.session_id !== undefined && session_id !== (scope.session_id ?? '')) continue
    postings.append(row)
  }
  const question = questionOf(query, now())
  const scorer = new Scorer()
  scorer.score(postings, planSearch(question, postings.statistics(question)))
  const ids = new Map(rows.map(({ seq, id }) => [seq, id]))
  return bestOf(postings, scorer, { top: 100 }).hits.map(({ seq, score }) => ({ id: ids.get(seq), score }))
}
