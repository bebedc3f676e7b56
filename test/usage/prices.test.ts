import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listedAt } from '../../src/usage/prices/vendor-prices.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'

const unknown = { input: null, cached_input: null, cache_write: null, output: null, reasoning: null, request: null }
const free = { input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0, request: 0 }

test('a price for certain hours applies from the first to before the last, also across midnight', () => {
  const between = (start_time: string, end_time: string, input_mtok: number) => {
    return { constraint: { type: 'time_of_date' as const, start_time, end_time }, prices: { input_mtok } }
  }
  const listed = [
    { prices: { input_mtok: 3 } },
    between('16:30:00Z', '00:30:00Z', 1),
    between('09:00:00', '12:00:00', 4),
  ]
  const inputAt = (time: string) => listedAt(listed, Date.parse(`2026-05-20T${time}Z`)).input_mtok
  const times = {
    '00:00': 1,
    '00:29': 1,
    '00:30': 3,
    '08:59': 3,
    '09:00': 4,
    '12:00': 3,
    '16:29': 3,
    '16:30': 1,
    '23:59': 1,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(times).map((time) => [time, inputAt(time)])), times)
})

onAnyEngine(
  'GET /v1/prices',
  (started) => {
    test("returns models' prices and their source", async () => {
      const service = started()
      await newAgent(service, { model: ['openai/gpt-4o', 'local/own'] })
      await newAgent(service, { model: 'anthropic/claude-sonnet-4-5' })
      await newAgent(service, { model: 'builtin/echo' })
      await newAgent(service, { model: 'local/secret' })
      const { body } = await service.call('GET', '/v1/prices')
      const list = { source: 'genai-prices', set_for: null, version: '0.1.8' }
      assert.deepEqual(body.data, [
        {
          model: 'anthropic/claude-sonnet-4-5',
          ...list,
          input: 3,
          cached_input: 0.3,
          cache_write: 3.75,
          output: 15,
          reasoning: 15,
          request: 0,
          tiers: [
            {
              above: 200_000,
              input: 6,
              cached_input: 0.6,
              cache_write: 7.5,
              output: 22.5,
              reasoning: 22.5,
              request: 0,
            },
          ],
        },
        { model: 'builtin/echo', source: 'builtin', set_for: null, version: null, ...free, tiers: [] },
        {
          model: 'embedder/text-embedding-3-small',
          ...list,
          ...free,
          input: 0.02,
          cached_input: 0.02,
          cache_write: 0.02,
          tiers: [],
        },
        {
          model: 'local/own',
          source: 'configuration',
          set_for: 'local/own',
          version: null,
          input: 1,
          cached_input: 1,
          cache_write: 1,
          output: 2,
          reasoning: 2,
          request: 0,
          tiers: [],
        },
        { model: 'local/secret', source: 'unknown', set_for: null, version: null, ...unknown, tiers: [] },
        {
          model: 'openai/gpt-4o',
          ...list,
          input: 2.5,
          cached_input: 1.25,
          cache_write: 2.5,
          output: 10,
          reasoning: 10,
          request: 0,
          tiers: [],
        },
        {
          model: 'rented/*',
          source: 'configuration',
          set_for: 'rented/*',
          version: null,
          input: 0,
          cached_input: 0,
          cache_write: 0,
          output: 0,
          reasoning: 0,
          request: 0.002,
          tiers: [],
        },
      ])
      assert.deepEqual(body.pagination, { limit: 10, offset: 0, total: 7, has_more: false })
    })
  },
  {
    MOORAGE_PROVIDERS: JSON.stringify([
      { name: 'openai', type: 'openai', apiKey: 'sk-test' },
      { name: 'anthropic', type: 'anthropic', apiKey: 'sk-test' },
      { name: 'local', baseUrl: 'http://127.0.0.1:9/v1' },
    ]),
    MOORAGE_PRICES: JSON.stringify([
      { model: 'local/own', input: 1, output: 2 },
      { model: 'rented/*', input: 0, output: 0, request: 0.002 },
    ]),
    MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
    MOORAGE_MEMORY__EMBEDDER__BASE_URL: 'https://api.openai.com/v1',
    MOORAGE_MEMORY__EMBEDDER__MODEL: 'text-embedding-3-small',
  },
)
