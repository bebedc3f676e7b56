import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startCachingClaude } from '../support/outside/caching-claude.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { newAgent } from '../support/service/agents.ts'
import { type Service, STORY_ENGINES, startService } from '../support/service/service.ts'

const TURNS = 10
const RATES = { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 }
/** About as long as those of an agent that does real work: 1,500 tokens. */
const INSTRUCTIONS = 'You run the harbour office. Look up a berth before you promise it to a skipper. '.repeat(75)
const MARK = 'cache_control'

type Claude = Awaited<ReturnType<typeof startCachingClaude>>

for (const engine of STORY_ENGINES) {
  describe(`prompt caching with Anthropic, on ${engine}`, () => {
    let service: Service
    let tool: LocalServer
    const claudes: Record<'marked' | 'plain' | 'stored', Claude> = {} as never
    before(async () => {
      for (const name of ['marked', 'plain', 'stored'] as const) claudes[name] = await startCachingClaude()
      tool = await startLocalServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"free":true}')
      })
      const provider = { type: 'anthropic', apiKey: 'sk-ant' }
      service = await startService(engine, {
        ...LOCAL_TOOLS,
        MOORAGE_PROVIDERS: JSON.stringify([
          { ...provider, name: 'marked', baseUrl: claudes.marked.url },
          { ...provider, name: 'plain', baseUrl: claudes.plain.url, cache: false },
        ]),
        MOORAGE_PRICES: JSON.stringify(['marked', 'plain'].map((name) => ({ model: `${name}/*`, ...RATES }))),
      })
    })
    after(async () => {
      await service.stop()
      await tool.close()
      for (const claude of Object.values(claudes)) await claude.close()
    })

    const newClerk = (provider: string) =>
      newAgent(service, {
        model: `${provider}/claude-test`,
        instructions: INSTRUCTIONS,
        tools: [{ type: 'http', name: 'look_up', description: 'Whether a berth is free', url: `${tool.url}/berths` }],
      })
    const say = async (agent: string, message: string) => {
      const context = { user_id: 'ann', session_id: 'monday' }
      const { status, body, text } = await service.call('POST', `/v1/agents/${agent}/invoke`, {
        body: { message, context },
      })
      assert.equal(status, 200, text)
      return body.data
    }
    const converse = async (provider: string) => {
      const agent = await newClerk(provider)
      const results = []
      for (let turn = 1; turn <= TURNS; turn++) results.push(await say(agent, `Is berth ${turn} free on Tuesday?`))
      return { agent, results }
    }
    const usageOf = async (agent: string) => {
      const { body } = await service.call('GET', `/v1/usage?agent_id=${agent}`)
      return body.data.totals
    }

    test('a conversation of ten turns with tools costs less than half, and usage equals the bill to the token', async () => {
      const costs: Record<string, number> = {}
      for (const name of ['marked', 'plain'] as const) {
        const { agent } = await converse(name)
        const { bill } = claudes[name]
        const sums = await usageOf(agent)
        assert.deepEqual(
          [sums.input_tokens, sums.cached_tokens, sums.cache_write_tokens, sums.output_tokens],
          [bill.input + bill.read + bill.written, bill.read, bill.written, bill.output],
        )
        const dollars =
          bill.input * RATES.input +
          bill.read * RATES.cached_input +
          bill.written * RATES.cache_write +
          bill.output * RATES.output
        assert.equal(sums.cost_usd, Math.round(dollars * 1000) / 1e9)
        costs[name] = sums.cost_usd
      }
      assert.equal(claudes.plain.bill.written, 0)
      const share = (costs['marked'] ?? 0) / (costs['plain'] ?? 0)
      assert.ok(share <= 0.45, `with the cache it costs ${Math.round(share * 100)} %`)
    })

    test('a session that is longer than the history costs no more than without cache marks', async () => {
      const converseLong = async (provider: string) => {
        const agent = await newAgent(service, {
          model: `${provider}/claude-test`,
          instructions: 'You run the harbour office.',
          memory: { history: 8, recall: 0 },
        })
        for (let turn = 1; turn <= TURNS; turn++) await say(agent, `${turn}: ${INSTRUCTIONS}`)
        return usageOf(agent)
      }
      const first = { ...claudes.marked.bill }
      const [marked, plain] = [await converseLong('marked'), await converseLong('plain')]
      assert.ok(marked.cost_usd < plain.cost_usd, `${marked.cost_usd} USD with marks, ${plain.cost_usd} USD without`)
      const { bill } = claudes.marked
      // The second, third and fourth turn write what the one before them has said. The last of them is never read.
      const written = bill.written - first.written
      assert.ok(bill.read > first.read && written < marked.input_tokens / 8, `${written} of ${marked.input_tokens}`)
    })

    test('the receipt contains what was read from the cache and written to it', async () => {
      const { agent, results } = await converse('marked')
      const { request_id } = results.at(-1)
      const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)
      const { usage, steps } = body.data
      assert.ok(usage.cached_tokens > 1_000, JSON.stringify(usage))
      assert.ok(usage.cache_write_tokens > 0, JSON.stringify(usage))
      const models: { usage: Record<string, number> }[] = steps.filter(({ kind }: { kind: string }) => kind === 'model')
      const sum = (field: string) => models.reduce((total, step) => total + (step.usage[field] ?? 0), 0)
      assert.equal(usage.cached_tokens, sum('cached_tokens'))
      assert.equal(usage.cache_write_tokens, sum('cache_write_tokens'))
    })

    test('after five minutes, the prefix is cached again, and usage still equals the bill', async () => {
      const { bill, pass } = claudes.marked
      const agent = await newClerk('marked')
      const first = { ...bill }
      await say(agent, 'Is berth 1 free?')
      pass(299_000)
      const kept = { ...bill }
      await say(agent, 'Is berth 2 free?')
      assert.ok(bill.read - kept.read > 2_000, 'both requests read the instructions')
      pass(301_000)
      const late = { ...bill }
      await say(agent, 'Is berth 3 free?')
      assert.ok(bill.written - late.written > 1_000, 'the first request wrote them again')
      const { input_tokens, cached_tokens, cache_write_tokens } = await usageOf(agent)
      const since = { read: bill.read - first.read, written: bill.written - first.written }
      assert.deepEqual([cached_tokens, cache_write_tokens], [since.read, since.written])
      assert.equal(input_tokens, bill.input - first.input + since.read + since.written)
    })

    test('earlier answers of the model are sent back unchanged', async () => {
      const agent = await newClerk('marked')
      const known = claudes.marked.requests.length
      await say(agent, 'Is berth 4 free?')
      for (const { messages } of claudes.marked.requests.slice(known)) {
        const answers = messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content)
        assert.ok(answers.every((block) => !(MARK in block)))
      }
    })

    test('with `cache: false`, no request has a cache mark: in the configuration and for a stored provider', async () => {
      assert.ok(claudes.plain.requests.length > 0)
      for (const request of claudes.plain.requests) assert.ok(!JSON.stringify(request).includes(MARK))
      const set = async (more: object) => {
        const body = { type: 'anthropic', base_url: claudes.stored.url, api_key: 'sk-own', ...more }
        const { status, text, body: reply } = await service.call('PUT', '/v1/providers/stored', { body })
        assert.equal(status, 200, text)
        return reply.data.cache
      }
      assert.equal(await set({ cache: false }), false)
      const agent = await newClerk('stored')
      await say(agent, 'Is berth 1 free?')
      assert.ok(claudes.stored.requests.length === 2 && !JSON.stringify(claudes.stored.requests).includes(MARK))
      assert.equal(await set({}), true)
      await say(agent, 'Is berth 2 free?')
      assert.ok(JSON.stringify(claudes.stored.requests.slice(2)).includes(MARK))
    })
  })
}
