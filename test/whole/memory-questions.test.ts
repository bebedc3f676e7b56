import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { idSource } from '../../src/lib/id.ts'
import { questionOf } from '../../src/memory/language/question.ts'
import { storedTerms } from '../../src/memory/language/terms.ts'
import { WordVectors } from '../../src/memory/language/word-vectors.ts'
import { bestOf } from '../../src/memory/ranking/best.ts'
import { planSearch } from '../../src/memory/ranking/plan.ts'
import { Postings } from '../../src/memory/ranking/postings.ts'
import { Scorer } from '../../src/memory/ranking/score.ts'
import { WarmRecall } from '../../src/memory/search/warm-recall.ts'
import * as memories from '../../src/memory/store.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { readStories, type Story, type StoryQuestion } from '../support/slices/conversations.ts'
import { onBothStores } from '../support/stores/store.ts'

/** Of the held-back questions, asked within the user's own memory, in percent. A little below what there was last. */
const FLOORS = { 'hit@1': 52, 'hit@10': 82, MRR: 62 }
const FLOORS_OF_OTHER_LANGUAGES = { 'hit@1': 53, 'hit@10': 81, MRR: 63 }

const ENGLISH = new Set(['assistant', 'dates', 'notes', 'people', 'support'])

const words = WordVectors.read()
const stories = readStories()
const rows = stories.flatMap(({ name, said }) =>
  said.map(({ session, ...memory }) => ({ ...memory, user_id: name, session_id: session })),
)

type Hit = { content: string; score: number; user_id: string | null }

test('the questions of the fixtures are answered from memory', (t) => {
  const measures = new Map<string, Measure>()
  const everything = searcher(rows, words)
  for (const story of stories) {
    const own = searcher(
      rows.filter(({ user_id }) => user_id === story.name),
      words,
    )
    for (const [i, asked] of story.questions.entries()) {
      const half = i % 2 === 0 ? 'tuned by' : 'held back'
      const language = ENGLISH.has(story.style) ? 'English' : 'other languages'
      for (const [scope, search] of [
        ['user', own],
        ['agent', everything],
      ] as const) {
        const place = placeOf(story, asked, search(asked.question, story.now))
        for (const row of [story.style, language, 'all']) measure(measures, `${row}, ${scope}, ${half}`, place)
      }
    }
  }
  for (const line of tableOf(measures)) t.diagnostic(line)
  assertFloors(measures.get('all, user, held back'), FLOORS)
  assertFloors(measures.get('other languages, user, held back'), FLOORS_OF_OTHER_LANGUAGES)
})

onBothStores('the questions of the fixtures', (store) => {
  before(async () => {
    const newId = idSource()
    const { storage } = store()
    await storage.transaction((db) =>
      memories.insert(
        db,
        1,
        rows.map((row) => ({ ...row, id: newId('mem', row.created_at), metadata: {} })),
      ),
    )
  })

  for (const [how, room] of Object.entries({ 'warm scopes': 50_000_000, 'the index': 0 })) {
    test(`find the same with the same scores as ranking all memories in one place: ${how}`, async () => {
      // The index does not know what words mean.
      const by = room > 0 ? words : undefined
      const everything = searcher(rows, by)
      for (const { name, now, questions } of stories) {
        const recall = new WarmRecall({ storage: store().storage, now: () => now, room })
        const own = searcher(
          rows.filter(({ user_id }) => user_id === name),
          by,
        )
        for (const [i, { question }] of questions.entries()) {
          // These take their time: some questions must do.
          if (i % (room === 0 ? 24 : 6) > 0) continue
          const found = await recall.search({ agent_seq: 1, user_id: name }, question, { limit: 10 }, FREE_METER)
          assert.deepEqual(found.items.map(hitOf), own(question, now), question)
          if (i % 48 > 0) continue
          const anywhere = await recall.search({ agent_seq: 1 }, question, { limit: 10 }, FREE_METER)
          assert.deepEqual(anywhere.items.map(hitOf), everything(question, now), question)
        }
      }
    })
  }
})

function hitOf({ content, score, user_id }: Hit): Hit {
  return { content, score, user_id }
}

/** Ranks all of the given memories by a question, and by what words mean if vectors are given. */
function searcher(among: typeof rows, by?: WordVectors): (query: string, now: number) => Hit[] {
  const postings = new Postings(by)
  const scorer = new Scorer()
  for (const [i, row] of among.entries()) postings.append({ ...row, ...storedTerms(row.kind, row.content), seq: i })
  return (query, now) => {
    const question = questionOf(query, now)
    // Nor does the index look inside words.
    const compounds = by && postings.compounds(question)
    scorer.score(postings, planSearch(question, postings.statistics(question), compounds))
    const { hits } = bestOf(postings, scorer, { top: 10 })
    return hits.map(({ seq, score }) => hitOf({ ...(among[seq] as (typeof rows)[number]), score }))
  }
}

/** Where the first answer stands, from 0; -1 if it is not among the hits. */
function placeOf({ name }: Story, { answers }: StoryQuestion, hits: Hit[]): number {
  return hits.findIndex(({ content, user_id }) => user_id === name && answers.includes(content))
}

type Measure = { count: number; first: number; found: number; reciprocal: number }

function measure(measures: Map<string, Measure>, key: string, place: number): void {
  const known = measures.get(key) ?? { count: 0, first: 0, found: 0, reciprocal: 0 }
  known.count += 1
  if (place === 0) known.first += 1
  if (place >= 0) known.found += 1
  if (place >= 0) known.reciprocal += 1 / (place + 1)
  measures.set(key, known)
}

function shares({ count, first, found, reciprocal }: Measure) {
  const percent = (n: number) => (100 * n) / count
  return { 'hit@1': percent(first), 'hit@10': percent(found), MRR: percent(reciprocal) }
}

function assertFloors(measured: Measure | undefined, floors: ReturnType<typeof shares>): void {
  const reached = shares(measured as Measure)
  for (const [name, floor] of Object.entries(floors)) {
    const value = reached[name as keyof typeof floors]
    assert.ok(value >= floor, `${name} is ${value.toFixed(1)}, at least ${floor} is expected`)
  }
}

/** A line for each style: hit@1, hit@10 and MRR in percent, by scope and half. */
function tableOf(measures: ReadonlyMap<string, Measure>): string[] {
  const columns = ['user, tuned by', 'user, held back', 'agent, tuned by', 'agent, held back']
  const styles = [...new Set([...measures.keys()].map((key) => key.split(', ')[0] as string))]
  const line = (style: string) => {
    const cells = columns.map((column) => {
      const measured = measures.get(`${style}, ${column}`) as Measure
      const values = Object.values(shares(measured)).map((value) => value.toFixed(1).padStart(6))
      return `${String(measured.count).padStart(4)}:${values.join('')}`.padEnd(25)
    })
    return `${style.padEnd(16)}${cells.join('')}`
  }
  const header = `${'hit@1 hit@10 MRR'.padEnd(18)}${columns.map((column) => column.padEnd(25)).join('')}`
  return [header, ...styles.map(line)]
}
