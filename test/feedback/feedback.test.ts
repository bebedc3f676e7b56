import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rowsOf, wakeJobs } from '../support/inside.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onBothEngines, type Service, withService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { createWebhook, LOCAL_RECEIVERS, openInbox } from '../support/slices/webhooks.ts'

const ANN = { user_id: 'ann', session_id: 'monday' }

type RatedRow = { key: string; request_id: string }

async function invoked(service: Service, agent: string, more: object = {}, key?: string): Promise<string> {
  const body = { message: 'Is the tide in?', ...more }
  const {
    status,
    body: reply,
    text,
  } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
    body,
    ...(key && { key }),
  })
  assert.equal(status, 200, text)
  return reply.data.request_id
}

const pathOf = (agent: string, request_id: string) => `/v1/agents/${agent}/invocations/${request_id}/feedback`

onBothEngines(
  'feedback',
  (service) => {
    const rows = async (request_id: string) =>
      ((await rowsOf(service(), 'feedback')) as RatedRow[]).filter((row) => row.request_id === request_id)
    const rated = async (agent: string, request_id: string, body: object, key?: string) => {
      const reply = await service().call('PUT', pathOf(agent, request_id), { body, ...(key && { key }) })
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data
    }
    const listed = async (query: string, key?: string) => {
      const reply = await service().call('GET', `/v1/feedback${query}`, key ? { key } : {})
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.map(({ id }: { id: string }) => id) as string[]
    }

    describe('PUT /v1/agents/{agent_id}/invocations/{request_id}/feedback', () => {
      test('says whose it is and what it is about; the same key again replaces the score and the comment', async () => {
        const agent = await newAgent(service())
        const deploy = { environment: 'production', version: 'v7' }
        const deployed = await service().call('POST', `/v1/agents/${agent}/deployments`, { body: deploy })
        const request_id = await invoked(service(), agent, { context: ANN })
        const first = await rated(agent, request_id, { score: -1, comment: 'Wrong day' })
        const { id, created_at, updated_at, created_by, created_by_name: _name, ...rest } = first
        assert.match(id, /^fbk_/)
        assert.equal(created_at, updated_at)
        assert.equal(created_by, (await service().call('GET', '/v1/keys/self')).body.data.id)
        const about = { agent_id: agent, request_id, key: 'rating', ...ANN, ...deploy }
        assert.deepEqual(rest, { ...about, deployment_id: deployed.body.data.id, score: -1, comment: 'Wrong day' })

        service().advance(5_000)
        const again = await rated(agent, request_id, { score: 0.1234567 })
        assert.deepEqual(
          [again.id, again.score, again.comment, again.created_at],
          [id, 0.123457, null, created_at],
          'the comment is replaced as well',
        )
        assert.ok(again.updated_at > created_at)
        const other = await rated(agent, request_id, { score: 1, key: 'tone' })
        const { body } = await service().call('GET', `${pathOf(agent, request_id)}?sort=created_at`)
        assert.deepEqual(body.data, [again, other])
        assert.equal(body.pagination.total, 2)
        const receipt = await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
        const lists = [`/v1/agents/${agent}/invocations`, `/v1/invocations?request_id=${request_id}`]
        const inLists = await Promise.all(lists.map((path) => service().call('GET', path)))
        for (const shown of [receipt.body.data, ...inLists.map((reply) => reply.body.data[0])])
          assert.deepEqual(shown.feedback, [again, other])
      })

      test('requests at once leave one row', async () => {
        const agent = await newAgent(service())
        const request_id = await invoked(service(), agent)
        const scores = Array.from({ length: 12 }, (_, i) => i / 12)
        const given = await Promise.all(scores.map((score) => rated(agent, request_id, { score })))
        assert.equal(new Set(given.map(({ id }) => id)).size, 1)
        assert.equal((await rows(request_id)).length, 1)
      })

      test('400 for a score out of range, a long comment and a key of two lines', async () => {
        const agent = await newAgent(service())
        const path = pathOf(agent, await invoked(service(), agent))
        for (const [field, body] of [
          ['score', { score: 1.1 }],
          ['score', { score: -1.000001 }],
          ['score', { score: '1' }],
          ['score', {}],
          ['comment', { score: 1, comment: 'x'.repeat(2_001) }],
          ['comment', { score: 1, comment: '' }],
          ['key', { score: 1, key: 'a\nb' }],
          ['key', { score: 1, key: 'x'.repeat(65) }],
        ] as const) {
          const { status, body: reply } = await service().call('PUT', path, { body })
          assert.deepEqual([status, reply.error.details[0].field], [400, field], JSON.stringify(reply))
        }
      })

      test('409 while the run continues, when it was erased, and for more than 10 keys, also at once', async () => {
        const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
        const slow = await newAgent(service(), { model: 'builtin/script', script })
        const started = await service().call('POST', `/v1/agents/${slow}/invoke`, {
          body: { message: 'hello' },
          headers: { Prefer: 'respond-async' },
        })
        const { request_id: running } = started.body.data
        const put = (agent: string, id: string, body: object) => service().call('PUT', pathOf(agent, id), { body })
        assert.equal((await put(slow, running, { score: 1 })).status, 409)
        await service().call('POST', `/v1/agents/${slow}/invocations/${running}/cancel`)
        assert.equal((await put(slow, running, { score: -1 })).status, 200, 'a cancelled run has ended')

        const agent = await newAgent(service())
        const request_id = await invoked(service(), agent)
        const keys = Array.from({ length: 15 }, (_, i) => `key-${i}`)
        const replies = await Promise.all(keys.map((key) => put(agent, request_id, { score: 1, key })))
        const statuses = replies.map(({ status }) => status).toSorted()
        assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(5).fill(409)])
        const [{ key } = { key: '' }] = await rows(request_id)
        assert.equal((await put(agent, request_id, { score: -1, key })).status, 200, 'replacing needs no room')

        await service().call('DELETE', `/v1/agents/${agent}/invocations/${request_id}`)
        const { status, body } = await put(agent, request_id, { score: 1, key })
        assert.deepEqual([status, body.error.code], [409, 'conflict'])
      })

      test('is audited, and an event tells of it without a second request', async (t) => {
        const agent = await newAgent(service())
        const inbox = await openInbox(t)
        await createWebhook(service(), { url: inbox.url, agent_id: agent, events: ['feedback.given'] })
        const request_id = await invoked(service(), agent, { context: ANN })
        const { id } = await rated(agent, request_id, { score: 0.5, comment: 'Almost' })
        const [arrival] = await inbox.first(1)
        const { type, agent_id, data } = JSON.parse(arrival?.body ?? '')
        assert.deepEqual([type, agent_id], ['feedback.given', agent])
        assert.deepEqual(data, {
          feedback_id: id,
          request_id,
          key: 'rating',
          score: 0.5,
          comment: 'Almost',
          environment: 'production',
          version: null,
          deployment_id: null,
          context: ANN,
        })
        const effects = await service().call('GET', `/v1/agents/${agent}/invocations/${request_id}/effects`)
        assert.deepEqual(effects.body.data.deliveries, [], 'the run ended before')
        const { body } = await service().call('GET', `/v1/audit-log?action=giveFeedback&agent_id=${agent}`)
        assert.deepEqual(
          body.data.map(({ target, outcome }: { target: string; outcome: string }) => [target, outcome]),
          [[request_id, 'success']],
        )
        assert.ok(!JSON.stringify(body).includes('Almost'))
      })
    })

    test('an erased run, or one at the same time, keeps the score alone', async () => {
      const agent = await newAgent(service())
      await createWebhook(service(), { url: NOWHERE, agent_id: agent, events: ['feedback.given'] })
      for (let i = 0; i < 6; i++) {
        const request_id = await invoked(service(), agent, { context: ANN })
        await rated(agent, request_id, { score: -1, comment: 'zanzibar' })
        const replies = await Promise.all([
          service().call('PUT', pathOf(agent, request_id), { body: { score: 1, comment: 'zanzibar' } }),
          service().call('DELETE', `/v1/agents/${agent}/invocations/${request_id}`),
          service().call('PUT', pathOf(agent, request_id), { body: { score: 1, key: 'tone', comment: 'zanzibar' } }),
        ])
        assert.equal(replies[1]?.status, 200, replies[1]?.text)
        const left = (await rowsOf(service(), 'feedback')).filter((row) => row.request_id === request_id)
        assert.ok(left.length >= 1)
        for (const { score_millionths, comment, user_id, session_id } of left) {
          assert.equal(Math.abs(score_millionths), 1_000_000)
          assert.deepEqual([comment, user_id, session_id], [null, null, null])
        }
        const events = (await rowsOf(service(), 'events')).filter((event) => event.request_id === request_id)
        assert.ok(!JSON.stringify(events).includes('zanzibar'))
        assert.ok(events.every(({ user_id }) => user_id === null))
      }
    })

    describe('who sees and gives it', () => {
      test('a token of a user reaches the runs of that user; others are 404, as runs that do not exist', async () => {
        const agent = await newAgent(service())
        const [own, other, none] = [
          await invoked(service(), agent, { context: { user_id: 'ada' } }),
          await invoked(service(), agent, { context: ANN }),
          await invoked(service(), agent),
        ]
        await rated(agent, other, { score: -1 })
        const key = await signJwt({ permissions: ['invoke'] })
        const reader = await signJwt({ permissions: ['read', 'invoke'] })
        const given = await rated(agent, own, { score: 1 }, reader)
        assert.equal(given.user_id, 'ada')
        for (const token of [key, reader]) {
          for (const id of [other, none, 'req_nothing']) {
            for (const [method, body] of [
              ['PUT', { score: 1 }],
              ['GET', undefined],
              ['DELETE', undefined],
            ] as const) {
              const reply = await service().call(method, pathOf(agent, id), { key: token, ...(body && { body }) })
              assert.deepEqual([method, id, reply.status], [method, id, 404])
            }
          }
        }
        assert.deepEqual(await listed(`?agent_id=${agent}`, reader), [given.id])
        const refused = await service().call('GET', `/v1/feedback?user_id=ann`, { key: reader })
        assert.equal(refused.status, 403)
      })

      test('a key that only invokes reaches the runs it started, one of another agent nothing, a reader gives none', async () => {
        const [agent, another] = [await newAgent(service()), await newAgent(service())]
        const { secret: caller } = await createKey(service(), { role: 'caller' })
        const { secret: stranger } = await createKey(service(), { role: 'caller' })
        const { secret: bound } = await createKey(service(), { role: 'developer', agent_id: another })
        const { secret: viewer } = await createKey(service(), { role: 'viewer' })
        const request_id = await invoked(service(), agent, {}, caller)
        const { id } = await rated(agent, request_id, { score: 1 }, caller)
        const ask = async (method: string, key: string) =>
          (
            await service().call(method, pathOf(agent, request_id), {
              key,
              ...(method === 'PUT' && { body: { score: -1 } }),
            })
          ).status
        assert.deepEqual(
          [await ask('PUT', stranger), await ask('GET', stranger), await ask('DELETE', stranger)],
          [404, 404, 404],
        )
        assert.deepEqual([await ask('PUT', bound), await ask('GET', bound)], [403, 403])
        assert.deepEqual(
          [await ask('PUT', viewer), await ask('GET', viewer), await ask('DELETE', viewer)],
          [403, 200, 403],
        )
        assert.deepEqual(await listed(`?agent_id=${agent}`, caller), [id])
        assert.deepEqual(await listed(`?agent_id=${agent}`, stranger), [])
        assert.deepEqual(await listed(`?agent_id=${agent}`, viewer), [id])
        const other = { 'Moorage-Project': (await newProject(service())).id }
        const foreign = await service().call('PUT', pathOf(agent, request_id), { body: { score: 1 }, headers: other })
        assert.equal(foreign.status, 404)
        assert.equal(await ask('DELETE', caller), 200)
        assert.equal(await ask('DELETE', caller), 404)
        assert.deepEqual(await rows(request_id), [])
      })
    })

    test('GET /v1/feedback filters, sorts and pages', async () => {
      const agent = await newAgent(service())
      const from = new Date(service().now()).toISOString()
      const ids: string[] = []
      const runs: string[] = []
      for (const [i, version] of ['v1', 'v1', 'v2', 'v2'].entries()) {
        await service().call('POST', `/v1/agents/${agent}/deployments`, {
          body: { environment: 'production', version },
        })
        const request_id = await invoked(service(), agent, { context: { user_id: `u${i}`, session_id: `s${i}` } })
        const comment = i === 2 ? 'Too long' : null
        const key = i === 3 ? 'tone' : 'rating'
        ids.push((await rated(agent, request_id, { score: [-1, -0.25, 0, 1][i], comment, key })).id)
        runs.push(request_id)
        service().advance(1_000)
      }
      const found = async (query: string) => (await listed(`?agent_id=${agent}&${query}`)).map((id) => ids.indexOf(id))
      const { body } = await service().call('GET', `/v1/agents/${agent}/deployments?status=active`)
      for (const [query, expected] of [
        ['', [3, 2, 1, 0]],
        ['sort=created_at', [0, 1, 2, 3]],
        ['sort=score', [0, 1, 2, 3]],
        ['sort=-score', [3, 2, 1, 0]],
        ['limit=2&offset=1', [2, 1]],
        ['score_below=0', [1, 0]],
        ['score_below=-0.25', [0]],
        ['score_above=-0.25', [3, 2]],
        ['version=v1', [1, 0]],
        ['version=v9', []],
        [`deployment_id=${body.data[0].id}`, [3]],
        ['environment=production&version=v2&score_below=1', [2]],
        ['environment=staging', []],
        ['key=tone', [3]],
        ['user_id=u1', [1]],
        ['session_id=s2', [2]],
        [`request_id=${runs[0]}`, [0]],
        ['commented=true', [2]],
        ['commented=false&sort=created_at', [0, 1, 3]],
        [`start_time=${from}`, [3, 2, 1, 0]],
        [`end_time=${from}`, []],
      ] as const)
        assert.deepEqual(await found(query), expected, query)
      assert.equal((await service().call('GET', '/v1/feedback?score_below=2')).status, 400)
      assert.deepEqual(await listed('?agent_id=nothing'), [])
    })

    test('it goes with its receipt: by retention, and with a deleted agent', async () => {
      const agent = await newAgent(service())
      const request_id = await invoked(service(), agent)
      await rated(agent, request_id, { score: 1 })
      await service().call('DELETE', `/v1/agents/${agent}`)
      await until('the feedback is removed', async () => {
        wakeJobs(service())
        return (await rows(request_id)).length === 0
      })
    })
  },
  { ...JWT_SETTINGS, ...LOCAL_RECEIVERS },
)

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`retention removes feedback with its receipt on ${engine}`, async () => {
    await withService(
      engine,
      async (service) => {
        const agent = await newAgent(service)
        const request_id = await invoked(service, agent)
        const reply = await service.call('PUT', pathOf(agent, request_id), { body: { score: 1 } })
        assert.equal(reply.status, 200, reply.text)
        // The first sweep is over, so that the next one is due later.
        await until('old rows were looked for', async () => {
          const jobs = (await rowsOf(service, 'jobs')).filter(({ kind }) => kind === 'retention')
          return jobs.length > 0 && jobs.every(({ owner, run_at }) => owner === null && (run_at ?? 0) > service.now())
        })
        service.advance(3 * 86_400_000)
        await until('the receipt and its feedback are removed', async () => {
          wakeJobs(service)
          return (await rowsOf(service, 'invocations')).length + (await rowsOf(service, 'feedback')).length === 0
        }).catch((error: Error) => {
          throw new Error(`${error.message}\n${service.log().slice(-6000)}`)
        })
      },
      { MOORAGE_RETENTION__INVOCATIONS: '1d' },
    )
  })
}

let projects = 0

async function newProject(service: Service): Promise<{ id: string }> {
  const { status, body, text } = await service.call('POST', '/v1/projects', { body: { name: `project-${++projects}` } })
  assert.equal(status, 201, text)
  return body.data
}
