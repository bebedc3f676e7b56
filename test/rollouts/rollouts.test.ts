import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import * as rollouts from '../../src/deployments/rollouts/rollout-store.ts'
import * as deployments from '../../src/deployments/store.ts'
import { sumScores } from '../../src/invocations/feedback/feedback-store.ts'
import { sumAnswers } from '../../src/invocations/rows/compared-answers.ts'
import { countSlice, SLICE } from '../../src/judge/count-answers.ts'
import { judgeRollouts } from '../../src/judge/judge-rollouts.ts'
import { firstIdAt } from '../../src/lib/id.ts'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { inTransaction, partsOf, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { holdRuns } from '../support/service/held-runs.ts'
import { type Service, STORY_ENGINES, startService } from '../support/service/service.ts'
import { newRemoteAgent } from '../support/slices/remote-agents.ts'

const MINUTE = 60_000
const PRICES = JSON.stringify([{ model: 'builtin/script', input: 1, output: 1 }])
/** Longer than all looks of a test together. */
const LONG = 600
const QUICK = { steps: [{ percent: 50, minutes: LONG }], guard: { min_answers: 5 } }
/** The script says which version answers, and fails on demand. */
const scriptOf = (version: string, failing: string[]) => ({
  model: 'builtin/script',
  script: { rules: failing.map((contains) => ({ match: { contains }, fail: 'broken' })), fallback: version },
})

for (const engine of STORY_ENGINES) {
  describe(`gradual deployments on ${engine}`, () => {
    let service: Service
    before(async () => {
      service = await startService(engine, { ...JWT_SETTINGS, ...LOCAL_TOOLS, MOORAGE_PRICES: PRICES })
    })
    after(() => service.stop())

    const call = async (method: string, path: string, body?: object, status = 200) => {
      const reply = await service.call(method, path, body && { body })
      assert.equal(reply.status, status, reply.text)
      return reply.body.data
    }
    const deploy = (agent: string, version: string, more: object = {}, status = 201) =>
      call('POST', `/v1/agents/${agent}/deployments`, { environment: 'production', version, ...more }, status)
    const read = (agent: string, id: string) => call('GET', `/v1/agents/${agent}/deployments/${id}`)
    const act = (agent: string, id: string, action: string, body?: object, status?: number) =>
      call('POST', `/v1/agents/${agent}/deployments/${id}/${action}`, body, status)
    const say = async (agent: string, message: string, context: object = {}): Promise<string> => {
      const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      return body.data?.response ?? body.error.code
    }
    const send = (agent: string, count: number, message: string) =>
      Promise.all(Array.from({ length: count }, (_, i) => say(agent, message, { user_id: `${message}-${i}` })))
    const seqOf = async (agent: string) => {
      const select = storeOf(service).selectFrom('agents').select('seq').where('id', '=', agent)
      return (await select.executeTakeFirstOrThrow()).seq
    }
    /** An agent whose v1 is deployed and whose v2 is rolling out. v2 fails when it's told to. */
    const rollingOut = async (strategy: object = QUICK) => {
      const agent = await newAgent(service, scriptOf('v1', ['both']))
      const stable = await deploy(agent, 'v1')
      await call('PATCH', `/v1/agents/${agent}`, scriptOf('v2', ['both', 'candidate']))
      return { agent, stable, candidate: await deploy(agent, 'v2', { strategy }) }
    }
    const looked = (
      agent: string,
      id: string,
      what: string,
      is: (record: Awaited<ReturnType<typeof read>>) => unknown,
    ) =>
      until(what, async () => {
        // The guard looks every two seconds.
        service.advance(2_000)
        wakeJobs(service)
        const record = await read(agent, id)
        return (await is(record)) && record
      })

    test('messages of a session get the same version, and about the right share the candidate', async () => {
      const { agent, candidate } = await rollingOut({
        steps: [
          { percent: 30, minutes: 600 },
          { percent: 60, minutes: 1 },
        ],
      })
      assert.deepEqual(
        [candidate.status, candidate.progress.percent, candidate.progress.step, candidate.progress.waits_for],
        ['rolling_out', 30, 1, 'time'],
      )
      const sessions = Array.from({ length: 40 }, (_, i) => ({ user_id: 'ann', session_id: `s${i}` }))
      const ask = () => Promise.all(sessions.map((context) => say(agent, 'Hello', context)))
      const first = await ask()
      assert.deepEqual(await ask(), first)
      assert.deepEqual(new Set(first), new Set(['v1', 'v2']))
      // A background run, a stream and a schedule choose in the same way.
      for (const [i, context] of sessions.slice(0, 4).entries()) {
        const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, {
          body: { message: 'Hello', context },
          headers: { Prefer: 'respond-async' },
        })
        const { request_id } = reply.body.data
        const receipt = await until('the background run ends', async () => {
          const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
          return body.data.status === 'completed' && body.data
        })
        assert.equal(receipt.version, first[i])
        assert.equal(receipt.deployment_id === candidate.id, first[i] === 'v2')
      }
      const list = await service.call('GET', `/v1/agents/${agent}/deployments?status=rolling_out`)
      assert.equal(list.body.data[0].progress.percent, 30)
    })

    test('a failing candidate is rolled back with evidence, an audit entry and an event', async () => {
      const hook = await call('POST', '/v1/listeners', { events: ['deployment.rolled_back'] }, 201)
      const { agent, stable, candidate } = await rollingOut()
      for (let round = 0; round < 4; round++) {
        await send(agent, 20, `candidate ${round}`)
        await looked(
          agent,
          candidate.id,
          'a look',
          ({ status, progress }) =>
            status === 'aborted' || progress.candidate?.answers + progress.serving?.answers >= (round + 1) * 20,
        )
      }
      const bad = await looked(agent, candidate.id, 'the rollback', ({ status }) => status === 'aborted')
      const { verdict, candidate: of_candidate, serving, examples } = bad.evidence
      assert.equal(verdict, 'failures')
      assert.equal(of_candidate.failures, of_candidate.answers)
      // How many sessions each version gets is chance: the rollout's ID decides it.
      assert.ok(serving.answers > 0 && serving.failures === 0)
      assert.equal(bad.progress.waits_for, null)
      const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${examples[0]}`)
      assert.deepEqual([body.data.version, body.data.status], ['v2', 'failed'])
      const key = await signJwt({ user_id: 'ann' })
      const { body: own } = await service.call('GET', `/v1/agents/${agent}/deployments/${candidate.id}`, { key })
      assert.deepEqual(
        [own.data.status, own.data.evidence, own.data.progress.candidate, own.data.progress.serving],
        ['aborted', null, null, null],
        'a user sees nothing of what others were answered',
      )
      assert.deepEqual(new Set(await send(agent, 10, 'candidate again')), new Set(['v1']))
      assert.equal((await read(agent, stable.id)).status, 'active')
      const audit = await service.call('GET', '/v1/audit-log?action=abortDeployment')
      assert.deepEqual(audit.body.data.filter(({ target }: { target: string }) => target === candidate.id).length, 1)
      const { body: heard } = await service.call('GET', `/v1/listeners/${hook.id}`)
      const events = heard.data.deliveries.map(({ body: text }: { body: string }) => JSON.parse(text))
      assert.deepEqual(
        events.map(({ data }: { data: Awaited<ReturnType<typeof read>> }) => [
          data.id,
          data.reason,
          data.status,
          data.evidence.verdict,
        ]),
        [[candidate.id, 'guard', 'aborted', 'failures']],
      )
    })

    /** Waits until the guard has counted all answers, and returns how many there are and how many failed. */
    const counted = async (agent: string, id: string) => {
      await looked(agent, id, 'all answers are counted', async () => {
        const left = storeOf(service).selectFrom('rollout_answers').selectAll().where('rollout_id', '=', id)
        return (await left.execute()).length === 0
      })
      const { candidate, serving } = (await read(agent, id)).progress
      return [candidate.answers + serving.answers, candidate.failures + serving.failures]
    }

    test('each answer is counted once, and a sender counts once in a step, with the first answer', async (t) => {
      const held = await holdRuns(t)
      const { script, ...more } = scriptOf('v1', ['bad'])
      const rules = [{ match: { contains: 'held' }, ...held.agent.script.rules[0] }, ...script.rules]
      const agent = await newAgent(service, { ...held.agent, ...more, script: { ...script, rules } })
      await deploy(agent, 'v1')
      const strategy = { ...QUICK, guard: { min_answers: 1_000, confidence: 0.999999 } }
      const { id } = await deploy(agent, 'v2', { strategy })
      const [ann, ben] = [{ user_id: 'ann' }, { user_id: 'ben' }]
      const asked: [string, object][] = [
        ...Array.from({ length: 30 }, (): [string, object] => ['bad', { ...ann, session_id: 's1' }]),
        ['good', { ...ann, session_id: 's2' }],
        ['bad', { ...ann, session_id: 's2' }],
        ['good', { ...ben, session_id: 's2' }],
        ['bad', ann],
        ['good', ann],
        ['good', ben],
        ['bad', ben],
        ['bad', {}],
        ['bad', {}],
      ]
      const late = [say(agent, 'held', { user_id: 'cy' }), say(agent, 'held', { user_id: 'dan' })]
      await until('they have begun', () => held.count() === 2)
      for (const [message, context] of asked.slice(0, 31)) await say(agent, message, context)
      assert.deepEqual(await counted(agent, id), [2, 1])
      for (const [message, context] of [...asked.slice(31), ['good', { user_id: 'dan' }] as const]) {
        await say(agent, message, context)
      }
      assert.deepEqual(await counted(agent, id), [8, 4])

      // What was counted isn't read again.
      const store = storeOf(service)
      const agent_seq = await seqOf(agent)
      await store.updateTable('invocations').set({ status: 'failed' }).where('agent_seq', '=', agent_seq).execute()
      // The judge dies before it has counted the last ones, and two nodes both believe that they are the judge.
      const seen = await rollouts.find(store, id)
      assert.ok(seen)
      const count = async (isKilled: boolean) =>
        inTransaction(service, async (db) => {
          await countSlice(db, agent_seq, { rollout: seen, scores: new Map() }, service.now())
          if (isKilled) throw new Error('killed')
        })
      await say(agent, 'good', { user_id: 'eve' })
      await assert.rejects(count(true), /killed/)
      await Promise.all([count(false), count(false)])
      held.release()
      assert.deepEqual(await Promise.all(late), ['done', 'done'])
      assert.deepEqual(await counted(agent, id), [10, 4], 'a late answer is counted, unless its sender was')

      // In the next step, senders count again, and requests from before it don't.
      const step_at = service.now()
      await store.updateTable('rollouts').set({ step_at, statistics: null }).where('deployment_id', '=', id).execute()
      const earlier = store.selectFrom('invocations').select([sql.lit(id).as('rollout_id'), 'id as request_id'])
      const of_agent = earlier.where('agent_seq', '=', agent_seq)
      await store.insertInto('rollout_answers').columns(['rollout_id', 'request_id']).expression(of_agent).execute()
      service.advance(1)
      await say(agent, 'good', { ...ann, session_id: 's1' })
      assert.deepEqual(await counted(agent, id), [1, 0])
      await act(agent, id, 'abort')
      const left = await store.selectFrom('rollout_answers').selectAll().where('rollout_id', '=', id).execute()
      assert.deepEqual(left, [])
    })

    test('a look counts at most one slice per transaction, whatever has been answered before', async () => {
      const { agent, candidate } = await rollingOut()
      await say(agent, 'Hello')
      await counted(agent, candidate.id)
      const agent_seq = await seqOf(agent)
      const time = service.now() + MINUTE
      const rows = Array.from({ length: SLICE + 7 }, (_, i) => ({
        rollout_id: candidate.id,
        request_id: `${firstIdAt('req', time + i)}0000000000000000`,
      }))
      const result = await inTransaction(service, async (db) => {
        const answer = await db.selectFrom('invocations').selectAll().where('agent_seq', '=', agent_seq).execute()
        const copies = rows.map(({ request_id: id }) => ({ ...(answer[0] as object), id, call_key: null }))
        // A few at a time, because the number of parameters is limited.
        for (let i = 0; i < copies.length; i += 100) {
          await db
            .insertInto('invocations')
            .values(copies.slice(i, i + 100) as never)
            .execute()
        }
        await db.insertInto('rollout_answers').values(rows).execute()
        const rollout = await rollouts.find(db, candidate.id)
        assert.ok(rollout)
        const look = () => countSlice(db, agent_seq, { rollout, scores: new Map() }, service.now())
        const looks = [await look(), await look()]
        return looks.map((one) => {
          const { candidate: tested, serving } = one?.seen.statistics?.settled ?? {}
          return [one?.isBehind, (tested?.answers ?? 0) + (serving?.answers ?? 0)]
        })
      })
      assert.deepEqual(result, [
        [true, 1 + SLICE],
        [false, 1 + SLICE + 7],
      ])
    })

    test('answers that no guard will count are removed while other deployments are in progress', async () => {
      const [kept, deleted] = [await rollingOut(), await rollingOut()]
      const store = storeOf(service)
      await call('DELETE', `/v1/agents/${deleted.agent}`)
      const left = { rollout_id: deleted.candidate.id, request_id: 'req_1' }
      await store.insertInto('rollout_answers').values(left).execute()
      await looked(kept.agent, kept.candidate.id, 'they are removed', async () => {
        const rows = store.selectFrom('rollout_answers').selectAll().where('rollout_id', '=', left.rollout_id)
        return (await rows.execute()).length === 0
      })
    })

    test('the split follows a secret that nobody is shown', async () => {
      const { agent, candidate } = await rollingOut()
      const store = storeOf(service)
      const { split_key } = (await rollouts.find(store, candidate.id)) ?? {}
      assert.match(split_key ?? '', /^[\w-]{22}$/)
      const shown = [candidate, await read(agent, candidate.id), await act(agent, candidate.id, 'pause')]
      assert.ok(!JSON.stringify(shown).includes(split_key as string) && !JSON.stringify(shown).includes('split'))
      await store.updateTable('rollouts').set({ split_key: null }).where('deployment_id', '=', candidate.id).execute()
      const served = await deployments.findServed(store, agent, 'production')
      assert.equal(served?.candidate?.split_key, candidate.id, 'as before there were secrets')
    })

    test("failures that callers caused aren't the version's", async () => {
      const { agent, candidate } = await rollingOut()
      await send(agent, 20, 'candidate')
      await send(agent, 20, 'Hello')
      const store = storeOf(service)
      const agent_seq = await seqOf(agent)
      const asked = await store.selectFrom('invocations').select('id').where('agent_seq', '=', agent_seq).execute()
      const request_ids = asked.map(({ id }) => id)
      const rollout_id = 'another'
      const rows = request_ids.map((request_id) => ({ rollout_id, request_id }))
      await store.insertInto('rollout_answers').values(rows).execute()
      const uncounted = { rollout_id, agent_seq, deployment_ids: [candidate.id], step_at: 0, request_ids }
      const [real] = await sumAnswers(store, uncounted)
      assert.ok(real && real.failures > 0 && real.failures < real.answers)
      const failed = store.updateTable('invocations').where('agent_seq', '=', agent_seq).where('status', '=', 'failed')
      const { numUpdatedRows } = await failed
        .set({ error: JSON.stringify({ code: 'budget_exceeded', message: 'Used up' }) })
        .where('error', 'like', '{"code":"server_error"%')
        .executeTakeFirst()
      assert.equal(Number(numUpdatedRows), real.failures)
      const [without] = await sumAnswers(store, uncounted)
      assert.deepEqual([without?.failures, without?.answers], [0, real.completed])
    })

    test('each sender has one score, however many keys rate its answers', async () => {
      const agent = await newAgent(service, scriptOf('v1', []))
      const { id } = await deploy(agent, 'v1')
      const rate = async (context: object, scores: number[]) => {
        const { body } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Hi', context } })
        for (const [i, score] of scores.entries()) {
          const path = `/v1/agents/${agent}/invocations/${body.data.request_id}/feedback`
          const reply = await service.call('PUT', path, { body: { key: `key ${i}`, score } })
          assert.ok(reply.status < 300, reply.text)
        }
      }
      await rate({}, [-1, -1, -1, -0.5])
      await rate({}, [1])
      await rate({ user_id: 'ann', session_id: 's1' }, [1, -1])
      await rate({ user_id: 'ann', session_id: 's1' }, [1])
      await rate({ user_id: 'ann', session_id: 's2' }, [0])
      const agent_seq = await seqOf(agent)
      const scores = await sumScores(storeOf(service), { agent_seq, deployment_ids: [id], from: 0 })
      const squares = 0.875 ** 2 + 1 + 0.5 ** 2
      assert.deepEqual(scores.get(id), { count: 4, sum: -0.875 + 1 + 0.5, squares })
    })

    test('an outage of both versions is no reason; the last step makes it active', async () => {
      const strategy = {
        ...QUICK,
        steps: [
          { percent: 40, minutes: LONG },
          { percent: 100, minutes: 1 },
        ],
      }
      const { agent, stable, candidate } = await rollingOut(strategy)
      await send(agent, 60, 'both')
      const calm = await looked(agent, candidate.id, 'a look', ({ progress }) => progress.serving?.answers > 20)
      assert.equal(calm.status, 'rolling_out')
      assert.ok(calm.progress.candidate.failures > 10)
      service.advance(LONG * MINUTE)
      await looked(agent, candidate.id, 'the next step', ({ progress }) => progress.step === 2)
      assert.deepEqual(new Set(await send(agent, 6, 'Hello')), new Set(['v2']))
      service.advance(2 * MINUTE)
      const served = await looked(agent, candidate.id, 'the end', ({ status }) => status === 'active')
      assert.deepEqual([served.replaces, served.evidence], [stable.id, null])
      assert.equal((await read(agent, stable.id)).status, 'superseded')
    })

    test('without messages nothing happens, however much time passes', async () => {
      const { agent, candidate } = await rollingOut({ steps: [{ percent: 10, minutes: 1 }] })
      service.advance(30 * 24 * 60 * MINUTE)
      const idle = await looked(agent, candidate.id, 'a look', ({ progress }) => progress.looked_at)
      assert.deepEqual([idle.status, idle.progress.waits_for], ['rolling_out', 'answers'])
    })

    test('promote, pause, resume and abort', async () => {
      const one = await rollingOut()
      const path = `/v1/agents/${one.agent}/deployments`
      service.advance(4 * MINUTE)
      const paused = await act(one.agent, one.candidate.id, 'pause')
      assert.deepEqual([paused.status, paused.progress.waits_for], ['paused', 'person'])
      service.advance(60 * MINUTE)
      const later = await read(one.agent, one.candidate.id)
      assert.ok(Math.abs(later.progress.minutes_left - (LONG - 4)) < 0.5, `${later.progress.minutes_left}`)
      assert.ok((await send(one.agent, 20, 'Hello')).includes('v2'), 'it keeps its share')
      assertRefusal(await service.call('POST', `${path}/${one.candidate.id}/pause`), 409, 'conflict')
      assert.equal((await act(one.agent, one.candidate.id, 'resume')).status, 'rolling_out')
      assertRefusal(await service.call('POST', `${path}/${one.candidate.id}/resume`), 409, 'conflict')
      for (const [id, action] of [
        [one.candidate.id, 'rollback'],
        [one.stable.id, 'rollback'],
        [one.stable.id, 'promote'],
      ]) {
        assertRefusal(await service.call('POST', `${path}/${id}/${action}`), 409, 'conflict')
      }
      const second = { body: { environment: 'production', version: 'v3' } }
      assertRefusal(await service.call('POST', path, second), 409, 'conflict')
      const promoted = await act(one.agent, one.candidate.id, 'promote')
      assert.deepEqual([promoted.status, promoted.progress.waits_for], ['active', null])
      assert.deepEqual(new Set(await send(one.agent, 4, 'Hello')), new Set(['v2']))
      assertRefusal(await service.call('POST', `${path}/${one.candidate.id}/abort`), 409, 'conflict')

      const two = await rollingOut()
      const aborted = await act(two.agent, two.candidate.id, 'abort', { forget: true })
      assert.deepEqual([aborted.status, aborted.evidence, aborted.progress.percent], ['aborted', null, 0])
      assert.deepEqual(new Set(await send(two.agent, 4, 'Hello')), new Set(['v1']))
      const aborted_path = `/v1/agents/${two.agent}/deployments/${two.candidate.id}`
      assertRefusal(await service.call('POST', `${aborted_path}/rollback`), 409, 'conflict')
      assert.equal((await deploy(two.agent, 'v2', { strategy: QUICK })).status, 'rolling_out')
    })

    test('with on_bad: pause it waits for a person, and starts over when it is resumed', async () => {
      const { agent, candidate } = await rollingOut({ ...QUICK, on_bad: 'pause' })
      await send(agent, 80, 'candidate')
      const paused = await looked(agent, candidate.id, 'the pause', ({ status }) => status === 'paused')
      assert.equal(paused.evidence.verdict, 'failures')
      const resumed = await act(agent, candidate.id, 'resume')
      assert.deepEqual([resumed.status, resumed.evidence, resumed.progress.candidate], ['rolling_out', null, null])
      const calm = await looked(agent, candidate.id, 'a look', ({ progress }) => progress.candidate)
      assert.deepEqual([calm.status, calm.progress.candidate.answers], ['rolling_out', 0])
    })

    test('a required replay comes before the first message', async () => {
      const agent = await newAgent(service, scriptOf('v1', []))
      const missing = { environment: 'production', version: 'v1', require_replay: { set: 'none' } }
      const refused = await service.call('POST', `/v1/agents/${agent}/deployments`, { body: missing })
      assert.deepEqual([refused.status, fieldsOf(refused.body)], [400, ['require_replay.set']])
      await deploy(agent, 'v1')
      const cases = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map((message) => ({ message }))
      await call('PUT', `/v1/agents/${agent}/sets/all`, { cases })
      await call('PATCH', `/v1/agents/${agent}`, scriptOf('v2', ['o', 't', 'f', 's']))
      const bad = await deploy(agent, 'v2', { require_replay: { set: 'all' } })
      assert.deepEqual(
        [bad.status, bad.progress.waits_for, bad.progress.percent, bad.strategy],
        ['rolling_out', 'replay', 0, null],
      )
      assertRefusal(await service.call('POST', `/v1/agents/${agent}/deployments/${bad.id}/promote`), 409, 'conflict')
      assert.deepEqual(new Set(await send(agent, 5, 'Hello')), new Set(['v1']))
      const aborted = await looked(agent, bad.id, 'the verdict', ({ status }) => status === 'aborted')
      assert.equal(aborted.evidence.verdict, 'replay')
      assert.match(aborted.evidence.reason, new RegExp(aborted.progress.replay_id))

      await call('PATCH', `/v1/agents/${agent}`, scriptOf('v3', []))
      const good = await deploy(agent, 'v3', { require_replay: { set: 'all', min_pass: 0.9 }, strategy: QUICK })
      const rolling = await looked(agent, good.id, 'the first step', ({ progress }) => progress.step === 1)
      assert.deepEqual([rolling.status, rolling.progress.percent], ['rolling_out', 50])
      await act(agent, good.id, 'abort')
      const alone = await deploy(agent, 'v3', { require_replay: { set: 'all' } })
      await looked(agent, alone.id, 'it is served', ({ status }) => status === 'active')
      assert.deepEqual(await send(agent, 1, 'Hello'), ['v3'])
    })

    test('a replay ends with its deployment, waits for others, and belongs to a person', async () => {
      const agent = await newAgent(service, scriptOf('v1', []))
      await deploy(agent, 'v1')
      await call('PUT', `/v1/agents/${agent}/sets/all`, { cases: [{ message: 'one' }] })
      await call('PATCH', `/v1/agents/${agent}`, scriptOf('v2', []))
      await call('PATCH', `/v1/agents/${agent}`, { status: 'paused' })
      const start = () => call('POST', `/v1/agents/${agent}/replays`, { set: 'all', version: 'v1' }, 201)
      const others = await Promise.all(Array.from({ length: 10 }, start))
      const made = await deploy(agent, 'v2', { require_replay: { set: 'all' } })
      const store = storeOf(service)
      const person = { id: 'psn_ann', person_id: 'psn_ann' }
      await store.updateTable('keys').set({ person_id: person.person_id }).where('id', '=', made.created_by).execute()
      const look = () => judgeRollouts(partsOf(service)).run(new AbortController().signal)
      await look()
      assert.equal((await read(agent, made.id)).progress.replay_id, null, 'it waits')
      await call('POST', `/v1/agents/${agent}/replays/${others[0].id}/cancel`)
      await look()
      const { replay_id } = (await read(agent, made.id)).progress
      const row = await store.selectFrom('replays').selectAll().where('id', '=', replay_id).executeTakeFirstOrThrow()
      await store.updateTable('keys').set({ person_id: null }).where('id', '=', made.created_by).execute()
      assert.deepEqual([row.status, row.person_id], ['running', person.person_id])
      await act(agent, made.id, 'abort')
      assert.equal((await call('GET', `/v1/agents/${agent}/replays/${replay_id}`)).status, 'cancelled')
      await start()
      const next = await deploy(agent, 'v2', { require_replay: { set: 'all' } })
      await call('DELETE', `/v1/agents/${agent}/sets/all`, undefined, 200)
      await look()
      const ended = await read(agent, next.id)
      assert.deepEqual([ended.status, ended.evidence?.verdict], ['aborted', 'replay'])
    })

    test('agents cannot come to call each other in a loop through a candidate', async () => {
      const caller = (name: string) => ({ tools: [{ type: 'agent', name: 'ask', description: 'Asks', agent: name }] })
      const [one, two] = [await newAgent(service, scriptOf('v1', [])), await newAgent(service, scriptOf('v1', []))]
      await deploy(one, 'v1')
      await call('PATCH', `/v1/agents/${one}`, caller(two))
      const candidate = await deploy(one, 'v2', { strategy: QUICK })
      await call('PATCH', `/v1/agents/${one}`, { tools: [] })
      const refused = await service.call('PATCH', `/v1/agents/${two}`, { body: caller(one) })
      assert.deepEqual([refused.status, fieldsOf(refused.body)], [400, ['tools.0.agent']])
      // As if both had been changed at the same moment.
      const calls = JSON.stringify([[one, 'production']])
      await storeOf(service).updateTable('agents').set({ calls }).where('id', '=', two).execute()
      const promoted = await service.call('POST', `/v1/agents/${one}/deployments/${candidate.id}/promote`)
      assert.deepEqual([promoted.status, fieldsOf(promoted.body)], [400, ['tools.0.agent']])
      assert.equal((await read(one, candidate.id)).status, 'rolling_out')
      await send(one, 30, 'Hello')
      service.advance(LONG * MINUTE)
      const aborted = await looked(one, candidate.id, 'the rollback', ({ status }) => status === 'aborted')
      const { verdict, reason, candidate: sums, examples } = aborted.evidence
      assert.deepEqual([verdict, sums, examples], ['tools', null, []])
      assert.match(reason, /tools\.0\.agent/)
      assert.deepEqual(new Set(await send(one, 6, 'Hello again')), new Set(['v1']))
    })

    test('each measure leads to its own verdict', async () => {
      const agent = await newAgent(service, scriptOf('v1', []))
      await deploy(agent, 'v1')
      const rules = [{ reply: 'v2 '.repeat(200), delay_ms: 1_500 }]
      await call('PATCH', `/v1/agents/${agent}`, { ...scriptOf('v2', []), script: { rules } })
      const { id } = await deploy(agent, 'v2', { strategy: { ...QUICK, on_bad: 'pause' } })
      const rate = async (user_id: string) => {
        const body = { message: 'Hello', context: { user_id } }
        const { request_id, response } = (await service.call('POST', `/v1/agents/${agent}/invoke`, { body })).body.data
        const path = `/v1/agents/${agent}/invocations/${request_id}/feedback`
        await service.call('PUT', path, { body: { score: response === 'v1' ? 1 : -1 } })
        return response
      }
      const answers = await Promise.all(Array.from({ length: 70 }, (_, i) => rate(`user ${i}`)))
      assert.equal(new Set(answers).size, 2)
      await counted(agent, id)
      assert.equal((await read(agent, id)).evidence, null, 'nothing of it is compared')
      const store = storeOf(service)
      const { guard } = (await rollouts.find(store, id)) ?? {}
      for (const [verdict, limit] of Object.entries({
        latency: { max_latency_ratio: 1.1 },
        tokens: { max_tokens_ratio: 1.5 },
        cost: { max_cost_ratio: 1.5 },
        feedback: { min_feedback: 0 },
      })) {
        const asked = { guard: JSON.stringify({ ...guard, ...limit }), evidence: null }
        await store.updateTable('deployments').set({ status: 'rolling_out' }).where('id', '=', id).execute()
        await store.updateTable('rollouts').set(asked).where('deployment_id', '=', id).execute()
        // A deployment and its evidence are read one after the other, so the guard may pause it in between.
        const { evidence } = await looked(agent, id, verdict, (record) => record.evidence && record.status === 'paused')
        assert.equal(evidence.verdict, verdict)
        assert.equal(evidence.examples.length, verdict === 'feedback' ? 0 : 5)
      }
    })

    test('a damaged gradual deployment stops no other guard, and hides no other deployment', async () => {
      const [damaged, other] = [await rollingOut(), await rollingOut()]
      const store = storeOf(service)
      const damage = (steps: string, id: string) =>
        store.updateTable('rollouts').set({ steps }).where('deployment_id', '=', id).execute()
      const { steps } = await store
        .selectFrom('rollouts')
        .select('steps')
        .where('deployment_id', '=', damaged.candidate.id)
        .executeTakeFirstOrThrow()
      await damage('{', damaged.candidate.id)
      await send(other.agent, 80, 'candidate')
      await looked(other.agent, other.candidate.id, 'the rollback', ({ status }) => status === 'aborted')
      const listed = await call('GET', `/v1/agents/${damaged.agent}/deployments`)
      assert.deepEqual(
        listed.map(({ id }: { id: string }) => id).toSorted(),
        [damaged.stable.id, damaged.candidate.id].toSorted(),
      )
      await damage(steps, damaged.candidate.id)
      await act(damaged.agent, damaged.candidate.id, 'abort')
    })

    test('what cannot be compared is refused', async () => {
      const agent = await newAgent(service)
      const path = `/v1/agents/${agent}/deployments`
      const body = { environment: 'production', version: 'v1', strategy: QUICK }
      assertRefusal(await service.call('POST', path, { body }), 409, 'conflict')
      await deploy(agent, 'v1')
      assertRefusal(await service.call('POST', path, { body }), 409, 'conflict')
      const steps = [
        { percent: 50, minutes: 1 },
        { percent: 50, minutes: 1 },
      ]
      const same = await service.call('POST', path, { body: { ...body, version: 'v2', strategy: { steps } } })
      assert.deepEqual([same.status, fieldsOf(same.body)], [400, ['strategy.steps']])
      const remote = await newRemoteAgent(service, 'https://agent.example')
      await call('PUT', `/v1/agents/${remote}/sets/all`, { cases: [{ message: 'one' }] })
      await deploy(remote, 'v1')
      await call('PATCH', `/v1/agents/${remote}`, { kind: 'model', remote: null, ...scriptOf('v2', []) })
      const replayed = { environment: 'production', version: 'v2', require_replay: { set: 'all' } }
      const reply = await service.call('POST', `/v1/agents/${remote}/deployments`, { body: replayed })
      assert.deepEqual([reply.status, fieldsOf(reply.body)], [400, ['require_replay']])
      const left = await storeOf(service)
        .selectFrom('rollouts')
        .select('deployment_id')
        .where('agent_id', '=', agent)
        .execute()
      assert.deepEqual(left, [])
    })
  })
}
