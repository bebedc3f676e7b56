import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storeOf } from '../../support/inside.ts'
import { inOneAttempt } from '../../support/running/attempts.ts'
import { leastLongestPass } from '../../support/running/longest-pass.ts'
import { newAgent } from '../../support/service/agents.ts'
import { onAnyEngine, type Service } from '../../support/service/service.ts'

/** All that was given takes several times as long. */
const MOST_MS = 75
const RECEIPTS = 15
const NEWLINE = 10

onAnyEngine('receipts of invocations with a long conversation', (service) => {
  /** An agent that a user has asked so often, each time with nearly a megabyte of earlier conversation. */
  const askedAgent = async (user_id: string) => {
    const agent = await newAgent(service())
    const ask = (i: number) =>
      service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: `question ${i}`, context: { user_id } } })
    for (const reply of await Promise.all(Array.from({ length: RECEIPTS }, (_, i) => ask(i)))) {
      assert.equal(reply.status, 200, reply.text)
    }
    const turns = Array.from({ length: 20_000 }, (_, i) => ({ role: 'user', content: `turn ${i}` }))
    const db = storeOf(service())
    const given = JSON.stringify({ history: turns })
    await db.updateTable('invocations').set({ given, door: 'openai' }).where('user_id', '=', user_id).execute()
    return agent
  }

  describe('do not block other requests', () => {
    test('in the lists of one agent and of all agents', async () => {
      const agent = await askedAgent('lister')
      for (const path of [`/v1/agents/${agent}/invocations?limit=100`, '/v1/invocations?limit=100&user_id=lister']) {
        const ms = await leastLongestPass(async () => {
          const { body } = await service().call('GET', path)
          assert.equal(body.data.length, RECEIPTS)
        })
        assert.ok(ms < MOST_MS, `${path}: ${ms} ms`)
      }
    })

    test('when a user is exported and erased', async () => {
      const leavers = ['leaver-1', 'leaver-2']
      for (const leaver of leavers) await askedAgent(leaver)
      await inOneAttempt(async () => {
        const exported = await leastLongestPass(async () => {
          assert.ok((await countLines(service(), '/v1/users/leaver-1/export')) > RECEIPTS)
        })
        assert.ok(exported < MOST_MS, `export: ${exported} ms`)
      })
      const erased = await leastLongestPass(async (attempt) => {
        const { body } = await service().call('DELETE', `/v1/users/${leavers[attempt]}`)
        assert.equal(body.data.invocations, RECEIPTS)
      }, leavers.length)
      assert.ok(erased < MOST_MS, `erase: ${erased} ms`)
    })
  })

  test('a page with large texts has fewer of them, and says where to continue', async () => {
    const agent = await newAgent(service())
    const invoke = () =>
      service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'ö'.repeat(100_000) } })
    await Promise.all(Array.from({ length: 30 }, invoke))
    const ids: string[] = []
    for (let more = true; more; ) {
      const { body } = await service().call('GET', `/v1/agents/${agent}/invocations?limit=30&offset=${ids.length}`)
      const { limit, total, has_more } = body.pagination
      assert.ok(body.data.length < 30 && body.data.length > 0)
      assert.equal(total, 30)
      assert.ok(!has_more || limit === body.data.length, 'the next page begins at offset + limit')
      ids.push(...body.data.map(({ request_id }: { request_id: string }) => request_id))
      more = has_more
    }
    assert.equal(new Set(ids).size, 30)
  })
})

/** Reads piece by piece: a client that puts the pieces together would take longer than the service in this process. */
async function countLines({ url, admin }: Service, path: string): Promise<number> {
  const { body, status } = await fetch(url + path, { headers: { Authorization: `Bearer ${admin}` } })
  assert.equal(status, 200)
  let lines = 0
  for await (const piece of body ?? []) {
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) lines += 1
  }
  return lines
}
