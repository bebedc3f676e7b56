import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { keyringOf, stopApp, storeOf } from '../support/inside.ts'
import { type AuthorizationServer, startAuthorizationServer } from '../support/outside/authorization-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines } from '../support/service/service.ts'
import { startWaiting } from '../support/slices/approvals.ts'
import { CONNECTED, connect, PUBLIC_URL, toServer, whoamiAgent } from '../support/slices/connections.ts'
import { LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

const HOUR_MS = 3_600_000
const AT_ONCE = 5

onBothEngines(
  'sign-ins while something is away for long',
  (service) => {
    let server: AuthorizationServer
    let agent: string
    before(async () => {
      server = await startAuthorizationServer()
      const reply = await service().call('PUT', '/v1/connections/desk', { body: toServer(server) })
      assert.equal(reply.status, 200, reply.text)
      agent = await newAgent(service(), whoamiAgent(server))
    })
    after(() => server.close())

    const answerTo = async (user_id: string): Promise<string> => {
      const body = { message: 'Who am I?', context: { user_id } }
      const reply = await service().call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.response
    }
    const grantOf = async (user_id: string) =>
      (await service().call('GET', `/v1/connections/desk/grants?user_id=${user_id}`)).body.data[0]
    const signIn = async (user_id: string) => {
      server.next = user_id
      await connect(service, 'desk', user_id)
    }

    /** Whether there is a sign-in is looked up before the call, and its token for the call. */
    const assertFew = (earlier: number, calls: number) => {
      const asked = server.asked.slice(earlier)
      assert.ok(asked.length >= 1 && asked.length <= calls * 2, asked.join())
    }

    test('a provider that is away for an hour: the sign-in stays, each call asks it twice at most, and the next one works', async () => {
      await signIn('ann')
      service().advance(HOUR_MS + 1_000)
      for (let minutes = 0; minutes < 60; minutes += 15) {
        server.isDown = minutes % 2 === 0
        server.isCut = !server.isDown
        const earlier = server.asked.length
        assert.match(await answerTo('ann'), /The sign-in to desk could not be renewed/)
        assertFew(earlier, 1)
        assert.equal((await grantOf('ann')).status, 'active')
        service().advance(15 * 60_000)
      }
      const earlier = server.asked.length
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => answerTo('ann')))
      for (const answer of answers) assert.match(answer, /could not be renewed/)
      assertFew(earlier, AT_ONCE)
      server.isDown = false
      server.isCut = false
      assert.match(await answerTo('ann'), /you are ann,/)
    })

    test('another master key: the service refuses to start and says why, and with the right one the sign-in works', async () => {
      await stopApp(service())
      await assert.rejects(service().beside({ MOORAGE_MASTER_KEY: randomBytes(32).toString('hex') }), {
        message: /^this database was written with another master key\. Set MOORAGE_MASTER_KEY/,
      })
      await service().restart()
      assert.equal((await grantOf('ann')).status, 'active')
      assert.match(await answerTo('ann'), /you are ann,/)
    })

    test("tokens that can't be decrypted: the model is told why, and the sign-in stays and works again once they can", async () => {
      const { id } = await grantOf('ann')
      const read = storeOf(service()).selectFrom('connection_grants').select('tokens').where('id', '=', id)
      const { tokens } = await read.executeTakeFirstOrThrow()
      const put = (sealed: string | null) =>
        storeOf(service()).updateTable('connection_grants').set({ tokens: sealed }).where('id', '=', id).execute()
      await put(keyringOf(service()).encrypt('{}', 'another purpose'))
      assert.match(await answerTo('ann'), /The sign-in to desk is stored, but can't be decrypted/)
      assert.equal((await grantOf('ann')).status, 'active')
      await put(tokens)
      assert.match(await answerTo('ann'), /you are ann,/)
    })

    test('90 days idle: one refresh, and it works; if the refresh token has ended too, the run waits with a new link', async (t) => {
      const inbox = await openInbox(t)
      const events = ['connection.ended']
      const made = await service().call('POST', '/v1/webhooks', { body: { url: inbox.url, events } })
      assert.equal(made.status, 201, made.text)
      service().advance(90 * 24 * HOUR_MS)
      const earlier = server.asked.length
      assert.match(await answerTo('ann'), /you are ann,/)
      const asked = server.asked.slice(earlier).filter((one) => one.endsWith('refresh_token'))
      assert.deepEqual(asked, ['POST /token refresh_token'])
      service().advance(90 * 24 * HOUR_MS)
      server.endGrants('ann')
      const { approval } = await startWaiting(service(), agent, 'Who am I?', { user_id: 'ann' })
      const { connection } = (await service().call('GET', approval)).body.data
      assert.ok(connection.url.startsWith(`${PUBLIC_URL}/connect/${connection.link_id}/`), connection.url)
      const { status, ended_reason } = await grantOf('ann')
      assert.deepEqual([status, ended_reason], ['expired', 'invalid_grant'])
      const { body } = await until('the event arrives', () => inbox.arrivals[0])
      assert.match(body, /"connection\.ended"/)
    })
  },
  { ...CONNECTED, ...LOCAL_RECEIVERS },
)
