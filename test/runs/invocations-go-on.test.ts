import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { nodeOf, partsOf, stopApp, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { betweenNodes, onManyNodes, type Reply, type Service } from '../support/service/service.ts'
import { breakConnectionOnce, refuse } from '../support/stores/unwilling-store.ts'

const SOON = { ...LOCAL_TOOLS, MOORAGE_SERVER__DRAIN_TIMEOUT: '50ms' }

const answering = (delay_ms: number) => ({ model: 'builtin/script', script: { rules: [{ reply: 'done', delay_ms }] } })
const ENDLESS = answering(60_000)

/** One agent, and one request to it that is sent again and again under the same key. */
async function begin(service: Service, fields: object) {
  const agent = await newAgent(service, fields)
  const key = randomUUID()
  const db = () => storeOf(service)
  return {
    send: (to = service, message = 'go'): Promise<Reply> =>
      to.call('POST', `/v1/agents/${agent}/invoke`, { body: { message }, headers: { 'Idempotency-Key': key } }),
    /** A run without steps continues with the agent's current definition. */
    answerSoon: (at = service) => at.call('PATCH', `/v1/agents/${agent}`, { body: answering(1) }),
    stored: () =>
      until('the stored run', async () => {
        const { body } = await service.call('GET', `/v1/agents/${agent}/invocations?status=running`)
        return body.pagination.total === 1
      }),
    /** The ids of all runs that there were, the latest first. */
    async runs(at = service): Promise<string[]> {
      const { body } = await at.call('GET', `/v1/agents/${agent}/invocations`)
      return body.data.map(({ request_id }: { request_id: string }) => request_id)
    },
    /** How often the run was begun, by its receipt. */
    async attempts(request_id: string): Promise<number> {
      const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      return body.data.attempts.length
    },
    findClaim: () => db().selectFrom('claims').selectAll().where('key', '=', key).executeTakeFirst(),
    changeClaim: (to: { owner: string; lease_until: number; request_id: string }) =>
      db().updateTable('claims').set(to).where('key', '=', key).execute(),
  }
}

/** Pretends that half a minute has passed in which no node renewed the leases of runs. */
async function endLeases(node: Service): Promise<void> {
  const db = storeOf(node)
  await db.updateTable('runs').set({ lease_until: 0 }).where('status', '=', 'running').execute()
  wakeJobs(node)
}

function assertGoesOn({ status, body, text }: Reply): void {
  assert.equal(status, 503, text)
  assert.equal(body.error.retry_after, 1)
}

onManyNodes(
  'a run with an Idempotency-Key continues, and is never repeated,',
  (service, engine) => {
    let tool: LocalServer
    before(async () => {
      tool = await startLocalServer((_request, response) => response.end('done'))
    })
    after(() => tool.close())
    /** A run that calls a tool is stored before it ends. */
    const calling = () => ({
      model: 'builtin/script',
      tools: [{ type: 'http', name: 'act', url: tool.url }],
      script: { rules: [{ call: { tool: 'act', arguments: {} }, reply: 'done' }] },
    })

    betweenNodes(engine)(
      'when the connection breaks while its end is written: the client still gets the answer',
      async () => {
        const { send, runs } = await begin(service(), calling())
        const takeBack = await breakConnectionOnce(service(), 'the end of a run')
        const first = await send()
        await takeBack()
        assert.equal(first.status, 200, first.text)
        assert.equal((await send()).text, first.text)
        assert.equal((await runs()).length, 1)
      },
    )

    betweenNodes(engine)(
      'when the connection breaks while the end of a run without a key is written: the client gets the answer too',
      async () => {
        const agent = await newAgent(service(), answering(1))
        const takeBack = await breakConnectionOnce(service(), 'the end of a run')
        const { status, body, text } = await service().call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message: 'go' },
        })
        await takeBack()
        assert.equal(status, 200, text)
        const receipt = await service().call('GET', `/v1/agents/${agent}/invocations/${body.data.request_id}`)
        assert.equal(receipt.body.data.status, 'completed', receipt.text)
      },
    )

    test("when its end can't be written", async () => {
      const { send, runs } = await begin(service(), calling())
      const takeAgain = await refuse(service(), 'the end of a run')
      assertGoesOn(await send())
      await takeAgain()
      await endLeases(service())
      const again = await send()
      assert.equal(again.status, 200, again.text)
      assert.deepEqual(await runs(), [again.body.data.request_id])
    })

    test('when anything else fails after it is stored', async () => {
      const { send, runs } = await begin(service(), calling())
      const { events } = partsOf(service())
      const { writes } = events
      events.writes = () => Promise.reject(new Error('broken'))
      const first = await send()
      events.writes = writes
      assertGoesOn(first)
      await endLeases(service())
      assert.equal((await send()).status, 200)
      assert.equal((await runs()).length, 1)
    })

    test('when the service stops while retries wait for it', async () => {
      const { send, runs, stored, attempts, answerSoon } = await begin(service(), ENDLESS)
      const sent = [send(), send(), send()]
      await stored()
      // Sockets are read in turn: after these replies, the retries have arrived. A stop waits for no other requests.
      for (let turn = 0; turn < 2; turn++) await service().call('GET', '/healthz')
      await answerSoon()
      await service().restart()
      for (const reply of sent) assertGoesOn(await reply)
      const other = await send(service(), 'something else')
      assert.deepEqual([other.status, other.body.error.code], [422, 'idempotency_key_reused'])
      const { status, body, text } = await send()
      assert.equal(status, 200, text)
      assert.deepEqual(await runs(), [body.data.request_id])
      assert.equal(await attempts(body.data.request_id), 2)
    })

    test('when the node on which a retry follows it stops', async () => {
      const { send, runs, stored, answerSoon, findClaim } = await begin(service(), ENDLESS)
      const first = send()
      await stored()
      await service().restart()
      assertGoesOn(await first)
      const [request_id = ''] = await runs()
      const node = nodeOf(service())
      const { live } = partsOf(service())
      const second = send()
      const follows = async () => live.find(request_id) && (await findClaim())?.owner.startsWith(node)
      await until('a retry follows it', follows)
      await answerSoon()
      await service().restart()
      assertGoesOn(await second)
      assert.equal((await send()).status, 200)
      assert.deepEqual(await runs(), [request_id])
    })

    test('when the first request died before anything was stored', async () => {
      const { send, runs, stored, answerSoon, findClaim, changeClaim } = await begin(service(), ENDLESS)
      const first = send()
      await stored()
      await service().restart()
      assertGoesOn(await first)
      // The claim of a dead service names a request of which nothing was stored.
      await changeClaim({ owner: 'service:dead:1', lease_until: 0, request_id: 'req_never_stored' })
      const second = send()
      await until('both runs', async () => (await runs()).length === 2)
      const [request_id] = await runs()
      assert.equal((await findClaim())?.request_id, request_id)
      await answerSoon()
      await service().restart()
      assertGoesOn(await second)
      assert.equal((await send()).body.data.request_id, request_id)
      assert.equal((await runs()).length, 2)
    })

    // This test comes last, because it stops the service.
    betweenNodes(engine)('on another node immediately when its own stops, without delaying retries', async () => {
      const { send, runs, stored, answerSoon } = await begin(service(), ENDLESS)
      const first = send()
      await stored()
      const other = await service().beside()
      try {
        await answerSoon(other)
        await stopApp(service())
        assertGoesOn(await first)
        const stopped = performance.now()
        const again = await send(other)
        assert.equal(again.status, 200, again.text)
        assert.ok(performance.now() - stopped < 20_000, 'a lease lasts 30 s')
        assert.equal((await runs(other)).length, 1)
      } finally {
        await other.stop()
      }
    })
  },
  SOON,
)
