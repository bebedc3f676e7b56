import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as agents from '../../src/agents/store.ts'
import type { MemoryMatch } from '../../src/operation/recall.ts'
import { partsOf, storageOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { FREE_METER } from '../support/service/free-meter.ts'
import { onBothEngines } from '../support/service/service.ts'
import { searchMemory, writeMemory } from '../support/slices/memory.ts'

onBothEngines('what an agent remembers of its conversations', (service) => {
  const invoke = async (agent: string, message: string, context: object) => {
    const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
    assert.equal(reply.status, 200, reply.text)
    return reply.body.data as { response: string; request_id: string }
  }
  const store = async (agent: string) => {
    const storage = storageOf(service())
    const { recall } = partsOf(service())
    return { memory: recall, agent_seq: (await agents.get(storage.db, agent)).seq }
  }
  const echo = { model: 'builtin/echo' }

  test('a message and its answer become two turns of the user and session, with the request ID', async () => {
    const agent = await newAgent(service(), echo)
    const context = { user_id: 'anna', session_id: 's1', shop: 7 }
    const { request_id } = await invoke(agent, 'The blue door sticks', context)
    const { data } = await searchMemory(service(), agent, { query: 'door' })
    const { created_at } = data[0]
    const said = { content: 'The blue door sticks', kind: 'turn', user_id: 'anna', session_id: 's1', created_at }
    const [answer, message] = data
    const found = ({ id, score }: MemoryMatch) => ({
      ...said,
      id,
      score,
      matched: ['words', 'meaning'],
      metadata: { request_id },
      version: null,
      deployment_id: null,
    })
    assert.deepEqual(answer, { ...found(answer), role: 'assistant' })
    assert.deepEqual(message, { ...found(message), role: 'user' })
    assert.ok(answer.score > message.score, 'answers get more of the words of their questions than the other way round')
    assert.equal(data.length, 2)
  })

  test('remembers nothing without IDs, or with remember: false', async () => {
    const agent = await newAgent(service(), echo)
    await invoke(agent, 'nobody said this', {})
    await invoke(agent, 'nobody said this', { shop: 7 })
    const forgetful = await newAgent(service(), { ...echo, memory: { remember: false } })
    await invoke(forgetful, 'nobody said this', { user_id: 'anna' })
    for (const id of [agent, forgetful]) {
      assert.equal((await searchMemory(service(), id, { query: 'nobody' })).pagination.total, 0)
    }
  })

  test('returns the latest turns of the session, oldest first, and of no other user or session', async () => {
    const agent = await newAgent(service(), echo)
    const session_id = 'shared-name'
    for (const message of ['one', 'two', 'three']) await invoke(agent, message, { user_id: 'anna', session_id })
    await invoke(agent, 'four', { user_id: 'anna', session_id: 'another' })
    await invoke(agent, 'five', { user_id: 'ben', session_id })
    await invoke(agent, 'six', { session_id })
    const { memory, agent_seq } = await store(agent)
    const history = async (user_id: string | null, limit: number, session: string | null = session_id) =>
      (
        await memory.remember(
          { agent_seq, user_id, session_id: session },
          '',
          { history: limit, recall: 0 },
          FREE_METER,
        )
      ).history
    const exchange = (content: string) => [
      { role: 'user', content },
      { role: 'assistant', content },
    ]
    assert.deepEqual(await history('anna', 20), ['one', 'two', 'three'].flatMap(exchange))
    assert.deepEqual(await history('anna', 3), ['two', 'three'].flatMap(exchange).slice(1))
    assert.deepEqual(await history('anna', 0), [])
    assert.deepEqual(await history('ben', 20), exchange('five'))
    assert.deepEqual(await history(null, 20), exchange('six'))
    assert.deepEqual(await history('anna', 20, null), [])
  })

  describe('recall', () => {
    test("answers a user from the user's earlier sessions, and no one else's", async () => {
      // The agent does not remember the questions themselves.
      const agent = await newAgent(service(), { model: 'builtin/recall', memory: { remember: false } })
      await writeMemory(service(), agent, [
        { content: 'Anna keeps her spare key under the flowerpot', kind: 'fact', context: { user_id: 'anna' } },
      ])
      const question = 'Where is the spare key?'
      const anna = await invoke(agent, question, { user_id: 'anna', session_id: 's9' })
      assert.equal(anna.response, 'I remember:\n- Anna keeps her spare key under the flowerpot')
      for (const context of [{ user_id: 'ben' }, { session_id: 's9' }, { user_id: 'ben', session_id: 's9' }, {}]) {
        assert.equal((await invoke(agent, question, context)).response, 'I remember nothing about that.')
      }
    })

    test('returns older turns, but not those that the model already gets as history', async () => {
      const agent = await newAgent(service(), echo)
      for (const message of ['the anchor is heavy', 'the sail is torn', 'the rope is long', 'the hull is dry']) {
        await invoke(agent, message, { user_id: 'anna', session_id: 's1' })
      }
      const { memory, agent_seq } = await store(agent)
      const recall = async (session_id: string | null, history: number) => {
        const conversation = { agent_seq, user_id: 'anna', session_id }
        const { recalled } = await memory.remember(conversation, 'anchor and rope', { recall: 3, history }, FREE_METER)
        return new Set(recalled.map(({ content }) => content))
      }
      assert.ok((await recall('s1', 0)).has('the rope is long'))
      assert.ok(!(await recall('s1', 4)).has('the rope is long'))
      assert.ok((await recall('s1', 4)).has('the anchor is heavy'))
      assert.deepEqual(await recall('s1', 8), new Set())
      assert.ok((await recall('s2', 8)).has('the rope is long'), 'another session of the same user')
    })

    test('without a user, returns only turns of the session', async () => {
      const agent = await newAgent(service(), echo)
      await invoke(agent, 'the lamp is green', { session_id: 's1' })
      await invoke(agent, 'the lamp is red', { session_id: 's2' })
      await invoke(agent, 'the lamp is blue', { user_id: 'anna', session_id: 's1' })
      await writeMemory(service(), agent, [{ content: 'the lamp is everybody’s' }])
      const { memory, agent_seq } = await store(agent)
      const conversation = { agent_seq, user_id: null, session_id: 's1' }
      const { recalled } = await memory.remember(conversation, 'lamp', { recall: 50, history: 0 }, FREE_METER)
      assert.deepEqual(new Set(recalled.map(({ content }) => content)), new Set(['the lamp is green']))
    })

    test('finds a few relevant memories among very many', async () => {
      const agent = await newAgent(service(), echo)
      const context = { user_id: 'anna' }
      const common = Array.from({ length: 700 }, (_, i) => ({ content: `coffee and bread on day ${i}`, context }))
      const wanted = [
        { content: 'my favourite coffee order is a cortado with oat milk', context },
        { content: 'bread with zaatar', context },
      ]
      await writeMemory(service(), agent, [...wanted, ...common])
      const { memory, agent_seq } = await store(agent)
      const best = async (query: string) => {
        const conversation = { agent_seq, user_id: 'anna', session_id: null }
        const { recalled } = await memory.remember(conversation, query, { recall: 1, history: 20 }, FREE_METER)
        return recalled[0]?.content
      }
      assert.equal(await best('which coffee do I order, cortado?'), wanted[0]?.content)
      assert.equal(await best('bread with zaatar'), wanted[1]?.content)
      const { pagination } = await searchMemory(service(), agent, { query: 'coffee bread' })
      assert.equal(pagination.total, 702, 'all that have one of the words')
    })
  })
})
