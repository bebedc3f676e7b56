import assert from 'node:assert/strict'
import pg from 'pg'
import { databaseUrl, storeOf } from '../support/inside.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, onEveryEngine } from '../support/service/service.ts'

onEveryEngine('two nodes that write to the same agents', (service, engine) => {
  betweenNodes(engine)('do not deadlock, whichever writes runs and logs of which agent', async () => {
    const seqOf = async (id: string) => {
      const db = storeOf(service())
      return (await db.selectFrom('agents').select('seq').where('id', '=', id).executeTakeFirstOrThrow()).seq
    }
    const [one, other] = [await seqOf(await newAgent(service())), await seqOf(await newAgent(service()))]
    const connect = async () => {
      const client = new pg.Client({ connectionString: databaseUrl(service()) })
      await client.connect()
      return client
    }
    const [left, right] = [await connect(), await connect()]
    const run = (client: pg.Client, seq: number, id: string) =>
      client.query(
        `insert into invocations select (jsonb_populate_record(i, jsonb_build_object('id', $2::text, 'agent_seq', $1::bigint))).* from invocations i limit 1`,
        [seq, id],
      )
    const log = (client: pg.Client, seq: number) =>
      client.query(
        `insert into logs (agent_seq, timestamp, level, request_id, message, metadata) values ($1, 1, 1, 'req_1', 'x', '{}')`,
        [seq],
      )
    try {
      await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'a row to copy' } })
      await Promise.all([left.query('begin'), right.query('begin')])
      await run(left, one, 'req_left')
      await run(right, other, 'req_right')
      // If both lists share their counters, each transaction now holds the counter that the other one needs next.
      const ended = await Promise.all([
        log(left, other).then(() => left.query('commit')),
        log(right, one).then(() => right.query('commit')),
      ])
      assert.equal(ended.length, 2)
    } finally {
      await Promise.all([left.end(), right.end()])
    }
  })
})
