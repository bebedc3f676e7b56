import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as agents from '../../src/agents/store.ts'
import { bucketOf, middleOf } from '../../src/metrics/histogram.ts'
import { metricWrites, rollUp } from '../../src/metrics/store.ts'
import { openJournal } from '../../src/storage/journal/journal.ts'
import { writeRows } from '../../src/storage/journal/write-rows.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { partsOf, storageOf, storeOf } from '../support/inside.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { fc, tries } from '../support/running/property.ts'
import { onBothEngines } from '../support/service/service.ts'

type Sample = {
  time: number
  duration_ms: number
  outcome: 'completed' | 'failed' | 'cancelled'
  version?: string | null
  tokens_used?: number
  cost_nano?: number | null
  environment?: string
  deployment_id?: string | null
  /** Whether it is counted in a transaction of its own, as the runs of dead nodes are. */
  isAlone?: boolean
}
type Value = { timestamp: string; value: number; unit: string }

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = { '1m': MINUTE, '5m': 5 * MINUTE, '1h': HOUR, '1d': DAY }
const ANSWERED = { environment: 'production', version: null, deployment_id: null, tokens_used: 3, cost_nano: 0 }
const UNITS = { response_time: 'ms', throughput: 'requests_per_minute', error_rate: 'percent' }
const iso = (time: number) => new Date(time).toISOString()

onBothEngines(
  'metrics',
  (service) => {
    let made = 0
    const newAgent = async () => {
      const { body } = await service().call('POST', '/v1/agents', { body: { name: `measured-${++made}` } })
      const { id, seq } = await agents.get(storeOf(service()), body.data.id)
      return { id, seq }
    }
    const rolledUp = (limit: number) => {
      const storage = storageOf(service())
      const { now } = service()
      return storage.transaction((db) => rollUp(db, now(), limit))
    }
    const agentWith = async (samples: Sample[]) => {
      const agent = await newAgent()
      const storage = storageOf(service())
      const { journal } = partsOf(service())
      const write = ({ isAlone, ...sample }: Sample) => {
        const writes = metricWrites({ ...ANSWERED, agent_seq: agent.seq, ...sample })
        return isAlone ? storage.transaction((db) => writeRows(db, writes)) : journal.commit({ writes })
      }
      // The first half is summed by hour while the second one comes.
      const half = Math.ceil(samples.length / 2)
      await Promise.all<unknown>(samples.slice(0, half).map(write))
      await Promise.all<unknown>([...samples.slice(half).map(write), rolledUp(1_000)])
      return agent
    }
    const get = (id: string, query: Record<string, string>) =>
      service().call('GET', `/v1/agents/${id}/metrics?${new URLSearchParams(query)}`)
    const read = async (id: string, query: Record<string, string>) => {
      const { status, body, text } = await get(id, query)
      assert.equal(status, 200, text)
      return body.data as { metric: string; granularity: string; aggregation?: string; values: Value[] }
    }
    /** Midnight UTC, some days ago. */
    const past = () => Math.floor(service().now() / DAY) * DAY - 5 * DAY

    describe('GET /v1/agents/{agent_id}/metrics', () => {
      test('200 in the format of the specification', async () => {
        const start = past()
        const agent = await agentWith([
          { time: start, duration_ms: 100, outcome: 'completed' },
          { time: start + 59_999, duration_ms: 50, outcome: 'failed' },
          { time: start + 3 * MINUTE, duration_ms: 7, outcome: 'completed' },
          { time: start + 3 * MINUTE, duration_ms: 1, outcome: 'cancelled' },
          { time: start + 4 * MINUTE, duration_ms: 1, outcome: 'completed' },
        ])
        const range = { start_time: iso(start), end_time: iso(start + 4 * MINUTE) }
        const at = (minute: number, value: number, unit: string) => ({
          timestamp: iso(start + minute * MINUTE),
          value,
          unit,
        })
        const { body } = await get(agent.id, { metric: 'throughput', ...range })
        assert.deepEqual(body, {
          success: true,
          data: {
            metric: 'throughput',
            granularity: '1m',
            values: [2, 0, 0, 1].map((count, minute) => at(minute, count, 'requests_per_minute')),
          },
        })
        assert.deepEqual(await read(agent.id, { metric: 'response_time', ...range }), {
          metric: 'response_time',
          granularity: '1m',
          aggregation: 'avg',
          values: [at(0, 75, 'ms'), at(3, 7, 'ms')],
        })
        assert.deepEqual(await read(agent.id, { metric: 'error_rate', ...range }), {
          metric: 'error_rate',
          granularity: '1m',
          values: [at(0, 50, 'percent'), at(3, 0, 'percent')],
        })
        const fives = { ...range, granularity: '5m' }
        assert.deepEqual((await read(agent.id, { metric: 'throughput', ...fives })).values, [
          at(0, 4 / 5, 'requests_per_minute'),
        ])
      })

      test('performance contains the same values as the metrics, in one reply', async () => {
        const start = past()
        const agent = await agentWith([
          { time: start, duration_ms: 100, outcome: 'completed' },
          { time: start + 1, duration_ms: 50, outcome: 'failed' },
          { time: start + 2 * MINUTE, duration_ms: 7, outcome: 'completed' },
        ])
        const range = { start_time: iso(start), end_time: iso(start + 3 * MINUTE) }
        const { body } = await service().call('GET', `/v1/agents/${agent.id}/performance?${new URLSearchParams(range)}`)
        const rated = { feedback: 0, avg_score: null }
        const idle = { requests: 0, errors: 0, avg_ms: null, p50_ms: null, p95_ms: null, p99_ms: null, max_ms: null }
        const none = { ...idle, tokens: 0, cost_usd: 0, unpriced: 0, ...rated }
        const priced = { cost_usd: 0, unpriced: 0, ...rated }
        assert.deepEqual(body.data, {
          granularity: '1m',
          buckets: [
            {
              requests: 2,
              errors: 1,
              avg_ms: 75,
              p50_ms: 50,
              p95_ms: 100,
              p99_ms: 100,
              max_ms: 100,
              tokens: 6,
              ...priced,
            },
            none,
            { requests: 1, errors: 0, avg_ms: 7, p50_ms: 7, p95_ms: 7, p99_ms: 7, max_ms: 7, tokens: 3, ...priced },
          ].map((values, minute) => ({ timestamp: iso(start + minute * MINUTE), ...values })),
        })
        for (const aggregation of ['avg', 'p50', 'p95', 'p99', 'max']) {
          const { values } = await read(agent.id, { metric: 'response_time', aggregation, ...range })
          const same = body.data.buckets.flatMap(
            (bucket: Record<string, number | null>) => bucket[`${aggregation}_ms`] ?? [],
          )
          assert.deepEqual(
            values.map(({ value }) => value),
            same,
          )
        }
      })

      test('every metric, aggregation and granularity equals a manual calculation', async () => {
        const start = past()
        const samples = fc.array(
          fc.record({
            // Crowded round one midnight, so that buckets of all sizes hold several and meet at their edges.
            time: fc.oneof(
              fc.integer({ min: start + DAY - 10 * MINUTE, max: start + DAY + 10 * MINUTE }),
              fc.integer({ min: start, max: start + 3 * DAY }),
            ),
            duration_ms: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 700_000 })),
            outcome: fc.constantFrom('completed', 'completed', 'failed', 'cancelled'),
            isAlone: fc.boolean(),
          }),
          { maxLength: 120 },
        ) as fc.Arbitrary<Sample[]>
        const range = fc
          .tuple(fc.integer({ min: start, max: start + 2 * DAY }), fc.integer({ min: 1, max: 36 * HOUR }))
          .map(([from, length]) => ({ from, to: from + length }))

        await fc.assert(
          fc.asyncProperty(samples, range, async (all, { from, to }) => {
            const agent = await agentWith(all)
            for (const [granularity, step] of Object.entries(STEPS)) {
              const query = { granularity, start_time: iso(from), end_time: iso(to) }
              const first = Math.floor(from / step) * step
              const buckets = bruteForce(all, { first, last: Math.ceil(to / step) * step, step })
              await checkAll(agent.id, query, buckets, step)
            }
          }),
          { numRuns: tries(8) },
        )
      })

      const checkAll = async (id: string, query: Record<string, string>, buckets: Bucket[], step: number) => {
        const full = buckets.filter(({ samples }) => samples.length > 0)
        const expect = async (
          metric: keyof typeof UNITS,
          of: Bucket[],
          valueOf: (samples: Sample[]) => number,
          aggregation?: string,
        ) => {
          const { values } = await read(id, { ...query, metric, ...(aggregation && { aggregation }) })
          const expected = of.map(({ time, samples }) => ({
            timestamp: iso(time),
            value: valueOf(samples),
            unit: UNITS[metric],
          }))
          if (!aggregation?.startsWith('p')) return assert.deepEqual(values, expected)
          assert.deepEqual(
            values.map(({ timestamp, unit }) => [timestamp, unit]),
            expected.map(({ timestamp, unit }) => [timestamp, unit]),
          )
          for (const [i, { value }] of expected.entries()) {
            const got = (values[i] as Value).value
            assert.ok(Math.abs(got - value) <= value / 128, `${aggregation}: ${got} is not within 1/128 of ${value}`)
          }
        }
        const durations = (samples: Sample[]) => samples.map(({ duration_ms }) => duration_ms)
        await expect('throughput', buckets, (samples) => samples.length / (step / MINUTE))
        await expect(
          'error_rate',
          full,
          (samples) => (samples.filter(({ outcome }) => outcome === 'failed').length / samples.length) * 100,
        )
        await expect('response_time', full, (samples) => durations(samples).reduce((a, b) => a + b) / samples.length)
        await expect('response_time', full, (samples) => Math.max(...durations(samples)), 'max')
        for (const percent of [50, 95, 99]) {
          const exact = (samples: Sample[]) =>
            durations(samples).toSorted((a, b) => a - b)[Math.ceil((percent * samples.length) / 100) - 1] as number
          await expect('response_time', full, exact, `p${percent}`)
        }
      }

      test('can be grouped by version, environment and deployment, with tokens and cost', async () => {
        const start = past()
        const [old, beta] = [
          { version: 'v1', deployment_id: 'dep_1' },
          { version: 'v2', deployment_id: 'dep_2' },
        ]
        const answered = (minute: number, of: object, more: Partial<Sample>): Sample => {
          return { time: start + minute * MINUTE, duration_ms: 10, outcome: 'completed', ...of, ...more }
        }
        const agent = await agentWith([
          answered(0, old, { duration_ms: 100, tokens_used: 10, cost_nano: 2_000_000_000 }),
          answered(0, beta, { duration_ms: 20, tokens_used: 40, cost_nano: null, outcome: 'failed' }),
          answered(0, beta, { duration_ms: 40, tokens_used: 20, cost_nano: 1_000_000_000 }),
          answered(1, beta, { tokens_used: 6, cost_nano: null }),
          answered(1, { ...beta, environment: 'staging' }, { tokens_used: 100, duration_ms: 77, cost_nano: 5 }),
          answered(1, {}, { tokens_used: 1, outcome: 'cancelled' }),
        ])
        const range = { start_time: iso(start), end_time: iso(start + 2 * MINUTE) }
        const valuesOf = async (query: Record<string, string>) =>
          (await read(agent.id, { ...range, ...query })).values.map(({ value }) => value)
        const ofBeta = { version: 'v2', environment: 'production' }
        for (const [query, expected] of [
          [{ metric: 'throughput' }, [3, 2]],
          [{ metric: 'throughput', version: 'v1' }, [1, 0]],
          [{ metric: 'throughput', version: 'v3' }, [0, 0]],
          [{ metric: 'throughput', ...ofBeta }, [2, 1]],
          [{ metric: 'throughput', deployment_id: 'dep_2' }, [2, 2]],
          [{ metric: 'error_rate', ...ofBeta }, [50, 0]],
          [{ metric: 'response_time', ...ofBeta }, [30, 10]],
          [{ metric: 'response_time', aggregation: 'p95', ...ofBeta }, [40, 10]],
          [{ metric: 'response_time', aggregation: 'max', environment: 'staging' }, [77]],
          [{ metric: 'tokens' }, [70 / 3, 53]],
          [{ metric: 'tokens', aggregation: 'sum', version: 'v1' }, [10, 0]],
          [{ metric: 'tokens', ...ofBeta }, [30, 6]],
          [{ metric: 'cost', aggregation: 'sum' }, [3, 5e-9]],
          [{ metric: 'cost', ...ofBeta }, [1]],
        ] as const)
          assert.deepEqual(await valuesOf(query), expected, JSON.stringify(query))
        await rolledUp(1_000)
        assert.deepEqual(await valuesOf({ metric: 'tokens', ...ofBeta }), [30, 6])
        const hour = { ...range, granularity: '1h' }
        assert.deepEqual(await valuesOf({ ...hour, metric: 'tokens', aggregation: 'sum', ...ofBeta }), [66])
        const query = new URLSearchParams({ ...hour, ...ofBeta })
        const { body } = await service().call('GET', `/v1/agents/${agent.id}/performance?${query}`)
        const [{ requests, errors, tokens, cost_usd, unpriced, max_ms }] = body.data.buckets
        assert.deepEqual([requests, errors, tokens, cost_usd, unpriced, max_ms], [3, 1, 66, 1, 2, 40])
      })

      test("feedback is the average score by version, including for a user's token", async () => {
        const { id } = await newAgent()
        const give = async (version: string, user_id: string, score: number) => {
          await service().call('POST', `/v1/agents/${id}/deployments`, { body: { environment: 'production', version } })
          const said = { message: 'hello', context: { user_id } }
          const { body } = await service().call('POST', `/v1/agents/${id}/invoke`, { body: said })
          const path = `/v1/agents/${id}/invocations/${body.data.request_id}/feedback`
          assert.equal((await service().call('PUT', path, { body: { score } })).status, 200)
        }
        await give('v1', 'ann', -1)
        await give('v2', 'ann', 1)
        await give('v2', 'ben', 0.25)
        const day = { granularity: '1d' }
        const scores = async (query: Record<string, string>, key?: string) => {
          const path = `/v1/agents/${id}/metrics?${new URLSearchParams({ metric: 'feedback', ...day, ...query })}`
          const { body, text } = await service().call('GET', path, key ? { key } : {})
          assert.ok(body.data, text)
          return body.data.values.map(({ value, unit }: Value) => [value, unit])
        }
        assert.deepEqual(await scores({ version: 'v1' }), [[-1, 'score']])
        assert.deepEqual(await scores({ version: 'v2' }), [[0.625, 'score']])
        assert.deepEqual(await scores({ version: 'v2', environment: 'staging' }), [])
        const token = await signJwt({ user_id: 'ann', permissions: ['read'] })
        assert.deepEqual(await scores({}, token), [[0, 'score']])
        assert.deepEqual(await scores({ version: 'v2' }, token), [[1, 'score']])
        const path = `/v1/agents/${id}/performance?${new URLSearchParams({ ...day, version: 'v2' })}`
        const mine = (await service().call('GET', path, { key: token })).body.data.buckets.at(-1)
        assert.deepEqual([mine.requests, mine.feedback, mine.avg_score, mine.unpriced], [1, 1, 1, 0])
        assert.ok(mine.tokens > 0)
        const all = (await service().call('GET', path)).body.data.buckets.at(-1)
        assert.deepEqual([all.requests, all.feedback, all.avg_score], [2, 2, 0.625])
      })

      test('without a range, it is the last hour; with one end, an hour or until now', async () => {
        const now = service().now()
        const agent = await agentWith([
          { time: now, duration_ms: 5, outcome: 'completed' },
          { time: now - 50 * MINUTE, duration_ms: 5, outcome: 'completed' },
          { time: now - 70 * MINUTE, duration_ms: 5, outcome: 'completed' },
          { time: now - 170 * MINUTE, duration_ms: 5, outcome: 'completed' },
        ])
        const count = async (query: Record<string, string>) =>
          (await read(agent.id, { metric: 'response_time', ...query })).values.length
        assert.equal(await count({}), 2)
        assert.equal(await count({ start_time: iso(now - 100 * MINUTE) }), 3)
        assert.equal(await count({ end_time: iso(now - 60 * MINUTE) }), 1)
        assert.equal(await count({ end_time: iso(now + DAY) }), 0)
        assert.equal(await count({ start_time: '0001-01-01T00:00:00Z', end_time: '0002-01-01T00:00:00Z' }), 0)
      })

      test('the granularity depends on the range', async () => {
        const start = past() - 400 * DAY
        const chosen = async (length: number) => {
          const range = { start_time: iso(start), end_time: iso(start + length) }
          return (await read('hello', { metric: 'error_rate', ...range })).granularity
        }
        const lengths: [number, string][] = [
          [1, '1m'],
          [6 * HOUR, '1m'],
          [6 * HOUR + 1, '5m'],
          [2 * DAY, '5m'],
          [2 * DAY + 1, '1h'],
          [60 * DAY, '1h'],
          [60 * DAY + 1, '1d'],
          [400 * DAY, '1d'],
        ]
        for (const [length, granularity] of lengths) assert.equal(await chosen(length), granularity, String(length))
      })

      test('future buckets are not returned as empty', async () => {
        // In the middle of an hour: none begins meanwhile.
        service().advance(1.5 * HOUR - (service().now() % HOUR))
        const now = service().now()
        const agent = await agentWith([])
        const range = { start_time: iso(now - 2 * HOUR), end_time: iso(now + 2 * HOUR), granularity: '1h' }
        const { values } = await read(agent.id, { metric: 'throughput', ...range })
        assert.deepEqual(
          values.map(({ value }) => value),
          [0, 0, 0],
        )
        assert.ok(Date.parse(values.at(-1)?.timestamp as string) <= service().now())
      })

      test('a range of 3000 buckets is accepted, one more is 400', async () => {
        const start = past() - 10 * DAY
        const range = (minutes: number) => ({
          metric: 'throughput',
          granularity: '1m',
          start_time: iso(start),
          end_time: iso(start + minutes * MINUTE),
        })
        assert.equal((await read('hello', range(3000))).values.length, 3000)
        const { status, body } = await get('hello', range(3001))
        assert.equal(status, 400)
        assert.deepEqual(fieldsOf(body), ['granularity'])
        const longest = { metric: 'throughput', start_time: '0001-01-01T00:00:00Z' }
        assert.equal((await get('hello', longest)).body.error.details[0].field, 'start_time')
      })

      const refused: [string, string][] = [
        ['', 'metric'],
        ['metric=latency', 'metric'],
        ['metric=throughput&granularity=2m', 'granularity'],
        ['metric=response_time&aggregation=p90', 'aggregation'],
        ['metric=throughput&aggregation=avg', 'aggregation'],
        ['metric=feedback&aggregation=avg', 'aggregation'],
        ['metric=cost&aggregation=p95', 'aggregation'],
        ['metric=response_time&aggregation=sum', 'aggregation'],
        ['metric=throughput&start_time=now', 'start_time'],
        ['metric=throughput&start_time=2026-01-01T00:00:00Z&end_time=2026-01-01T00:00:00Z', 'end_time'],
        ['metric=throughput&start_time=9000-01-01T00:00:00Z', 'start_time'],
        ['metric=throughput&metric=throughput', 'metric'],
        ['metric=throughput&limit=5', 'limit'],
      ]
      for (const [query, field] of refused) {
        test(`400 for "${query}"`, async () => {
          const { status, body } = await service().call('GET', `/v1/agents/hello/metrics?${query}`)
          assert.equal(status, 400)
          assert.deepEqual(fieldsOf(body), [field])
        })
      }
    })

    test('nodes that count the same minutes at once lose nothing', async () => {
      const { config } = partsOf(service())
      const nodes = await Promise.all([openStorage(config), openStorage(config)])
      const agentsCounted = await Promise.all(Array.from({ length: 5 }, newAgent))
      const start = past()
      const writes = agentsCounted.flatMap(({ seq }) =>
        Array.from({ length: 60 }, (_, i) =>
          metricWrites({
            ...ANSWERED,
            agent_seq: seq,
            time: start + (i % 3) * MINUTE,
            duration_ms: i,
            outcome: 'completed',
          }),
        ),
      )
      const counted = await Promise.allSettled(
        nodes.flatMap((storage, node) => {
          const journal = openJournal(storage, { backlog: 10_000 })
          const order = node === 0 ? writes : writes.toReversed()
          return order.map((write) => journal.commit({ writes: node === 0 ? write : write.toReversed() }))
        }),
      )
      await Promise.all(nodes.map((storage) => storage.transaction((db) => rollUp(db, service().now(), 1_000))))
      await Promise.all(nodes.map((storage) => storage.close()))
      assert.deepEqual(
        counted.filter(({ status }) => status === 'rejected'),
        [],
      )
      for (const { id } of agentsCounted) {
        const range = { start_time: iso(start), end_time: iso(start + 3 * MINUTE) }
        const { values } = await read(id, { metric: 'throughput', ...range })
        assert.deepEqual(
          values.map(({ value }) => value),
          [40, 40, 40],
        )
      }
      const db = storeOf(service())
      const sequences = agentsCounted.map(({ seq }) => seq)
      const rows = await db.selectFrom('metrics').select('minutes').where('agent_seq', 'in', sequences).execute()
      assert.deepEqual(
        [1, 60].map((span) => rows.filter(({ minutes }) => minutes === span).length),
        [15, 5],
        'a row for each minute and one for the hour',
      )
    })
  },
  JWT_SETTINGS,
)

type Bucket = { time: number; samples: Sample[] }

function bruteForce(samples: Sample[], { first, last, step }: { first: number; last: number; step: number }): Bucket[] {
  const counted = samples.filter(({ outcome }) => outcome !== 'cancelled')
  return Array.from({ length: (last - first) / step }, (_, i) => {
    const time = first + i * step
    return { time, samples: counted.filter((sample) => sample.time >= time && sample.time < time + step) }
  })
}

describe('the histogram', () => {
  const milliseconds = fc.oneof(fc.integer({ min: 0, max: 1000 }), fc.integer({ min: 0, max: 2 ** 31 - 1 }))

  test('is exact below 128 ms and within 1/128 above', () => {
    for (let ms = 0; ms < 128; ms++) assert.equal(middleOf(bucketOf(ms)), ms)
    fc.assert(
      fc.property(milliseconds, (ms) => {
        const middle = middleOf(bucketOf(ms))
        assert.ok(Math.abs(middle - ms) <= ms / 128, `${ms} became ${middle}`)
      }),
      { numRuns: 2_000 },
    )
  })

  test('longer durations never fall into lower buckets, and no bucket is skipped', () => {
    for (let ms = 1; ms < 20_000; ms++) {
      const step = bucketOf(ms) - bucketOf(ms - 1)
      assert.ok(step === 0 || step === 1, `at ${ms} ms`)
    }
    fc.assert(fc.property(milliseconds, milliseconds, (a, b) => (bucketOf(a) - bucketOf(b)) * Math.sign(a - b) >= 0))
  })

  test('accepts durations longer than any invocation', () => {
    assert.equal(bucketOf(-5), 0)
    assert.equal(bucketOf(1e15), bucketOf(2 ** 31 - 1))
  })
})
