import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as agents from '../../src/agents/store.ts'
import { recount } from '../../src/memory/warm/scope-counts.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { inTransaction, storeOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, onBothEngines, type Service } from '../support/service/service.ts'
import { found, writeMemory } from '../support/slices/memory.ts'

const MISSING = 'mem_00000000000000000000000000'

onBothEngines('memories one by one', (service, engine) => {
  const call = (method: string, path: string, body?: unknown) =>
    service().call(method, `/v1/agents/${path}`, body === undefined ? {} : { body })
  const contents = async (path: string) => {
    const { status, body, text } = await call('GET', path)
    assert.equal(status, 200, text)
    return { contents: body.data.map(({ content }: { content: string }) => content), ...body.pagination }
  }

  describe('GET /v1/agents/{agent_id}/memory', () => {
    test('lists by user, session, kind and time, the newest first, with an exact total', async () => {
      const agent = await newAgent(service())
      const at = (day: number) => `2026-03-0${day}T00:00:00Z`
      const turn = { kind: 'turn', role: 'user' }
      await writeMemory(service(), agent, [
        { content: 'one', ...turn, context: { user_id: 'anna', session_id: 's1' }, created_at: at(1) },
        { content: 'three', ...turn, context: { user_id: 'anna', session_id: 's2' }, created_at: at(3) },
        { content: 'two', kind: 'fact', context: { user_id: 'anna' }, created_at: at(2) },
        { content: 'four', ...turn, context: { user_id: 'ben', session_id: 's1' }, created_at: at(4) },
        { content: 'five', context: {}, created_at: at(5) },
      ])
      await writeMemory(service(), await newAgent(service()), [{ content: 'of another agent' }])
      const listed = async (query: string) => {
        const { contents: seen, total } = await contents(`${agent}/memory${query}`)
        assert.equal(total, seen.length, query)
        return seen
      }
      assert.deepEqual(await listed(''), ['five', 'four', 'three', 'two', 'one'])
      assert.deepEqual(await listed('?sort=created_at'), ['one', 'two', 'three', 'four', 'five'])
      assert.deepEqual(await listed('?user_id=anna'), ['three', 'two', 'one'])
      assert.deepEqual(await listed('?session_id=s1'), ['four', 'one'], 'of every user')
      assert.deepEqual(await listed('?user_id=anna&session_id=s1'), ['one'])
      assert.deepEqual(await listed('?kind=turn'), ['four', 'three', 'one'])
      assert.deepEqual(await listed('?kind=turn&user_id=anna'), ['three', 'one'])
      assert.deepEqual(await listed('?kind=fact'), ['two'])
      assert.deepEqual(await listed(`?after=${at(2)}&before=${at(5)}`), ['four', 'three'])
      assert.deepEqual(await listed(`?session_id=s1&after=${at(2)}`), ['four'])
      assert.deepEqual(await listed(`?user_id=anna&before=${at(3)}&sort=created_at`), ['one', 'two'])
      assert.deepEqual(await listed('?session_id=s3'), [])
      assert.deepEqual(await listed('?user_id=nobody'), [])
      assert.deepEqual(await contents(`${agent}/memory?limit=2&offset=1`), {
        contents: ['four', 'three'],
        limit: 2,
        offset: 1,
        total: 5,
        has_more: true,
      })
    })

    test('400 for an invalid filter', async () => {
      const agent = await newAgent(service())
      for (const query of ['kind=story', 'before=yesterday', 'user_id=', 'sort=content', 'limit=0']) {
        assert.equal((await call('GET', `${agent}/memory?${query}`)).status, 400, query)
      }
    })
  })

  describe('GET, PATCH and DELETE /v1/agents/{agent_id}/memory/{memory_id}', () => {
    test('read, change and delete a memory; search finds the current text only', async () => {
      const agent = await newAgent(service())
      const [written] = await writeMemory(service(), agent, [
        { content: 'Anna likes her tea black', context: { user_id: 'anna', session_id: 's1' }, metadata: { a: 1 } },
      ])
      const path = `${agent}/memory/${written?.id}`
      assert.deepEqual((await call('GET', path)).body.data, written)

      // The scope is warm before the change, and must notice it.
      assert.deepEqual(await found(service(), agent, { query: 'black tea', context: { user_id: 'anna' } }), [
        'Anna likes her tea black',
      ])
      const changed = await call('PATCH', path, { content: 'Anna plays chess', kind: 'fact', metadata: { b: 2 } })
      assert.equal(changed.status, 200, changed.text)
      const expected = { ...written, content: 'Anna plays chess', kind: 'fact', metadata: { b: 2 } }
      assert.deepEqual(changed.body.data, expected)
      assert.deepEqual((await call('GET', path)).body.data, expected)
      for (const context of [{}, { user_id: 'anna' }, { session_id: 's1' }, { user_id: 'anna', session_id: 's1' }]) {
        assert.deepEqual(await found(service(), agent, { query: 'black tea', context }), [], JSON.stringify(context))
        assert.deepEqual(await found(service(), agent, { query: 'chess', context }), ['Anna plays chess'])
      }

      assert.deepEqual((await call('DELETE', path)).body.data, { id: written?.id, deleted: true })
      assert.deepEqual(await found(service(), agent, { query: 'chess' }), [])
      for (const method of ['GET', 'DELETE']) assert.equal((await call(method, path)).status, 404)
      assert.equal((await call('PATCH', path, { content: 'x' })).status, 404)
    })

    test("400 for an invalid memory, 404 for another agent's memory", async () => {
      const [agent, other] = [await newAgent(service()), await newAgent(service())]
      const [note] = await writeMemory(service(), agent, [{ content: 'a note' }])
      const wrong = [{}, { content: '' }, { kind: 'turn' }, { context: { user_id: 'ben' } }, { user_id: 'ben' }]
      for (const body of wrong) {
        const reply = await call('PATCH', `${agent}/memory/${note?.id}`, body)
        assert.equal(reply.status, 400, JSON.stringify(body))
      }
      const turn = await call('PATCH', `${agent}/memory/${note?.id}`, { kind: 'turn', role: 'user' })
      assert.equal(turn.body.data.kind, 'turn')
      const bare = await call('PATCH', `${agent}/memory/${note?.id}`, { role: null })
      assert.deepEqual(fieldsOf(bare.body), ['role'])
      for (const path of [`${other}/memory/${note?.id}`, `${agent}/memory/${MISSING}`]) {
        assert.equal((await call('GET', path)).status, 404)
        assert.equal((await call('PATCH', path, { content: 'x' })).status, 404)
        assert.equal((await call('DELETE', path)).status, 404)
      }
    })

    test('the counts stay correct during simultaneous changes and deletions', async () => {
      const agent = await newAgent(service())
      const written = await writeMemory(
        service(),
        agent,
        Array.from({ length: 6 }, (_, i) => ({ content: `river number ${i}`, context: { user_id: `u${i % 2}` } })),
      )
      const requests = written.flatMap(({ id }, i) => [
        call('PATCH', `${agent}/memory/${id}`, { content: `a stone, longer than before, ${i}` }),
        call('PATCH', `${agent}/memory/${id}`, { kind: 'turn', role: 'user' }),
        ...(i < 3 ? [call('DELETE', `${agent}/memory/${id}`), call('DELETE', `${agent}/memory/${id}`)] : []),
      ])
      for (const { status, text } of await Promise.all(requests)) assert.ok([200, 404].includes(status), text)
      const kept = await countsOf(service(), agent)
      await inTransaction(service(), (db) => recount(db, 'anew'))
      assert.deepEqual(kept, await countsOf(service(), agent))
      assert.equal((await contents(`${agent}/memory`)).total, 3)
      assert.equal((await contents(`${agent}/memory?kind=turn`)).total, 3)
    })

    betweenNodes(engine)('a node that has cached the scope sees a change made on another node', async () => {
      const agent = await newAgent(service())
      const context = { user_id: 'anna' }
      const [note] = await writeMemory(service(), agent, [{ content: 'a green river', context }])
      const other = await service().beside()
      try {
        const seen = (query: string) => found(other, agent, { query, context })
        assert.deepEqual(await seen('river'), ['a green river'])
        await call('PATCH', `${agent}/memory/${note?.id}`, { content: 'a grey stone' })
        assert.deepEqual(await seen('river'), [])
        assert.deepEqual(await seen('stone'), ['a grey stone'])
      } finally {
        await other.stop()
      }
    })
  })

  describe('GET /v1/agents/{agent_id}/users and /sessions', () => {
    test('list the users and sessions that an agent has memories of, with counts and last times', async () => {
      const agent = await newAgent(service())
      const turn = (user_id: string | undefined, session_id: string, day: number) => ({
        content: `day ${day}`,
        kind: 'turn',
        role: 'user',
        context: { ...(user_id && { user_id }), session_id },
        created_at: `2026-03-0${day}T00:00:00.000Z`,
      })
      await writeMemory(service(), agent, [
        turn('anna', 's1', 1),
        turn('anna', 's1', 4),
        turn('anna', 's2', 2),
        turn('ben', 's1', 3),
        turn(undefined, 's3', 5),
        { content: 'a fact', kind: 'fact', context: { user_id: 'anna' }, created_at: '2026-03-01T00:00:00Z' },
      ])
      const list = async (path: string) => (await call('GET', `${agent}/${path}`)).body
      const day = (n: number) => `2026-03-0${n}T00:00:00.000Z`
      const anna = { user_id: 'anna', turns: 3, notes: 1, last_used_at: day(4) }
      const ben = { user_id: 'ben', turns: 1, notes: 0, last_used_at: day(3) }
      assert.deepEqual(await list('users'), {
        data: [anna, ben],
        pagination: { limit: 10, offset: 0, total: 2, has_more: false },
      })
      assert.deepEqual((await list('users?sort=user_id&limit=1&offset=1')).data, [ben])
      const sessions = [
        { session_id: 's3', user_id: null, turns: 1, notes: 0, last_used_at: day(5) },
        { session_id: 's1', user_id: 'anna', turns: 2, notes: 0, last_used_at: day(4) },
        { session_id: 's1', user_id: 'ben', turns: 1, notes: 0, last_used_at: day(3) },
        { session_id: 's2', user_id: 'anna', turns: 1, notes: 0, last_used_at: day(2) },
      ]
      assert.deepEqual((await list('sessions')).data, sessions)
      assert.deepEqual((await list('sessions?user_id=anna')).data, [sessions[1], sessions[3]])
      await call('DELETE', `${agent}/memory?user_id=anna`)
      assert.deepEqual((await list('users')).data, [ben])
      assert.deepEqual((await list('sessions?user_id=anna')).data, [])
    })
  })
})

async function countsOf(node: Service, agent: string) {
  const db = storeOf(node)
  const { seq } = await agents.get(db, agent)
  return db
    .selectFrom('memory_scopes')
    .select(['level', 'user_id', 'session_id', 'turns', 'notes', 'turn_terms', 'note_terms'])
    .where('agent_seq', '=', seq)
    .orderBy('level')
    .orderBy('user_id')
    .orderBy('session_id')
    .execute()
}
