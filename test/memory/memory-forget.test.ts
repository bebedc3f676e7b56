import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import * as agents from '../../src/agents/store.ts'
import { indexWaiting } from '../../src/memory/full-text/fts5.ts'
import * as memories from '../../src/memory/store.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { found, searchMemory, writeMemory } from '../support/slices/memory.ts'

onAnyEngine('deleting memories', (service) => {
  describe('DELETE /v1/agents/{agent_id}/memory', () => {
    test('returns how many memories were deleted: by user, session, time, or all', async () => {
      const agent = await newAgent(service())
      const of = (user_id: string, session_id: string, month: number) => ({
        content: `diary of ${user_id} ${session_id} ${month}`,
        context: { user_id, session_id },
        created_at: `2026-0${month}-01T00:00:00Z`,
      })
      const items = ['anna', 'ben'].flatMap((user) =>
        ['s1', 's2'].flatMap((session) => [1, 2, 3].map((month) => of(user, session, month))),
      )
      await writeMemory(service(), agent, items)
      const clear = async (query: string) => {
        const reply = await service().call('DELETE', `/v1/agents/${agent}/memory${query}`)
        assert.equal(reply.status, 200, reply.text)
        const left = await searchMemory(service(), agent, { query: 'diary', limit: 100 })
        return [reply.body, left.pagination.total]
      }
      const forgot = (deleted: number) => ({ success: true, data: { deleted } })
      assert.deepEqual(await clear('?user_id=nobody'), [forgot(0), 12])
      assert.deepEqual(await clear('?user_id=anna&session_id=s1'), [forgot(3), 9])
      assert.deepEqual(await clear('?before=2026-02-01T00:00:00Z'), [forgot(3), 6])
      assert.deepEqual(await clear('?user_id=ben&before=2026-03-01T00:00:00%2B00:00'), [forgot(2), 4])
      assert.deepEqual(await clear('?session_id=s2'), [forgot(3), 1], 'of every user')
      assert.deepEqual(await clear(''), [forgot(1), 0])
      assert.deepEqual(await clear(''), [forgot(0), 0])
    })

    test('removes them from the index', async () => {
      const agent = await newAgent(service())
      const storage = storageOf(service())
      const indexed = async () => {
        await indexWaiting(storage.db)
        const { rows } =
          service().engine === 'postgres'
            ? await sql<{ n: number }>`select count(*) as n from memories where lexemes @@ 'quicksilver'`.execute(
                storage.db,
              )
            : await sql<{
                n: number
              }>`select count(*) as n from memory_index where memory_index match 'quicksilver'`.execute(storage.db)
        return rows[0]?.n
      }
      await writeMemory(service(), agent, [{ content: 'quicksilver' }, { content: 'more quicksilver' }])
      assert.equal(await indexed(), 2)
      await service().call('DELETE', `/v1/agents/${agent}/memory`)
      assert.equal(await indexed(), 0)
    })

    test('400 for an invalid filter', async () => {
      const agent = await newAgent(service())
      await writeMemory(service(), agent, [{ content: 'stays here' }])
      const wrong = ['user_id=', 'before=yesterday', 'before=2026-02-30T00:00:00Z', 'user=anna', 'user_id=a&user_id=b']
      for (const query of wrong) {
        const reply = await service().call('DELETE', `/v1/agents/${agent}/memory?${query}`)
        assert.equal(reply.status, 400, reply.text)
      }
      assert.deepEqual(await found(service(), agent, { query: 'stays' }), ['stays here'])
    })

    test('deletes more memories than one batch, and none of another agent', async () => {
      const [agent, other] = [await newAgent(service()), await newAgent(service())]
      const items = Array.from({ length: 1_100 }, (_, i) => ({ content: `entry ${i}` }))
      await writeMemory(service(), agent, items)
      await writeMemory(service(), other, [{ content: 'entry of another' }])
      const { body } = await service().call('DELETE', `/v1/agents/${agent}/memory`)
      assert.deepEqual(body, { success: true, data: { deleted: 1_100 } })
      assert.deepEqual(await found(service(), agent, { query: 'entry' }), [])
      assert.deepEqual(await found(service(), other, { query: 'entry' }), ['entry of another'])
      await writeMemory(service(), agent, [{ content: 'a new entry' }])
      assert.deepEqual(await found(service(), agent, { query: 'entry' }), ['a new entry'])
    })
  })

  describe('permissions', () => {
    test('search requires read, writing requires write, clearing requires delete; a key of another agent gets 403', async () => {
      const [agent, other] = [await newAgent(service()), await newAgent(service())]
      const key = async (permissions: string[], agent_id: string) => {
        const { body } = await service().call('POST', '/v1/keys', { body: { name: 'k', permissions, agent_id } })
        return body.data.secret as string
      }
      const calls = [
        { permission: 'read', method: 'POST', path: 'memory/search', body: { query: 'x' } },
        { permission: 'write', method: 'POST', path: 'memory', body: { items: [{ content: 'x' }] } },
        { permission: 'delete', method: 'DELETE', path: 'memory', body: undefined },
      ]
      for (const { permission, method, path, body } of calls) {
        const lacking = ['read', 'write', 'delete', 'manage'].filter((one) => one !== permission)
        const status = async (secret: string, id = agent) =>
          (await service().call(method, `/v1/agents/${id}/${path}`, { key: secret, body })).status
        assert.equal(await status(await key(lacking, agent)), 403, permission)
        assert.equal(await status(await key([permission], other)), 403)
        assert.equal(await status(await key([permission], other), 'agt_none'), 403)
        assert.equal(await status(await key([permission], agent)), permission === 'write' ? 201 : 200)
      }
    })
  })

  describe('a deleted agent', () => {
    test('its memories are hidden immediately, and deleted in the background', async () => {
      const agent = await newAgent(service(), { name: 'shortlived' })
      const keeper = await newAgent(service())
      const { seq } = await agents.get(storeOf(service()), agent)
      await writeMemory(service(), agent, [{ content: 'last words', context: { user_id: 'anna' } }])
      await writeMemory(service(), keeper, [{ content: 'lasting words' }])
      await service().call('DELETE', `/v1/agents/${agent}`)
      const gone = await service().call('POST', `/v1/agents/${agent}/memory/search`, { body: { query: 'words' } })
      assert.equal(gone.status, 404)

      const again = await newAgent(service(), { name: 'shortlived' })
      assert.deepEqual(await found(service(), again, { query: 'words' }), [])
      const left = () =>
        storeOf(service()).selectFrom('memories').select('content').where('agent_seq', '=', seq).execute()
      await until('nothing is left', async () => (await left()).length === 0)
      assert.deepEqual(await found(service(), keeper, { query: 'words' }), ['lasting words'])
    })
  })

  test('a memory whose transaction failed is not found, but others of the same commit are', async () => {
    const agent = await newAgent(service())
    const storage = storageOf(service())
    const { newId } = partsOf(service())
    const { seq } = await agents.get(storage.db, agent)
    const write = (i: number) =>
      storage.transaction(async (db) => {
        const note = { kind: 'note' as const, role: null, user_id: null, session_id: null, metadata: {}, created_at: i }
        await memories.insert(db, seq, [{ ...note, id: newId('mem', i), content: `attempt ${i}` }])
        if (i % 2 === 1) throw new Error('changed my mind')
      })
    const settled = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => write(i)))
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 10)
    const even = Array.from({ length: 10 }, (_, i) => `attempt ${2 * i}`)
    const hits = await found(service(), agent, { query: 'attempt', limit: 100 })
    assert.deepEqual(hits.toSorted(), even.toSorted())
  })

  test('memories survive a restart', async () => {
    const agent = await newAgent(service())
    await writeMemory(service(), agent, [{ content: 'granite' }])
    await service().restart()
    assert.deepEqual(await found(service(), agent, { query: 'granite' }), ['granite'])
  })
})
