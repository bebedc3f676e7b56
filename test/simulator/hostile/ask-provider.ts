// Asks an agent whose provider misbehaves, and says what is wrong with what came of it.
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Reply } from '../../support/service/service.ts'
import {
  type Act,
  isFair,
  type Manner,
  openHostileProvider,
  type Performance,
  performanceOf,
} from './hostile-provider.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

/** The time limit of the agent, and what an answer may take in addition. */
const LIMIT_MS = 5_000 * PATIENCE
const GRACE_MS = 8_000 * PATIENCE
/** What was reserved and not used is given back within this time. */
const RETURNED_MS = 2_000
const RETRY_AFTER_MS = 1_500
const API_KEY = 'sk-of-the-hostile-provider'
const MOST_ASKED = 8

/** One service for many seeds: one answer must not spoil another. */
export async function openHostileStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const provider = await openHostileProvider()
  const mute = await openMute()
  const providers = [
    { name: 'local', baseUrl: `${provider.url}/v1`, apiKey: API_KEY },
    { name: 'mute', baseUrl: `${mute.url}/v1`, apiKey: API_KEY },
  ]
  const settings = { ...LOCAL_TOOLS, ...FAST, MOORAGE_PROVIDERS: JSON.stringify(providers), LOG_LEVEL: 'error' }
  const service = await start(engine, settings)
  const input_schema = { type: 'object', properties: { filter: { type: 'string' } } }
  const limits = { timeout_ms: LIMIT_MS, max_steps: 3 }
  for (let i = 0; i < AGENTS; i++) {
    const tools = [{ type: 'http', name: 'look', method: 'POST', url: `${provider.url}/tool/m${i}`, input_schema }]
    await service.call('POST', '/v1/agents', { body: { name: `mate-${i}`, model: `local/m${i}`, tools, limits } })
    await service.call('POST', '/v1/agents', { body: { name: `mute-${i}`, model: `mute/m${i}`, tools, limits } })
    const scope = { type: 'agent', id: `mate-${i}` }
    await service.call('POST', '/v1/budgets', {
      body: { name: `budget-${i}`, scope, limit: { tokens: 1e12 }, per: 'ever' },
    })
  }
  const reserved = async (agent: number): Promise<number> => {
    const { body } = await service.call('GET', '/v1/budgets?limit=100')
    return body.data.find(({ name }: { name: string }) => name === `budget-${agent}`).reserved
  }
  return {
    async ask(seed, agent) {
      const performance = performanceOf(seed)
      const name = has(performance, 'TLS that never answers') ? `mute-${agent}` : `mate-${agent}`
      const act = provider.begin(`m${agent}`, performance, async () => {
        try {
          await until('', async () => (await reserved(agent)) === 0, RETURNED_MS)
        } catch {
          act.wrong.push('while the tool is called, the budget still reserves what the call of the model has not used')
        }
      })
      const wrong = await askOnce(service, name, act)
      if (provider.elsewhere.came.length > 0) wrong.push(`seed ${seed}: a redirect to another host was followed`)
      return wrong
    },
    async close() {
      // A connection that is never established is given up only after ten seconds, even if the service stops.
      await mute.close()
      await service.stop().finally(provider.close)
    },
  }
}

/** It accepts connections, and never says anything: no handshake is ever done. */
async function openMute() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function askOnce(service: Subject, agent: string, act: Act): Promise<string[]> {
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
  if (![200, 500, 503, 504].includes(status)) wrong.push(`the status is ${status}`)
  if (isFair(performance) && status !== 200) wrong.push(`a fair answer failed: ${text.slice(0, 200)}`)
  if (text.includes(API_KEY)) wrong.push('the key of the provider is in the reply')
  wrong.push(...act.wrong, ...wrongCalls(act, status), ...wrongRetries(act, reply))
  if (act.asked > MOST_ASKED) wrong.push(`it was asked ${act.asked} times`)
  wrong.push(...(await wrongUsage(service, agent, act, status)))
  try {
    await until('the connections to the provider', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return wrong.map((one) => `seed ${performance.seed} (${performance.manners.join(', ')}): ${one}`)
}

/**
 * docs/runs.md: a provider that says when to ask again is asked then. docs/openai.md: a client is told not to start a run
 * again that has called a tool.
 */
function wrongRetries({ performance, times, calls }: Act, { status, headers }: Reply): string[] {
  const wrong: string[] = []
  const [first = 0, second] = times
  if (has(performance, 'overload 529, once') && has(performance, 'Retry-After 1.5') && second !== undefined) {
    const waited = Math.round(second - first)
    if (waited < RETRY_AFTER_MS - 50) wrong.push(`it was asked again after ${waited} ms, not ${RETRY_AFTER_MS}`)
  }
  const isRefused = status === 429 || status >= 500
  if (calls.length > 0 && isRefused && headers.get('x-should-retry') !== 'false' && status !== 504)
    wrong.push(`a client may start the run again, which has called its tool (${status})`)
  return wrong
}

const has = ({ manners }: Performance, manner: Manner) => manners.includes(manner)

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

async function wrongUsage(
  service: Subject,
  agent: string,
  { asked, performance: { said } }: Act,
  status: number,
): Promise<string[]> {
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
  if (asked === 0 && input_tokens + output_tokens > 0)
    return [`${input_tokens} and ${output_tokens} tokens are charged for a request that never arrived`]
  if (input_tokens > 1_000_000) return [`${input_tokens} tokens were charged for a short prompt`]
  if (!said.usage || status !== 200) return []
  const calls = said.call ? [1, 2] : [1]
  const isRight = calls.some((times) => input_tokens === times * (said.usage?.input ?? 0))
  return isRight ? [] : [`${input_tokens} input tokens are charged, ${said.usage.input} were reported for each call`]
}
