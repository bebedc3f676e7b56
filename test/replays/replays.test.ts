import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TABLES, type TableName } from '../../src/storage/tables.ts'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { rowsOf, storeOf } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { startPatientModel } from '../support/outside/patient-model.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Reply, type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'

const ANN = { user_id: 'ann', session_id: 'monday' }
const MODEL = 'local/tiny'
/** 10 and 5 tokens make 60 millionths of a dollar. */
const PRICES = [MODEL, 'slow/tiny'].map((model) => ({ model, input: 1, output: 10 }))
const SETTINGS = { MOORAGE_PRICES: JSON.stringify(PRICES), ...LOCAL_TOOLS }

const TIDES = { rules: [{ match: { contains: 'tide' }, reply: 'The tide is in.' }], fallback: 'No.' }

/** What a replay may change: its own rows, what models cost, and the request's own traces. Nodes report on themselves. */
const OWN = new Set<TableName>([
  'replays',
  'cases',
  'ledger',
  'usage_sums',
  'audit_log',
  'audit_chain',
  'claims',
  'jobs',
  'nodes',
])

for (const engine of STORY_ENGINES) {
  describe(`sets and replays on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let tool: LocalServer
    let stop: () => Promise<void>
    let toolCalls = 0
    before(async () => {
      tool = await startLocalServer((_request, response) => {
        toolCalls++
        response.end('4 knots')
      })
      ;({ service, model, stop } = await startWithModel(engine, SETTINGS))
    })
    after(async () => {
      await stop()
      await tool.close()
    })
    beforeEach(() => model.reset())

    const ask = async (method: string, path: string, body?: object, status = method === 'POST' ? 201 : 200) => {
      const reply = await service.call(method, path, body && { body })
      assert.equal(reply.status, status, reply.text)
      return reply.body.data
    }
    const invoke = async (agent: string, message: string, context: object = ANN): Promise<string> =>
      (await ask('POST', `/v1/agents/${agent}/invoke`, { message, context }, 200)).request_id
    const putSet = (agent: string, name: string, body: object) => ask('PUT', `/v1/agents/${agent}/sets/${name}`, body)
    const replayed = async (agent: string, body: object) => {
      const { id } = await ask('POST', `/v1/agents/${agent}/replays`, body)
      return ended(agent, id)
    }
    const ended = (agent: string, id: string) =>
      until('the replay ends', async () => {
        const replay = await ask('GET', `/v1/agents/${agent}/replays/${id}`)
        return replay.status !== 'running' && replay
      })
    const casesOf = (agent: string, id: string, query = '') =>
      ask('GET', `/v1/agents/${agent}/replays/${id}/cases?limit=100${query}`)
    const withTool = (fields: object = {}) =>
      newAgent(service, {
        model: 'builtin/script',
        tools: [{ type: 'http', name: 'wind', url: `${tool.url}/{place}`, approval: 'never' }],
        script: {
          rules: [
            {
              match: { contains: 'Dover' },
              call: { tool: 'wind', arguments: { place: 'dover' } },
              reply: 'It is {{result}}.',
            },
          ],
          fallback: 'Where?',
        },
        ...fields,
      })

    test('a set has cases that were written or copied, and another digest when they change', async () => {
      const agent = await newAgent(service, { model: 'builtin/script', script: TIDES })
      const path = `/v1/agents/${agent}/sets`
      const checks = [{ type: 'contains', value: 'tide' }]
      const first = await putSet(agent, 'tides', {
        description: 'Ours',
        cases: [{ message: 'Is the tide in?', checks }],
      })
      const { digest, created_at, updated_at, created_by, ...rest } = first
      assert.equal(created_at, updated_at)
      assert.match(created_by, /^key_/)
      assert.deepEqual(rest, {
        name: 'tides',
        agent_id: agent,
        description: 'Ours',
        case_count: 1,
        created_by_name: 'first admin key',
      })
      const again = { cases: [{ message: 'Is the tide in?', context: {}, checks, history: [] }] }
      assert.equal((await putSet(agent, 'tides', again)).digest, digest, 'the same cases')
      const later = await putSet(agent, 'tides', { cases: [{ message: 'Is the tide out?', checks }] })
      assert.notEqual(later.digest, digest)

      const runs = [await invoke(agent, 'Is the tide in?'), await invoke(agent, 'Is the wind up?')]
      await putSet(agent, 'monday', { from: { request_ids: [runs[0]] } })
      const copied = await putSet(agent, 'all', { from: { filter: { session_id: 'monday' }, last: 5 } })
      assert.equal(copied.case_count, 2)
      const shown = await ask('GET', `${path}/all`)
      assert.deepEqual(shown.cases[0], {
        name: null,
        request_id: runs[1],
        erased: false,
        message: 'Is the wind up?',
        context: ANN,
        history: [
          { role: 'user', content: 'Is the tide in?' },
          { role: 'assistant', content: 'The tide is in.' },
        ],
        attachments: [],
        checks: [],
      })
      assert.equal(shown.cases[1].request_id, runs[0])
      const names = (await ask('GET', `${path}?sort=name`)).map(({ name }: { name: string }) => name)
      assert.deepEqual(names, ['all', 'monday', 'tides'])
      await ask('DELETE', `${path}/monday`)
      assertRefusal(await service.call('GET', `${path}/monday`), 404, 'not_found')

      const refuse = async (body: object, ...fields: string[]) => {
        const reply = await service.call('PUT', `${path}/wrong`, { body })
        assert.equal(reply.status, 400, reply.text)
        assert.deepEqual(fieldsOf(reply.body), fields)
      }
      await refuse({ cases: [{ message: 'x', checks: [{ type: 'matches', value: '(' }] }] }, 'cases.0.checks.0.value')
      const checked = (...values: object[]) => ({ checks: values.map((value) => ({ type: 'schema', value })) })
      const asked = [
        { message: 'x', ...checked({ type: 'object' }) },
        { message: 'y', ...checked({}, { type: 'no' }) },
      ]
      await refuse({ cases: asked }, 'cases.1.checks.1.value.type')
      const nowhere = { properties: { tide: { $ref: '#/$defs/none' } } }
      await refuse({ cases: [{ message: 'x', ...checked(nowhere) }] }, 'cases.0.checks.0.value.properties.tide.$ref')
      await refuse({ cases: [{ message: 'x' }], from: { request_ids: runs } }, '(body)')
      await refuse({ from: { filter: { session_id: 'never' }, last: 3 } }, 'from')
      await refuse({ cases: [] }, 'cases')
      const unknown = { from: { request_ids: ['req_00000000000000000000000000'] } }
      assertRefusal(await service.call('PUT', `${path}/wrong`, { body: unknown }), 404, 'not_found')
    })

    test('a candidate that answers worse is a regression; the same set again has an identical report', async () => {
      const agent = await newAgent(service, { model: 'builtin/script', script: TIDES })
      const deploy = { environment: 'production', version: 'v1' }
      await ask('POST', `/v1/agents/${agent}/deployments`, deploy)
      const cases = Array.from({ length: 6 }, (_, i) => ({ message: `Is the tide in at pier ${i}?` }))
      const { digest } = await putSet(agent, 'tides', { cases })
      const checks = [
        { type: 'contains', value: 'tide' },
        { type: 'not_contains', value: 'sorry' },
        { type: 'matches', value: '^The tide is (in|out)\\.$' },
        { type: 'max_tokens', value: 50 },
        { type: 'max_cost_usd', value: 0.01 },
        { type: 'max_ms', value: 60_000 },
        { type: 'same_tools', value: [] },
      ]
      const asked = { working_copy: true, set: 'tides', checks }
      const same = await replayed(agent, asked)
      assert.equal(same.verdict, 'passed')
      assert.deepEqual(same.set, { name: 'tides', digest })
      assert.deepEqual([same.baseline, same.baseline_version, same.version], ['deployed', 'v1', null])
      assert.equal(same.report.columns.recorded, null)
      const { passed, failed, unknown, pass_rate } = same.report.columns.candidate
      assert.deepEqual([passed, failed, unknown, pass_rate.value], [6, 0, 0, 1])

      await ask('PATCH', `/v1/agents/${agent}`, { script: { rules: [], fallback: 'So sorry.' } })
      const worse = await replayed(agent, asked)
      const { comparison, worst, reason } = worse.report
      assert.equal(worse.verdict, 'regression', reason)
      assert.deepEqual([comparison.pairs, comparison.regressed, comparison.improved], [6, 6, 0])
      assert.equal(comparison.p_value, 0.03125)
      assert.equal(comparison.pass_rate.value, -1)
      assert.ok(
        worst.some(
          ({ slice, regressed }: { slice: string; regressed: number }) => slice === 'check contains' && regressed === 6,
        ),
      )
      const again = await replayed(agent, asked)
      assert.deepEqual(again.report, worse.report)
      assert.deepEqual([again.verdict, again.digest], [worse.verdict, worse.digest])

      const [first] = await casesOf(agent, worse.id, '&outcome=regressed')
      assert.equal(first.recorded, null)
      assert.equal(first.baseline.response, 'The tide is in.')
      assert.equal(first.candidate.response, 'So sorry.')
      const failing = first.candidate.checks.filter((check: { passed: boolean }) => !check.passed)
      assert.deepEqual(
        failing.map(({ type }: { type: string }) => type),
        ['contains', 'not_contains', 'matches'],
      )
      // The other way round it is an improvement.
      const better = await replayed(agent, { ...asked, version: 'v1', working_copy: undefined, baseline: 'recorded' })
      assert.equal(better.verdict, 'passed')
      assert.equal(better.report.comparison, null, 'nobody ever answered these messages')
      const found = await service.call('GET', `/v1/agents/${agent}/replays?set=tides&version=v1`)
      assert.deepEqual(
        found.body.data.map(({ id }: { id: string }) => id),
        [better.id],
      )
    })

    test('tools answer from the record: nothing outside is called, and no row changes but the replay and its costs', async () => {
      const agent = await withTool()
      await invoke(agent, 'How is Dover?')
      await invoke(agent, 'Anything?')
      const untouched = await stateOf(service)
      const called = toolCalls
      const replay = await replayed(agent, { working_copy: true, filter: { user_id: 'ann' } })
      assert.equal(replay.verdict, 'passed')
      const [other, dover] = await casesOf(agent, replay.id)
      assert.equal(other.candidate.response, 'Where?')
      assert.equal(dover.candidate.response, 'It is 4 knots.')
      assert.deepEqual(dover.candidate.tools, [{ name: 'wind', arguments: { place: 'dover' } }])
      assert.deepEqual(dover.recorded.tools, dover.candidate.tools)
      assert.equal(toolCalls, called, 'the tool was not called')
      assert.deepEqual(await stateOf(service), untouched)

      // The draft now asks about another place, which nobody has asked about before.
      const call = { tool: 'wind', arguments: { place: 'calais' } }
      await ask('PATCH', `/v1/agents/${agent}`, {
        script: { rules: [{ match: { contains: 'Dover' }, call }], fallback: 'Where?' },
      })
      const missed = await replayed(agent, { working_copy: true, filter: { user_id: 'ann' } })
      assert.equal(toolCalls, called)
      assert.deepEqual(missed.report.unrecorded_calls, [{ name: 'wind', cases: 1 }])
      assert.equal(missed.verdict, 'inconclusive')
      const [, asked] = await casesOf(agent, missed.id)
      assert.deepEqual(asked.candidate.unrecorded_calls, [{ name: 'wind', arguments: { place: 'calais' } }])
      assert.deepEqual([asked.outcome, asked.candidate.passed], ['unknown', null])
    })

    test('a model judges, and each call is on the ledger', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await putSet(agent, 'manners', { cases: [{ message: 'Hello' }, { message: 'Go away' }] })
      model.replyBy(({ messages }) => {
        const said = messages.at(-1)?.content ?? ''
        if (!said.includes('criterion')) return { text: [`You said ${said}`] }
        return { text: [JSON.stringify({ reason: 'As asked', passed: said.includes('Hello') })] }
      })
      const checks = [{ type: 'judge', value: 'Is it polite?' }]
      const replay = await replayed(agent, { working_copy: true, set: 'manners', checks })
      model.replyBy(({ messages }) => ({ text: [messages.at(-1)?.content ?? ''] }))
      const [polite, rude] = await casesOf(agent, replay.id)
      assert.deepEqual(polite.candidate.checks, [{ type: 'judge', passed: true, note: 'As asked' }])
      assert.deepEqual([polite.outcome, rude.outcome], ['passed', 'failed'])
      assert.equal(replay.verdict, 'inconclusive')
      assert.deepEqual(replay.spent, { cost_usd: 0.00024, tokens: 60 })
      const usage = await ask('GET', `/v1/usage?group_by=agent&purpose=replay&agent_id=${agent}`)
      assert.deepEqual([usage.totals.calls, usage.totals.cost_usd], [4, 0.00024])
    })

    test('the cost limit holds however many calls are made at once', async () => {
      const agent = await newAgent(service, { model: MODEL, limits: { max_output_tokens: 5 } })
      await putSet(agent, 'many', { cases: Array.from({ length: 12 }, (_, i) => ({ message: `Hi ${i}` })) })
      const limits = { cost_usd: 0.0003 }
      const replay = await replayed(agent, { working_copy: true, set: 'many', limits })
      assert.equal(replay.reached_limit, 'cost_usd')
      assert.ok(replay.spent.cost_usd <= limits.cost_usd, `spent ${replay.spent.cost_usd}`)
      assert.equal(replay.verdict, 'inconclusive')
      assert.equal(model.requests.length, Math.round(replay.spent.cost_usd / 0.00006))
      assert.ok(model.requests.length > 0 && model.requests.length < 12)
      const { passed, failed, unknown } = replay.report.columns.candidate
      assert.deepEqual([passed, failed, unknown], [model.requests.length, 0, 12 - model.requests.length])
      // Calls that are in progress at the same time share what is left.
      const slow = await startPatientModel(() => delay(400))
      await ask('PUT', '/v1/providers/slow', { type: 'openai', base_url: slow.url }, 200)
      await ask('PATCH', `/v1/agents/${agent}`, { model: 'slow/tiny' })
      const tight = await replayed(agent, { working_copy: true, set: 'many', limits: { cost_usd: 0.0002 } })
      await slow.close()
      assert.equal(slow.prompts.length, Math.round(tight.spent.cost_usd / 0.00006))
      assert.ok(slow.prompts.length > 0 && tight.spent.cost_usd <= 0.0002, `spent ${tight.spent.cost_usd}`)
      const few = await replayed(agent, { working_copy: true, set: 'many', limits: { tokens: 16 } })
      assert.ok(few.reached_limit === 'tokens' && few.spent.tokens <= 16, JSON.stringify(few.spent))
      const unpriced = await newAgent(service, { model: 'local/other' })
      await putSet(unpriced, 'many', { cases: [{ message: 'Hi' }] })
      const free = await replayed(unpriced, { working_copy: true, set: 'many', limits })
      assert.equal((await casesOf(unpriced, free.id))[0].candidate.status, 'not_run')
    })

    test('it waits for a pause and for budgets, and can be cancelled', async () => {
      const agent = await newAgent(service, { model: MODEL })
      await putSet(agent, 'three', { cases: [{ message: 'One' }, { message: 'Two' }, { message: 'Three' }] })
      await ask('PATCH', `/v1/agents/${agent}`, { status: 'paused' })
      const paused = await ask('POST', `/v1/agents/${agent}/replays`, { working_copy: true, set: 'three' })
      const other = await newAgent(service, { model: MODEL })
      await putSet(other, 'one', { cases: [{ message: 'One' }] })
      assert.equal((await replayed(other, { working_copy: true, set: 'one' })).finished_cases, 1)
      assert.equal(model.requests.length, 1, 'only the other agent was asked')
      await ask('PATCH', `/v1/agents/${agent}`, { status: 'running' })
      assert.equal((await ended(agent, paused.id)).finished_cases, 3)

      const scope = { type: 'agent', id: agent }
      const budget = { name: 'none', per: 'ever', scope, limit: { tokens: 1 } }
      const { id: budget_id } = await ask('POST', '/v1/budgets', budget)
      const { id } = await ask('POST', `/v1/agents/${agent}/replays`, { working_copy: true, set: 'three' })
      const waiting = await until('it waits for the budget', async () => {
        const replay = await ask('GET', `/v1/agents/${agent}/replays/${id}`)
        return replay.waits_for && replay
      })
      assert.equal(waiting.finished_cases, 0)
      // A case that has waited for hours isn't given up.
      const cases = storeOf(service).updateTable('cases').where('kept_by', '=', id)
      await cases.set({ tries: 10, due_at: 0, owner: null }).execute()
      await ask('PATCH', `/v1/budgets/${budget_id}`, { name: 'nothing' })
      await until('it has looked again', async () => {
        const rows = (await rowsOf(service, 'cases')).filter(({ kept_by }) => kept_by === id)
        return rows.every(({ due_at, owner }) => due_at === null || (due_at > 0 && owner === null))
      })
      const still = await ask('GET', `/v1/agents/${agent}/replays/${id}`)
      assert.deepEqual([still.status, still.finished_cases], ['running', 0])
      const cancelled = await ask('POST', `/v1/agents/${agent}/replays/${id}/cancel`, undefined, 200)
      assert.deepEqual([cancelled.status, cancelled.verdict, cancelled.waits_for], ['cancelled', null, null])
      await ask('POST', `/v1/agents/${agent}/replays/${id}/cancel`, undefined, 200)
      assertRefusal(await service.call('POST', `/v1/agents/${agent}/replays/${paused.id}/cancel`), 409, 'conflict')
      await ask('DELETE', `/v1/budgets/${budget_id}`)
      const rows = await rowsOf(service, 'cases')
      assert.ok(rows.every((row) => row.kept_by !== id || (row.due_at === null && row.owner === null)))
    })

    test('erased words are reported as erased, in sets and in replays', async () => {
      const agent = await newAgent(service, { model: 'builtin/script', script: TIDES })
      const ben = { user_id: 'ben', session_id: 'x' }
      const [kept, erased] = [await invoke(agent, 'Is the tide in?', ben), await invoke(agent, 'My secret tide', ANN)]
      await putSet(agent, 'both', { from: { request_ids: [kept, erased] } })
      const { id } = await replayed(agent, { working_copy: true, set: 'both' })
      await ask('DELETE', '/v1/users/ann')
      const rows = JSON.stringify((await rowsOf(service, 'cases')).filter(({ request_id }) => request_id === erased))
      assert.ok(!rows.includes('secret') && !rows.includes('ann'), rows)
      const shown = (await ask('GET', `/v1/agents/${agent}/sets/both`)).cases
      assert.deepEqual(
        shown.map((one: { erased: boolean; message: string }) => [one.erased, one.message]),
        [
          [false, 'Is the tide in?'],
          [true, ''],
        ],
      )
      const [, gone] = await casesOf(agent, id)
      assert.deepEqual([gone.erased, gone.message, gone.recorded, gone.candidate], [true, '', null, null])
      const again = await replayed(agent, { working_copy: true, set: 'both' })
      assert.equal(again.case_count, 2)
      assert.deepEqual([again.report.columns.candidate.passed, again.report.erased_cases], [1, 1])
      assert.equal(again.verdict, 'passed')
      const [, still] = await casesOf(agent, again.id)
      assert.deepEqual([still.erased, still.outcome], [true, 'unknown'])
      await ask('DELETE', `/v1/agents/${agent}/invocations/${kept}`)
      assert.ok(
        (await ask('GET', `/v1/agents/${agent}/sets/both`)).cases.every((one: { erased: boolean }) => one.erased),
      )
    })

    test('an answer that failed after a call that was not made has no result', async () => {
      const agent = await withTool()
      await invoke(agent, 'How is Dover?')
      const call = { tool: 'wind', arguments: { place: 'calais' } }
      await ask('PATCH', `/v1/agents/${agent}`, {
        script: { rules: [{ match: { contains: 'Dover' }, call, reply: '{{result}}' }], fallback: 'Where?' },
        output: { schema: { type: 'object' }, retries: 0 },
      })
      const { id } = await replayed(agent, { working_copy: true, filter: {} })
      const [one] = await casesOf(agent, id)
      assert.equal(one.candidate.status, 'failed')
      assert.deepEqual([one.outcome, one.candidate.passed], ['unknown', null], JSON.stringify(one))
    })

    test('an erased user is also gone from the filters of replays', async () => {
      const agent = await newAgent(service, { model: 'builtin/script', script: TIDES })
      await invoke(agent, 'Is the tide in?', { user_id: 'carla' })
      const { id } = await replayed(agent, { working_copy: true, filter: { user_id: 'carla', status: 'completed' } })
      await ask('DELETE', '/v1/users/carla')
      const { filter } = await ask('GET', `/v1/agents/${agent}/replays/${id}`)
      assert.deepEqual(filter, { status: 'completed' })
    })

    test('refusals say what is wrong', async () => {
      const agent = await newAgent(service)
      await putSet(agent, 'one', { cases: [{ message: 'One' }] })
      const refuse = async (body: object, ...fields: string[]): Promise<Reply> => {
        const reply = await service.call('POST', `/v1/agents/${agent}/replays`, { body })
        assert.equal(reply.status, 400, reply.text)
        assert.deepEqual(fieldsOf(reply.body), fields)
        return reply
      }
      await refuse({ set: 'one' }, '(body)')
      await refuse({ working_copy: true }, '(body)')
      await refuse({ working_copy: true, version: 'v1', set: 'one' }, '(body)')
      await refuse({ working_copy: true, set: 'one', last: 3 }, 'last')
      await refuse({ working_copy: true, set: 'none' }, 'set')
      const checks = [{ type: 'schema', value: { pattern: '(' } }]
      await refuse({ working_copy: true, set: 'one', checks }, 'checks.0.value.pattern')
      const schemas = Array.from({ length: 1_001 }, (_, i) => ({ type: 'schema', value: { const: i } }))
      const cases = Array.from({ length: 501 }, (_, i) => ({ message: 'Hi', checks: schemas.slice(2 * i, 2 * i + 2) }))
      const many = await service.call('PUT', `/v1/agents/${agent}/sets/many`, { body: { cases } })
      assert.deepEqual([many.status, fieldsOf(many.body)], [400, ['cases.500.checks.0.value']])
      await refuse({ working_copy: true, filter: { user_id: 'nobody' } }, 'filter')
      await refuse({ working_copy: true, set: 'one', limits: { cost_usd: 0 } }, 'limits.cost_usd')
      const unknown = await service.call('POST', `/v1/agents/${agent}/replays`, { body: { version: 'v9', set: 'one' } })
      assertRefusal(unknown, 404, 'not_found')
      const body = { kind: 'remote', remote: { a2a: `${tool.url}/card` } }
      const remote = await newAgent(service, body)
      await putSet(remote, 'one', { cases: [{ message: 'One' }] })
      const reply = await service.call('POST', `/v1/agents/${remote}/replays`, {
        body: { working_copy: true, set: 'one' },
      })
      assert.deepEqual([reply.status, fieldsOf(reply.body)], [400, ['working_copy']])
      const others = await service.call('GET', `/v1/agents/${remote}/replays/rpl_00000000000000000000000000`)
      assertRefusal(others, 404, 'not_found')
    })
  })
}

/** All rows of all other tables. */
async function stateOf(service: Service): Promise<Record<string, unknown>> {
  const state: Record<string, unknown> = {}
  for (const name of Object.keys(TABLES) as TableName[]) {
    const only = TABLES[name].facts.only
    if (OWN.has(name) || (only && only !== service.engine)) continue
    state[name] = await rowsOf(service, name)
  }
  return state
}
