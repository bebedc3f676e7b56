import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { createClient } from '../sdk/client.ts'
import { newAgent } from './support/service/agents.ts'
import { betweenNodes, onBothEngines } from './support/service/service.ts'

onBothEngines('a log that is followed', (service, engine) => {
  const read = async (agent: string, query: string) => {
    const reply = await service().call('GET', `/v1/agents/${agent}/logs?${query}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body as { data: { id: string; message: string }[]; pagination: Record<string, unknown> }
  }
  const say = (agent: string) => service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  const endOf = async (agent: string) => (await read(agent, 'after=latest')).pagination['next_after'] as string
  const seqOf = async (id: string) => {
    const { db } = service().app.parts.storage
    return (await db.selectFrom('agents').select('seq').where('id', '=', id).executeTakeFirstOrThrow()).seq
  }

  test('tells each entry once, in the order in which they were stored, whatever their times', async () => {
    const [agent, other] = [await newAgent(service()), await newAgent(service())]
    await say(agent)
    let after = await endOf(agent)
    const { db } = service().app.parts.storage
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

  test('may be filtered; 400 for an offset or a strange position', async () => {
    const agent = await newAgent(service(), { model: 'builtin/script', script: { rules: [{ fail: 'no luck' }] } })
    const after = await endOf(agent)
    await say(agent)
    assert.ok((await read(agent, `after=${after}&level=error`)).data.length > 0)
    assert.equal((await read(agent, `after=${after}&level=info`)).data.length, 0)
    assert.ok((await read(agent, `after=${after}&search=luck`)).data.length > 0)
    for (const query of ['after=5&offset=1', 'after=x', 'after=-1']) {
      assert.equal((await service().call('GET', `/v1/agents/${agent}/logs?${query}`)).status, 400, query)
    }
  })

  test('is followed by the SDK', async () => {
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

  betweenNodes(engine)(
    'waits for an entry whose id is smaller and that another node has not committed yet',
    async () => {
      const agent = await newAgent(service())
      const after = await endOf(agent)
      const slow = new pg.Client({ connectionString: service().app.parts.config.database.url })
      await slow.connect()
      try {
        await slow.query('begin')
        await slow.query(
          `insert into logs (agent_seq, timestamp, level, request_id, message, metadata) values ($1, 1, 1, 'req_1', 'slow', '{}')`,
          [await seqOf(agent)],
        )
        await say(agent)
        const { data, pagination } = await read(agent, `after=${after}`)
        assert.deepEqual([data, pagination['next_after']], [[], after])
        await slow.query('commit')
        const told = (await read(agent, `after=${after}`)).data.map(({ message }) => message)
        assert.deepEqual(told, ['slow', 'Invocation completed'])
      } finally {
        await slow.end()
      }
    },
  )
})
