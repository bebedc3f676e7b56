import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { databaseUrl, rowsOf, storeOf } from '../support/inside.ts'
import { troubleStore } from '../support/invariants/watch-invariants.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { meanwhile } from '../support/running/meanwhile.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onManyNodes, type Service } from '../support/service/service.ts'
import { startWaiting, untilStatus } from '../support/slices/approvals.ts'
import { Browser, CONNECTED, connect, PUBLIC_URL, toServer, whoamiAgent } from '../support/slices/connections.ts'
import { lockWaiters } from '../support/stores/lock-waiters.ts'

onManyNodes(
  'connections on several nodes',
  (service) => {
    let server: AuthorizationServer
    let nodes: Service[]
    let agent: string
    before(async () => {
      server = await startAuthorizationServer()
      nodes = [service(), await service().beside(), await service().beside()]
      await service().call('PUT', '/v1/connections/desk', { body: toServer(server) })
      agent = await newAgent(service(), whoamiAgent(server))
    })
    after(async () => {
      for (const node of nodes.slice(1)) await node.stop()
      await server.close()
    })
    const nodeAt = (i: number) => nodes[i % nodes.length] as Service
    // A run with a key stores its step before it calls the tool, so it can be seen.
    const ask = async (i: number, user_id: string) => {
      const body = { message: 'Who am I?', context: { user_id } }
      const headers = { 'Idempotency-Key': `${user_id}-${i}` }
      const reply = await nodeAt(i).call('POST', `/v1/agents/${agent}/invoke`, { body, headers })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.response as string
    }

    test('50 calls at once with an expired, single-use refresh token refresh it once', async () => {
      server.expires_in = 1
      server.next = 'ann'
      await connect(service, 'desk', 'ann')
      server.expires_in = 3_600
      server.expireAll()
      for (const node of nodes) node.advance(2_000)
      // The answer is held until every run has come to its tool.
      const areSent = Promise.withResolvers<void>()
      server.hold = () => areSent.promise
      const calls = Array.from({ length: 50 }, (_, i) => ask(i, 'ann'))
      await until('all runs call the tool', async () => (await rowsOf(service(), 'steps')).length >= 50)
      await until('the provider is asked', () => server.asked.some((one) => one.endsWith('refresh_token')))
      areSent.resolve()
      for (const answer of await Promise.all(calls)) assert.match(answer, /you are ann,/)
      assert.equal(server.asked.filter((one) => one.endsWith('refresh_token')).length, 1)
      server.hold = async () => {}
    })

    test('a sign-in begins on one node, ends on another, and wakes a run of a third', async () => {
      const { path, approval } = await startWaiting(nodeAt(2), agent, 'Who am I?', { user_id: 'bob' })
      const { connection } = (await nodeAt(0).call('GET', approval)).body.data
      let on = 0
      const browser = new Browser(() => nodeAt(on))
      const first = await browser.open(connection.url)
      server.next = 'bob'
      const back = await fetch(first.headers.get('location') ?? '', { redirect: 'manual' })
      on = 1
      assert.equal((await browser.open(back.headers.get('location') ?? '')).status, 200)
      assert.ok(connection.url.startsWith(PUBLIC_URL))
      const confirm = `/v1/connections/desk/links/${connection.link_id}/confirm`
      assert.equal((await nodeAt(1).call('POST', confirm, { body: { user_id: 'bob' } })).status, 200)
      assert.match((await untilStatus(nodeAt(0), path, 'completed')).response, /you are bob,/)
    })

    test('tokens that a refresh brings are stored after the database was away, and used', async () => {
      server.next = 'cat'
      await connect(service, 'desk', 'cat')
      service().advance(3_600_000)
      const store = storeOf(service())
      troubleStore(store)
      await sql`create sequence tried`.execute(store)
      await sql
        .raw(
          `create function refuse() returns trigger language plpgsql as $$ begin
            perform nextval('tried'); raise exception 'the disk is full' using errcode = '53100'; end $$`,
        )
        .execute(store)
      await sql`create trigger trouble before update on connection_grants for each row
        when (new.version > old.version) execute function refuse()`.execute(store)
      let isAnswered = false
      const asking = ask(0, 'cat').finally(() => {
        isAnswered = true
      })
      asking.catch(() => {})
      await until('it is tried many times', async () => {
        const { rows } = await sql<{ last_value: string }>`select last_value from tried`.execute(store)
        return isAnswered || Number(rows[0]?.last_value) > 11
      })
      await sql`drop trigger trouble on connection_grants`.execute(store)
      assert.match(await asking, /you are cat,/)
    })

    test('a sign-in that ends before it wakes a run: the run waits on, and the next one wakes it', async () => {
      const { request_id, path, approval } = await startWaiting(service(), agent, 'Who am I?', { user_id: 'dan' })
      const { connection } = (await service().call('GET', approval)).body.data
      server.next = 'dan'
      await new Browser(service).signIn(connection.url)
      const other = new pg.Client({ connectionString: databaseUrl(service()) })
      await other.connect()
      try {
        await other.query('begin')
        await other.query('select id from runs where id = $1 for update', [request_id])
        const confirm = `/v1/connections/desk/links/${connection.link_id}/confirm`
        assert.equal((await service().call('POST', confirm, { body: { user_id: 'dan' } })).status, 200)
        await until('a node wants to wake it', async () => (await lockWaiters(other, 'from "runs"')) > 0)
        assert.equal((await service().call('DELETE', '/v1/connections/desk/grants/dan')).status, 200)
        await other.query('commit')
      } finally {
        await other.end()
      }
      await connect(service, 'desk', 'dan')
      assert.match((await untilStatus(service(), path, 'completed')).response, /you are dan,/)
    })

    test('setting a connection while another node registers the service keeps the registration', async () => {
      const resource = `${server.url}/registering`
      server.resources.set('/.well-known/oauth-protected-resource/registering', {
        resource,
        authorization_servers: [server.url],
      })
      const put = () => service().call('PUT', '/v1/connections/beside', { body: { kind: 'mcp', url: resource } })
      const clientOf = async () => (await service().call('POST', '/v1/connections/beside/test')).body.data.client_id
      await put()
      const client_id = await clientOf()
      const row = (await rowsOf(service(), 'connections')).find((one) => 'name' in one && one.name === 'beside')
      const { registration } = row as unknown as { registration: string }
      await storeOf(service())
        .updateTable('connections')
        .set({ registration: null })
        .where('name', '=', 'beside')
        .execute()
      const registering = `update connections set registration = '${registration}' where name = 'beside'`
      const [reply] = await meanwhile(service(), registering, put)
      assert.equal(reply?.status, 200)
      assert.equal(await clientOf(), client_id)
    })
  },
  CONNECTED,
)
