import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { conversations, questions } from './fixtures/memory-conversations.ts'
import { newAgent } from './support/agents.ts'
import { found, writeMemory } from './support/memory.ts'
import { ENGINES, type Engine, type Service, startService } from './support/service.ts'

/** Of 64 questions; words alone found 59 when this was written. */
const RECALL_FLOOR = 0.9
const FIRST_FLOOR = 0.5

/** Who asks, and within which scope: only oneself, or everything the agent remembers. */
const scopes = { user: (user_id: string) => ({ user_id }), agent: () => ({}) }

describe('questions asked later are answered from memory', () => {
  const services = new Map<Engine, { service: Service; agent: string }>()

  before(async () => {
    for (const engine of ENGINES) {
      const service = await startService(engine)
      const agent = await newAgent(service)
      services.set(engine, { service, agent })
      await writeMemory(service, agent, everythingSaid())
    }
  })
  after(() => Promise.all([...services.values()].map(({ service }) => service.stop())))

  const ask = async (engine: Engine, contextOf: (user_id: string) => object) => {
    const { service, agent } = services.get(engine) as { service: Service; agent: string }
    const hits: string[][] = []
    for (const { question, user_id } of questions) {
      hits.push(await found(service, agent, { query: question, context: contextOf(user_id), limit: 10 }))
    }
    return hits
  }

  for (const [scope, contextOf] of Object.entries(scopes)) {
    test(`within the ${scope}'s memory, and by both engines alike`, async (t) => {
      const hits = await ask('sqlite', contextOf)
      assert.deepEqual(await ask('postgres', contextOf), hits)
      const places = questions.map(({ answer }, i) => hits[i]?.findIndex((content) => content.startsWith(answer)) ?? -1)
      const recall = places.filter((place) => place >= 0).length / questions.length
      const first = places.filter((place) => place === 0).length / questions.length
      t.diagnostic(`recall@10 ${percent(recall)}, recall@1 ${percent(first)} of ${questions.length} questions`)
      assert.ok(recall >= RECALL_FLOOR, `recall@10 is ${percent(recall)}`)
      assert.ok(first >= FIRST_FLOOR, `recall@1 is ${percent(first)}`)
    })
  }
})

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

function everythingSaid() {
  const start = Date.UTC(2026, 0, 1)
  return Object.entries(conversations).flatMap(([user_id, sessions]) =>
    sessions.flatMap((turns, day) =>
      turns.map((content, minute) => ({
        content,
        kind: 'turn',
        role: minute % 2 === 0 ? 'user' : 'assistant',
        context: { user_id, session_id: `${user_id}-${day}` },
        created_at: new Date(start + day * 86_400_000 + minute * 60_000).toISOString(),
      })),
    ),
  )
}
