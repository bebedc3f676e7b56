import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createClient } from '../../sdk/client.ts'
import { readPosition } from '../../src/logs/follow-log.ts'
import { databaseUrl, keyringOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, onManyNodes } from '../support/service/service.ts'

onManyNodes("following an agent's log", (service, engine) => {
  const read = async (agent: string, query: string) => {
    const reply = await service().call('GET', `/v1/agents/${agent}/logs?${query}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body as { data: { id: string; message: string }[]; pagination: Record<string, unknown> }
  }
  const say = (agent: string) => service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  const endOf = async (agent: string) => (await read(agent, 'after=latest')).pagination['next_after'] as string
  const messagesOf = ({ data }: { data: { message: string }[] }) => data.map(({ message }) => message)
  /** Everything behind a position, read in pages of one entry. */
  const readAll = async (agent: string, position: string) => {
    const told: string[] = []
    for (let after = position, has_more = true; has_more; ) {
      const reply = await read(agent, `after=${after}&limit=1`)
      told.push(...messagesOf(reply))
      after = String(reply.pagination['next_after'])
      has_more = reply.pagination['has_more'] === true
    }
    return told
  }
  const seqOf = async (id: string) => {
    const db = storeOf(service())
    return (await db.selectFrom('agents').select('seq').where('id', '=', id).executeTakeFirstOrThrow()).seq
  }

  test('continues after a long entry at the end of a page', async () => {
    const agent = await newAgent(service())
    const after = await endOf(agent)
    const agent_seq = await seqOf(agent)
    const messages = ['first', 'second', 'third'].map((word) => `${word} `.padEnd(10_000, 'ö'))
    const rows = messages.map((message) => ({
      agent_seq,
      request_id: 'req_1',
      timestamp: service().now(),
      level: 1,
      message,
      metadata: '{}',
    }))
    await storeOf(service()).insertInto('logs').values(rows).execute()
    assert.deepEqual(await readAll(agent, after), messages)
  })

  test('returns each entry once, in the order in which they were stored, whatever their times', async () => {
    const [agent, other] = [await newAgent(service()), await newAgent(service())]
    await say(agent)
    let after = await endOf(agent)
    const db = storeOf(service())
    const entry = { agent_seq: await seqOf(agent), level: 1, request_id: 'req_1', metadata: '{}' }
    for (const [message, timestamp] of [
      ['late', 1_000],
      ['early', 5],
      ['last', 2_000],
    ] as const) {
      await db
        .insertInto('logs')
        .values({ ...entry, message, timestamp })
        .execute()
      await say(other)
    }
    const told: string[] = []
    for (const has_more of [true, false]) {
      const { data, pagination } = await read(agent, `after=${after}&limit=2`)
      assert.equal(pagination['has_more'], has_more)
      told.push(...data.map(({ message }) => message))
      after = String(pagination['next_after'])
    }
    assert.deepEqual(told, ['late', 'early', 'last'])
    assert.deepEqual((await read(agent, `after=${after}`)).data, [])
  })

  test('can be filtered; 400 for an offset or an invalid position', async () => {
    const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ fail: 'no luck' }] } })
    const after = await endOf(agent)
    await say(agent)
    assert.ok((await read(agent, `after=${after}&level=error`)).data.length > 0)
    assert.equal((await read(agent, `after=${after}&level=info`)).data.length, 0)
    assert.ok((await read(agent, `after=${after}&search=luck`)).data.length > 0)
    for (const query of ['after=5&offset=1', 'after=x', 'after=-1', 'after=5_5', 'after=5-']) {
      assert.equal((await service().call('GET', `/v1/agents/${agent}/logs?${query}`)).status, 400, query)
    }
  })

  test('works with the SDK', async () => {
    const agent = await newAgent(service())
    const { logs } = createClient({ url: service().url, key: service().admin })
    const after = await endOf(agent)
    for (let i = 0; i < 3; i++) await say(agent)
    const ids: string[] = []
    for await (const { id } of logs.follow(agent, { after, limit: 2 })) {
      ids.push(id)
      if (ids.length === 3) break
    }
    assert.deepEqual(ids, (await read(agent, 'sort=timestamp')).data.map(({ id }) => id).slice(-3))
  })

  test('starts now with the SDK, unless a position is given', async () => {
    const agent = await newAgent(service())
    await say(agent)
    const looked = Promise.withResolvers<void>()
    const { logs } = createClient({
      url: service().url,
      key: service().admin,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        const text = await response.text()
        looked.resolve()
        return new Response(text, response)
      },
    })
    const following = logs.follow(agent)
    const told: string[] = []
    const first = following.next().then(({ value }) => told.push(value?.id ?? 'nothing'))
    await looked.promise
    await say(agent)
    const [newest] = (await read(agent, 'limit=1')).data
    await until('it tells what came', () => told.length > 0)
    await first
    assert.deepEqual(told, [newest?.id])
    await following.return(undefined)
  })

  betweenNodes(engine)(
    "does not wait for another node's transaction, and returns its entries after the commit",
    async () => {
      const agent = await newAgent(service())
      const after = await endOf(agent)
      const agent_seq = await seqOf(agent)
      const slow = new pg.Client({ connectionString: databaseUrl(service()) })
      await slow.connect()
      const store = (message: string) =>
        slow.query(
          `insert into logs (agent_seq, timestamp, level, request_id, message, metadata) values ($1, 1, 1, 'req_1', $2, '{}')`,
          [agent_seq, message],
        )
      try {
        // No journal holds the count of an agent for so long: this transaction does not count.
        await slow.query('set session_replication_role = replica')
        await slow.query('begin')
        await store('slow')
        await say(agent)
        const first = await read(agent, `after=${after}`)
        assert.deepEqual(messagesOf(first), ['Invocation completed'])
        assert.deepEqual(messagesOf(await read(agent, `after=${first.pagination['next_after']}`)), [])
        // A client that starts to follow now gets the entries, too.
        const late = await endOf(agent)
        await store('slower')
        await slow.query('commit')
        await say(agent)
        for (const position of [first.pagination['next_after'], late]) {
          assert.deepEqual(await readAll(agent, String(position)), ['slow', 'slower', 'Invocation completed'])
        }
      } finally {
        await slow.end()
      }
    },
  )

  betweenNodes(engine)(
    'does not return entries again that came with a database restored from another server',
    async () => {
      const agent = await newAgent(service())
      await say(agent)
      const db = storeOf(service())
      // Far enough ahead that it is still in the future when the service has started, and in the past after some transactions.
      const nextTransaction = async () => readPosition(await endOf(agent), keyringOf(service())).next
      const ahead = (await nextTransaction()) + 60
      await db
        .updateTable('logs')
        .set({ written_in: ahead })
        .where('agent_seq', '=', await seqOf(agent))
        .execute()
      await service().restart()
      const after = await endOf(agent)
      let said = 0
      for (; (await nextTransaction()) <= ahead; said += 1) await say(agent)
      assert.ok(said > 0)
      assert.equal((await readAll(agent, after)).length, said)
    },
  )
})
