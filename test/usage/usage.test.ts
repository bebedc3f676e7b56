import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { TimeZone } from '../../src/usage/periods.ts'
import { costOf } from '../../src/usage/prices/rates.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { storeOf } from '../support/inside.ts'
import type { ModelServer } from '../support/outside/model-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { inProject, type Service, STORY_ENGINES } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import { createKey } from '../support/slices/resources.ts'

const PRICES = JSON.stringify([
  { model: 'local/priced', input: 3, cached_input: 0.3, output: 15, reasoning: 60, request: 0.01 },
  { model: 'local/cheap', input: 0.0375, output: 0.15 },
])

type ReportedUsage = Record<string, unknown>

/** A stream of one answer that reports its usage in these chunks. */
const stream = (...chunks: object[]) =>
  [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
const said = (content: string, more: object = {}) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
})
const ended = (more: object = {}) => ({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...more })

for (const engine of STORY_ENGINES) {
  describe(`GET /v1/usage on ${engine}`, () => {
    let service: Service
    let model: ModelServer
    let stop: () => Promise<void>
    before(async () => {
      ;({ service, model, stop } = await startWithModel(engine, { MOORAGE_PRICES: PRICES }))
    })
    after(() => stop())
    beforeEach(() => model.reset())

    const ask = async (agent: string, context = {}) => {
      const body = { message: 'How is the sea?', context }
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
      const request_id: string = reply.body.request_id ?? reply.body.data.request_id
      return (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    }
    const usageOf = async (query: string) => (await service.call('GET', `/v1/usage?${query}`)).body.data

    const cases: [string, string, ReportedUsage][] = [
      [
        'in the last chunk, without choices',
        stream(said('Calm.'), ended(), { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } }),
        { input_tokens: 100, output_tokens: 10, cost_usd: 0.01 + 0.0003 + 0.00015 },
      ],
      [
        'in the last chunk, with choices',
        stream(said('Calm.'), ended({ usage: { prompt_tokens: 100, completion_tokens: 10 } })),
        { input_tokens: 100, output_tokens: 10, cost_usd: 0.01045 },
      ],
      [
        'several times in one stream: the last report counts, not their sum',
        stream(
          said('Calm.', { usage: { prompt_tokens: 100, completion_tokens: 1 } }),
          said(' Very.', { usage: { prompt_tokens: 100, completion_tokens: 6 } }),
          ended({ usage: { prompt_tokens: 100, completion_tokens: 10 } }),
        ),
        { input_tokens: 100, output_tokens: 10, cost_usd: 0.01045 },
      ],
      [
        'with cached tokens, which have a price of their own',
        stream(
          said('Calm.'),
          ended({ usage: { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } } }),
        ),
        { input_tokens: 100, cached_tokens: 60, output_tokens: 10, cost_usd: 0.01 + 0.00012 + 0.000018 + 0.00015 },
      ],
      [
        'in fractions, which become whole tokens',
        stream(
          said('Calm.'),
          ended({
            usage: {
              prompt_tokens: 100.2,
              prompt_tokens_details: { cached_tokens: 59.7 },
              completion_tokens: 9.6,
              completion_tokens_details: { reasoning_tokens: 4.3 },
            },
          }),
        ),
        {
          input_tokens: 100,
          cached_tokens: 60,
          output_tokens: 10,
          reasoning_tokens: 4,
          cost_usd: 0.01 + 0.00012 + 0.000018 + 0.00009 + 0.00024,
        },
      ],
      [
        'of an answer that was only thought',
        stream(
          { choices: [{ index: 0, delta: { reasoning_content: 'Hm.' }, finish_reason: null }] },
          ended({
            usage: { prompt_tokens: 100, completion_tokens: 8, completion_tokens_details: { reasoning_tokens: 8 } },
          }),
        ),
        { input_tokens: 100, output_tokens: 8, reasoning_tokens: 8, cost_usd: 0.01 + 0.0003 + 0.00048 },
      ],
    ]
    for (const [name, raw, wanted] of cases) {
      test(`counts usage that is reported ${name}`, async () => {
        const agent = await newAgent(service, { model: 'local/priced' })
        model.reply({ raw })
        const receipt = await ask(agent)
        const { totals, rows } = await usageOf(`group_by=model&agent_id=${agent}`)
        const {
          input_tokens,
          output_tokens,
          cached_tokens = 0,
          reasoning_tokens = 0,
          cost_usd,
        } = wanted as Record<string, number>
        const tokens = { input_tokens, cached_tokens, cache_write_tokens: 0, output_tokens, reasoning_tokens }
        const total_tokens = Number(input_tokens) + Number(output_tokens)
        const exact = Number(Number(cost_usd).toFixed(9))
        const sums = {
          calls: 1,
          ...tokens,
          total_tokens,
          cost_usd: exact,
          priced_cost_usd: exact,
          unpriced_calls: 0,
          lost_calls: 0,
        }
        assert.deepEqual(totals, sums)
        assert.deepEqual(rows, [{ model: 'local/priced', ...sums }])
        assert.equal(receipt.cost_usd, exact)
        assert.equal(receipt.usage.total_tokens, total_tokens)
        assert.deepEqual(
          receipt.steps.map((step: { cost_usd: number }) => step.cost_usd),
          [exact],
        )
      })
    }

    test('the cost is null for a model without a price, and the cost of the others is reported', async () => {
      const agent = await newAgent(service, { model: ['local/unknown', 'local/priced'] })
      model.reply({ status: 503 }, { status: 503 }, { status: 503 }, { status: 503 })
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 100, completion_tokens: 10 } })
      const receipt = await ask(agent)
      assert.equal(receipt.cost_usd, null)
      const { totals, rows } = await usageOf(`group_by=model&agent_id=${agent}`)
      assert.deepEqual(
        [totals.calls, totals.cost_usd, totals.priced_cost_usd, totals.unpriced_calls],
        [5, null, 0.01045, 4],
      )
      assert.deepEqual(
        rows.map(({ model: name, calls, cost_usd }: ReportedUsage) => [name, calls, cost_usd]),
        [
          ['local/priced', 1, 0.01045],
          ['local/unknown', 4, null],
        ],
      )
    })

    test('groups without a value come last, in sums and in single records', async () => {
      const agent = await newAgent(service, { model: 'local/cheap' })
      await ask(agent)
      const deployment = { environment: 'production', version: 'v1' }
      const deployed = await service.call('POST', `/v1/agents/${agent}/deployments`, { body: deployment })
      assert.equal(deployed.status, 201, deployed.text)
      await ask(agent, { user_id: 'ada' })
      for (const name of ['version', 'user']) {
        const { rows } = await usageOf(`group_by=${name}&agent_id=${agent}`)
        const values = rows.map((row: ReportedUsage) => row['version'] ?? row['user_id'] ?? null)
        assert.deepEqual(values, [name === 'user' ? 'ada' : 'v1', null], name)
      }
    })

    test('groups by everything that is known about a call, and by time', async () => {
      const agent = await newAgent(service, { model: 'local/cheap' })
      for (const user_id of ['ada', 'ada', 'bo']) {
        model.reply({ text: ['Calm.'], usage: { prompt_tokens: 1, completion_tokens: 1 } })
        await ask(agent, { user_id })
      }
      const by = 'project,agent,version,environment,key,person,user,door,model,purpose'
      const { rows, from } = await usageOf(`group_by=${by}&granularity=day&timezone=Asia/Kathmandu&agent_id=${agent}`)
      assert.match(from, /T18:15:00.000Z$/)
      const [{ time, key_id, ...first }, second] = rows
      assert.match(key_id, /^key_/)
      assert.match(time, /T18:15:00.000Z$/)
      assert.deepEqual(first, {
        project_id: 'prj_default',
        agent_id: agent,
        version: null,
        environment: 'production',
        person_id: null,
        user_id: 'ada',
        door: 'api',
        model: 'local/cheap',
        purpose: 'run',
        calls: 2,
        input_tokens: 2,
        cached_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 2,
        reasoning_tokens: 0,
        total_tokens: 4,
        cost_usd: 0.000000376,
        priced_cost_usd: 0.000000376,
        unpriced_calls: 0,
        lost_calls: 0,
      })
      assert.equal(second.user_id, 'bo')
      const filtered = await usageOf(`user_id=bo&agent_id=${agent}`)
      assert.equal(filtered.totals.calls, 1)
      // Hours, days and months in UTC are read from the sums, other days from single records. Both must agree.
      for (const more of [
        'granularity=hour',
        'granularity=day',
        'granularity=month',
        'timezone=Asia/Kathmandu&granularity=month',
      ]) {
        const { totals } = await usageOf(`agent_id=${agent}&${more}`)
        assert.deepEqual([totals.calls, totals.cost_usd], [3, 0.000000564], more)
      }
    })

    test('returns CSV if requested', async () => {
      const agent = await newAgent(service, { model: 'builtin/echo' })
      await ask(agent)
      const path = `/v1/usage?group_by=model,user&agent_id=${agent}`
      const asked = { Authorization: `Bearer ${service.admin}` }
      const wanted =
        'user_id,model,calls,input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,total_tokens,cost_usd,priced_cost_usd,unpriced_calls,lost_calls\r\n,builtin/echo,1,4,0,0,4,0,8,0,0,0,0\r\n'
      for (const [url, headers] of [
        [path, { ...asked, Accept: 'text/csv' }],
        [`${path}&format=csv`, asked],
      ] as const) {
        const reply = await fetch(`${service.url}${url}`, { headers })
        assert.equal(reply.headers.get('content-type'), 'text/csv; charset=utf-8')
        assert.equal(await reply.text(), wanted)
      }
      const none = await fetch(`${service.url}/v1/usage?agent_id=agt_none&format=csv`, { headers: asked })
      assert.match(await none.text(), /^calls,input_tokens,/)
    })

    test('corrected prices apply to the past: usage records, sums and receipts', async () => {
      await ask(await newAgent(service, { model: 'builtin/echo' }))
      const agent = await newAgent(service, { model: 'local/priced' })
      model.reply({ text: ['Calm.'], usage: { prompt_tokens: 100, completion_tokens: 10 } })
      const { request_id } = await ask(agent)
      const receiptNow = async () =>
        (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
      const charged = await receiptNow()
      const db = storeOf(service)
      // As if there had been no price.
      const none = { cost_nano: null, price: null }
      await db.updateTable('ledger').set(none).where('request_id', '=', request_id).execute()
      await db.updateTable('usage_sums').set({ cost_nano: 0, unpriced: 1 }).where('agent_id', '=', agent).execute()
      assert.equal((await usageOf(`agent_id=${agent}`)).totals.cost_usd, null)
      const reprice = async () => {
        const body = { from: new Date(service.now() - 3_600_000).toISOString() }
        const reply = await service.call('POST', '/v1/usage/reprice', { body })
        assert.equal(reply.status, 200, reply.text)
        const { looked_at, ...rest } = reply.body.data
        assert.ok(looked_at > 0)
        return rest
      }
      // Those of an agent without a price keep what they have.
      assert.deepEqual(await reprice(), { changed: 1, priced: 1, change_usd: 0.01045, next: null })
      const { totals } = await usageOf(`agent_id=${agent}`)
      assert.deepEqual([totals.cost_usd, totals.unpriced_calls, totals.calls], [0.01045, 0, 1])
      assert.deepEqual([charged.cost_usd, charged.steps.at(-1).cost_usd], [0.01045, 0.01045])
      assert.deepEqual(await receiptNow(), charged)
      assert.deepEqual(await reprice(), { changed: 0, priced: 0, change_usd: 0, next: null })
    })

    test("accepts an agent's name; 404 if it does not exist", async () => {
      const agent = await newAgent(service, { model: 'builtin/echo' })
      await ask(agent)
      const { name } = (await service.call('GET', `/v1/agents/${agent}`)).body.data
      assert.deepEqual(await usageOf(`agent_id=${name}`), await usageOf(`agent_id=${agent}`))
      const absent = await service.call('GET', '/v1/usage?agent_id=nobody')
      assert.deepEqual([absent.status, absent.body.error.code], [404, 'not_found'])
      const other = await newAgent(service)
      const { secret: key } = await createKey(service, { permissions: ['read'], agent_id: other })
      for (const wanted of [name, 'nobody']) {
        assert.equal((await service.call('GET', `/v1/usage?agent_id=${wanted}`, { key })).status, 403)
      }
    })

    test('400 for an unknown value', async () => {
      for (const query of [
        'group_by=model,color',
        'timezone=Mars/Base',
        'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
        'granularity=hour&from=2020-01-01T00:00:00Z',
        'granularity=week',
      ]) {
        const { status, body } = await service.call('GET', `/v1/usage?${query}`)
        assert.equal(status, 400, JSON.stringify(body))
      }
      const { body } = await service.call('GET', '/v1/usage?group_by=model,status')
      assert.deepEqual(fieldsOf(body), ['group_by'])
    })

    test('a key sees its own project, or all projects if it has access to them and asks for them', async () => {
      await service.call('POST', '/v1/projects', { body: { name: 'reef' } })
      const reef = inProject(service, 'reef')
      const agent = await newAgent(reef, { model: 'builtin/echo' })
      await reef.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Hello' } })
      const { totals } = (await reef.call('GET', '/v1/usage')).body.data
      assert.equal(totals.calls, 1)
      const { rows } = await usageOf('scope=service&group_by=project')
      assert.equal(rows.length, 2)
      const own = await reef.call('POST', '/v1/keys', { body: { name: 'own', permissions: ['read'], agent_id: agent } })
      assert.equal(own.status, 201, JSON.stringify(own.body))
      const scoped = await service.call('GET', '/v1/usage?scope=service', { key: own.body.data.secret })
      assert.equal(scoped.status, 403)
    })
  })
}

describe('the cost of calls', () => {
  test('is exact, even in sums of many', () => {
    const rates = { input: 0.1, cached_input: 0.1, cache_write: 0.1, output: 0.3, reasoning: 0.3, request: 0 }
    let sum = 0
    for (let i = 0; i < 100_000; i++) sum += costOf(rates, { input_tokens: 1, output_tokens: 1 }, 'completed')
    assert.equal(sum, 100_000 * 400)
    const tiny = { ...rates, input: 0.0375 }
    assert.equal(costOf(tiny, { input_tokens: 1_000_000, output_tokens: 0 }, 'completed'), 37_500_000)
    assert.equal(costOf({ ...rates, request: 0.001 }, { input_tokens: 0, output_tokens: 0 }, 'completed'), 1_000_000)
    assert.equal(costOf({ ...rates, request: 0.001 }, { input_tokens: 0, output_tokens: 0 }, 'failed'), 0)
  })

  test('days and months start according to the given time zone', () => {
    const at = (zone: string, time: string, length: 'hour' | 'day' | 'month') => {
      const { start, end } = new TimeZone(zone).periodAt(Date.parse(time), length)
      return [new Date(start).toISOString(), new Date(end).toISOString()]
    }
    assert.deepEqual(at('UTC', '2026-03-31T23:59:59.999Z', 'month'), [
      '2026-03-01T00:00:00.000Z',
      '2026-04-01T00:00:00.000Z',
    ])
    // 23 and 25 hours.
    assert.deepEqual(at('Europe/Berlin', '2026-03-29T12:00:00Z', 'day'), [
      '2026-03-28T23:00:00.000Z',
      '2026-03-29T22:00:00.000Z',
    ])
    assert.deepEqual(at('Europe/Berlin', '2026-10-25T00:30:00Z', 'day'), [
      '2026-10-24T22:00:00.000Z',
      '2026-10-25T23:00:00.000Z',
    ])
    assert.deepEqual(at('Europe/Berlin', '2026-03-15T00:00:00Z', 'month'), [
      '2026-02-28T23:00:00.000Z',
      '2026-03-31T22:00:00.000Z',
    ])
    // Clocks there go from midnight to one.
    assert.deepEqual(at('America/Havana', '2026-03-08T12:00:00Z', 'day'), [
      '2026-03-08T05:00:00.000Z',
      '2026-03-09T04:00:00.000Z',
    ])
    assert.deepEqual(at('Asia/Kolkata', '2026-03-08T12:10:00Z', 'hour'), [
      '2026-03-08T11:30:00.000Z',
      '2026-03-08T12:30:00.000Z',
    ])
  })
})
