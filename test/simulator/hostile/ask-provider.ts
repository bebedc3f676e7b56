// Asks an agent whose provider misbehaves, and says what is wrong with what came of it.
import { isDeepStrictEqual } from 'node:util'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { type Engine, type Service, startService } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { type Act, isFair, openHostileProvider, type Performance, performanceOf } from './hostile-provider.ts'
import { AGENTS, type HostileStage } from './hostile-stage.ts'

/** The time limit of the agent, and what an answer may take in addition. */
const LIMIT_MS = 3_000
const GRACE_MS = 8_000
const API_KEY = 'sk-of-the-hostile-provider'
const MOST_ASKED = 8

/** One service for many seeds: one answer must not spoil another. */
export async function openHostileStage(engine: Engine): Promise<HostileStage> {
  const provider = await openHostileProvider()
  const settings = { ...LOCAL_TOOLS, ...localProvider(`${provider.url}/v1`, { apiKey: API_KEY }), LOG_LEVEL: 'error' }
  const tiers = { MOORAGE_LIMITS__TIERS: '{"enterprise":{"requestsPerMinute":10000000,"burst":10000000}}' }
  const service = await startService(engine, { ...settings, ...tiers })
  const input_schema = { type: 'object', properties: { filter: { type: 'string' } } }
  const limits = { timeout_ms: LIMIT_MS, max_steps: 3 }
  for (let i = 0; i < AGENTS; i++) {
    const tools = [{ type: 'http', name: 'look', method: 'POST', url: `${provider.url}/tool/m${i}`, input_schema }]
    await service.call('POST', '/v1/agents', { body: { name: `mate-${i}`, model: `local/m${i}`, tools, limits } })
  }
  return {
    async ask(seed, agent) {
      const wrong = await askOnce(service, `mate-${agent}`, provider.begin(`m${agent}`, performanceOf(seed)))
      if (provider.elsewhere.came.length > 0) wrong.push(`seed ${seed}: a redirect to another host was followed`)
      return wrong
    },
    async close() {
      await service.stop().finally(provider.close)
    },
  }
}

async function askOnce(service: Service, agent: string, act: Act): Promise<string[]> {
  const { performance } = act
  const { said } = performance
  const wrong: string[] = []
  const before = globalThis.performance.now()
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } })
  const took = globalThis.performance.now() - before
  if (took > LIMIT_MS + GRACE_MS) wrong.push(`it took ${Math.round(took)} ms`)
  const { status, body, text } = reply
  if (status === 200 && body.data.response !== said.text && !isCut(performance, body.data.response)) {
    wrong.push(
      `answered ${JSON.stringify(body.data.response).slice(0, 80)}, said was ${JSON.stringify(said.text).slice(0, 80)}`,
    )
  }
  if (status !== 200 && status !== 500 && status !== 504) wrong.push(`the status is ${status}`)
  if (isFair(performance) && status !== 200) wrong.push(`a fair answer failed: ${text.slice(0, 200)}`)
  if (text.includes(API_KEY)) wrong.push('the key of the provider is in the reply')
  wrong.push(...wrongCalls(act, status))
  if (act.asked > MOST_ASKED) wrong.push(`it was asked ${act.asked} times`)
  wrong.push(...(await wrongUsage(service, agent, performance, status)))
  try {
    await until('the connections to the provider', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return wrong.map((one) => `seed ${performance.seed} (${performance.manners.join(', ')}): ${one}`)
}

const has = ({ manners }: Performance, manner: string) => (manners as string[]).includes(manner)

/** An answer that ended at its limit is as much as there was of it. */
const isCut = (performance: Performance, response: string) =>
  has(performance, 'cut off at the limit') && performance.said.text.startsWith(response)

function wrongCalls({ calls, performance }: Act, status: number): string[] {
  const { call } = performance.said
  const wrong = calls.filter((made) => !isDeepStrictEqual(made, call))
  if (wrong.length > 0) return [`the tool was called with ${JSON.stringify(wrong)}, not ${JSON.stringify(call)}`]
  // A model that says the same again and again is not the service's mistake.
  if (calls.length > 1) return [`the tool was called ${calls.length} times`]
  if (call && status === 200 && calls.length === 0 && !has(performance, 'cut off at the limit'))
    return ['the tool was not called']
  return []
}

async function wrongUsage(service: Service, agent: string, { said }: Performance, status: number): Promise<string[]> {
  const { body } = await service.call('GET', `/v1/agents/${agent}/invocations?limit=1`)
  const { usage } = body.data[0]
  const { input_tokens, output_tokens } = usage
  if (
    !Number.isSafeInteger(input_tokens) ||
    !Number.isSafeInteger(output_tokens) ||
    input_tokens < 0 ||
    output_tokens < 0
  ) {
    return [`usage is ${input_tokens} and ${output_tokens}`]
  }
  if (input_tokens > 1_000_000) return [`${input_tokens} tokens were charged for a short prompt`]
  if (!said.usage || status !== 200) return []
  const calls = said.call ? [1, 2] : [1]
  const isRight = calls.some((times) => input_tokens === times * (said.usage?.input ?? 0))
  return isRight ? [] : [`${input_tokens} input tokens are charged, ${said.usage.input} were reported for each call`]
}
