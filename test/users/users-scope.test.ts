import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { type EmbeddingServer, startEmbeddingServer } from '../support/outside/embedding-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { fc } from '../support/running/property.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { ANY_ENGINE, type Service } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { writeMemory } from '../support/slices/memory.ts'
import { createKey } from '../support/slices/resources.ts'

const VOCABULARY = ['dog', 'puppy', 'car', 'vehicle', 'river', 'stone', 'coffee']
const QUERY = 'hound by the river with coffee'

/** Pairs of different users, however similar their IDs. */
const PAIRS: [string, string][] = [
  ['anna', 'ben'],
  ['anna', 'Anna'],
  ['a', '61'],
  ['%', '_'],
  ["x' or '1'='1", 'x'],
  ['"', '" OR "a'],
  ['東'.repeat(255), `${'東'.repeat(254)}京`],
  ['caf\u00e9', 'cafe\u0301'],
  ['a/../b', 'b'],
]

const said = fc.record({
  by: fc.constantFrom(0, 1),
  session_id: fc.constantFrom('s1', 's2'),
  kind: fc.constantFrom('turn' as const, 'note' as const, 'fact' as const),
  content: fc.array(fc.constantFrom(...VOCABULARY), { minLength: 1, maxLength: 4 }).map((words) => words.join(' ')),
  created_at: fc.integer({ min: 1, max: 5 }).map((minute) => `2026-01-01T00:0${minute}:00.000Z`),
})
type StoryItem = typeof said extends fc.Arbitrary<infer T> ? T : never

const stories = fc.record({
  users: fc.constantFrom(...PAIRS),
  items: fc
    .tuple(fc.array(said, { minLength: 2, maxLength: 8 }), said, said)
    .map(([some, one, two]): StoryItem[] => [...some, { ...one, by: 0 }, { ...two, by: 1 }]),
})

for (const engine of ANY_ENGINE) {
  describe(`one user's view of another user's data, on ${engine}`, () => {
    let service: Service
    let embeddings: EmbeddingServer
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      embeddings = await startEmbeddingServer()
      ;({ service, model, stop } = await startWithModel(engine, {
        ...JWT_SETTINGS,
        MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
        MOORAGE_MEMORY__EMBEDDER__BASE_URL: embeddings.url,
        MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
        MOORAGE_MEMORY__EMBEDDER__API_KEY: 'sk-test-embedder-key',
      }))
    })
    after(async () => {
      await stop()
      await embeddings.close()
    })

    const tokenOf = (user_id: string) => {
      const iat = Math.floor(service.now() / 1000)
      return signJwt({ user_id, permissions: ['read', 'write', 'delete'], iat, exp: iat + 600 })
    }
    const exportPath = (user_id: string) => `/v1/users/${encodeURIComponent(user_id)}/export`

    /** A new agent that remembers these. */
    const remember = async (users: [string, string], items: StoryItem[]): Promise<string> => {
      const agent = await newAgent(service)
      const rows = items.map(({ by, kind, session_id, ...item }) => ({
        ...item,
        kind,
        ...(kind === 'turn' && { role: 'user' }),
        context: { user_id: users[by], session_id },
        metadata: { by },
      }))
      if (rows.length > 0) await writeMemory(service, agent, rows)
      return agent
    }

    /** Moves the clock on and waits until every memory has its vector. */
    const embedded = () =>
      until('every memory is embedded', async () => {
        service.advance(10_000)
        wakeJobs(service)
        const db = storeOf(service)
        const missing = db
          .selectFrom('memories')
          .select('id')
          .where('seq', 'not in', db.selectFrom('memory_vectors').select('memory_seq'))
        return (await missing.execute()).length === 0
      })

    /** Every reply to the user about this agent, and what an export has of it, ids and the agent's name left out. */
    const learned = async (agent: string, user_id: string) => {
      const key = await tokenOf(user_id)
      const ask = async (method: string, path: string, body?: object) => {
        const reply = await service.call(method, `/v1/agents/${agent}/${path}`, { key, body })
        assert.equal(reply.status, 200, reply.text)
        return reply.body
      }
      const listed = await ask('GET', 'memory?limit=100&sort=created_at')
      const items = []
      for (const { id } of listed.data) items.push(await ask('GET', `memory/${id}`))
      const replies = {
        lists: [listed, await ask('GET', 'memory?kind=fact'), await ask('GET', 'memory?session_id=s1')],
        items,
        users: await ask('GET', 'users'),
        sessions: await ask('GET', 'sessions'),
        searches: [
          await ask('POST', 'memory/search', { query: QUERY, limit: 50 }),
          await ask('POST', 'memory/search', { query: QUERY, limit: 50, context: { session_id: 's2' } }),
        ],
        exported: await exported(agent, user_id),
      }
      return JSON.parse(
        JSON.stringify(replies)
          .replaceAll(/mem_\w{26}/g, 'mem')
          .replaceAll(agent, 'agent'),
      )
    }

    const exported = async (agent: string, user_id: string): Promise<string[]> => {
      const { secret } = await createKey(service, { role: 'admin', agent_id: agent })
      const reply = await service.call('GET', exportPath(user_id), { key: secret })
      assert.equal(reply.status, 200, reply.text)
      return reply.text.split('\n').toSorted()
    }

    /** The other's memories are not there for the user, whatever is to be done with them. */
    const cannotTouch = async (agent: string, of: { user_id: string; other: string }) => {
      const [key, others] = [await tokenOf(of.user_id), await tokenOf(of.other)]
      const { body } = await service.call('GET', `/v1/agents/${agent}/memory?limit=2`, { key: others })
      for (const { id } of body.data) {
        const path = `/v1/agents/${agent}/memory/${id}`
        const statuses = [
          (await service.call('GET', path, { key })).status,
          (await service.call('PATCH', path, { key, body: { content: 'changed' } })).status,
          (await service.call('DELETE', path, { key })).status,
        ]
        assert.deepEqual(statuses, [404, 404, 404])
      }
      const named = `user_id=${encodeURIComponent(of.other)}`
      assert.equal((await service.call('GET', `/v1/agents/${agent}/memory?${named}`, { key })).status, 403)
      assert.equal((await service.call('GET', exportPath(of.other), { key })).status, 403)
      assert.equal((await service.call('DELETE', exportPath(of.other).replace('/export', ''), { key })).status, 403)
    }

    test('lists, single memories, searches with an embedder and exports are the same as without the other user', () =>
      fc.assert(
        fc.asyncProperty(stories, async ({ users, items }) => {
          const together = await remember(users, items)
          const alone = [0, 1].map((by) =>
            remember(
              users,
              items.filter((item) => item.by === by),
            ),
          )
          await Promise.all(alone)
          await embedded()
          for (const [by, user_id] of users.entries()) {
            await cannotTouch(together, { user_id, other: users[1 - by] as string })
            assert.deepEqual(await learned(together, user_id), await learned((await alone[by]) as string, user_id))
          }
        }),
        { numRuns: 5 },
      ))

    test("erasing one user deletes all their data and none of the other's", () =>
      fc.assert(
        fc.asyncProperty(stories, async ({ users, items }) => {
          const agent = await remember(users, items)
          await embedded()
          const known = await learned(agent, users[1])
          const { secret } = await createKey(service, { role: 'admin', agent_id: agent })
          const erasure = await service.call('DELETE', exportPath(users[0]).replace('/export', ''), { key: secret })
          assert.equal(erasure.status, 200, erasure.text)
          assert.equal(erasure.body.data.memories, items.filter(({ by }) => by === 0).length)
          const { lists, searches, exported: lines } = await learned(agent, users[0])
          for (const { data, pagination } of [...lists, ...searches]) {
            assert.deepEqual([data, pagination.total], [[], 0])
          }
          assert.deepEqual(lines, [''])
          assert.deepEqual(await learned(agent, users[1]), known)
        }),
        { numRuns: 4 },
      ))

    test("facts that a model finds for one user come only from that user's messages, even in sessions with the same name", async () => {
      const agent = await newAgent(service, { model: 'local/test-model', memory: { facts: 'model' } })
      const words = { anna: 'zanzibar', ben: 'reykjavik' }
      for (const [user_id, word] of Object.entries(words)) {
        model.reply({ text: ['Noted.'] })
        const body = { message: `I live in ${word}`, context: { user_id, session_id: 'home' } }
        assert.equal((await service.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
      }
      model.reset()
      model.reply(
        ...[1, 2].map(() => ({ text: [JSON.stringify({ facts: [{ content: 'The user lives somewhere' }] })] })),
      )
      await until('both are asked about', async () => {
        service.advance(11 * 60_000)
        wakeJobs(service)
        return model.requests.length >= 2
      })
      const asked = model.requests.map(({ body }) => JSON.stringify(body.messages))
      for (const [user, word] of Object.entries(words)) {
        const about = asked.filter((text) => text.includes(word))
        assert.equal(about.length, 1, `one question is about ${user}`)
        for (const other of Object.values(words).filter((each) => each !== word)) {
          assert.ok(!about[0]?.includes(other), `${other} is not told with ${word}`)
        }
      }
      for (const user_id of Object.keys(words)) {
        const key = await tokenOf(user_id)
        await until('the fact is there', async () => {
          const { body } = await service.call('GET', `/v1/agents/${agent}/memory?kind=fact`, { key })
          return body.pagination.total === 1
        })
      }
    })
  })
}
