// Asks an agent that runs elsewhere and misbehaves, and says what is wrong with what came of it.
import { isDeepStrictEqual } from 'node:util'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Reply } from '../../support/service/service.ts'
import { randomOf } from '../random.ts'
import { type Act, has, isFair, openHostileRemote, type Performance, performanceOf } from './hostile-remote.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

const LIMIT_MS = 5_000 * PATIENCE
const GRACE_MS = 8_000 * PATIENCE
const SECRET = `whsec_${Buffer.from('what signs the calls of the remote').toString('base64')}`
/** Less than what an agent may report at once. */
const BUDGET = 100

type Whose = { user_id?: string; session_id?: string }

const WHOSE: Whose[] = [
  {},
  { session_id: 's1' },
  { session_id: 's2' },
  { user_id: 'ada' },
  { user_id: 'bob', session_id: 's1' },
]

export async function openRemoteStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const remote = await openHostileRemote(SECRET)
  const providers = Array.from({ length: AGENTS }, (_, i) => ({ name: `p${i}`, baseUrl: `${remote.url}/a${i}/v1` }))
  const settings = { ...LOCAL_TOOLS, ...FAST, MOORAGE_PROVIDERS: JSON.stringify(providers), LOG_LEVEL: 'debug' }
  const service = await start(engine, settings)
  await service.call('PUT', '/v1/secrets/REMOTE', { body: { value: SECRET, hosts: [remote.host] } })
  const input_schema = { type: 'object', properties: { filter: { type: 'string' } } }
  for (let i = 0; i < AGENTS; i++) {
    const url = `${remote.url}/a${i}`
    const tools = [{ type: 'http', name: 'look', method: 'POST', url: `${url}/tool`, input_schema }]
    const fields = { name: `far-${i}`, kind: 'remote', remote: { url, secret: 'REMOTE' }, model: `p${i}/small`, tools }
    const made = await service.call('POST', '/v1/agents', { body: { ...fields, limits: { timeout_ms: LIMIT_MS } } })
    if (made.status !== 201) throw new Error(made.text)
  }
  /** Whose message each is, by its text. */
  const said = new Map<string, string>()
  return {
    async ask(seed, agent) {
      const performance = performanceOf(seed)
      const name = `far-${agent}`
      const budget = has(performance, 'usage beyond the budget') ? await newBudget(service, name, seed) : undefined
      const act = remote.begin(`a${agent}`, performance)
      const whose = randomOf(seed + 1).of(WHOSE)
      const message = `the safe of message ${seed} is green`
      said.set(message, keyOf(name, whose))
      const wrong = await askOnce(service, name, act, { message, context: whose })
      wrong.push(...wrongMemories(act, said, keyOf(name, whose), whose))
      if (budget) wrong.push(...(await wrongBudget(service, budget, performance, act)))
      if (remote.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      if (service.log().includes(SECRET)) wrong.push('the secret is in the log of the service')
      const shown = `${performance.manners.join(', ')}; ${performance.steps.map(({ type }) => type).join(', ')}`
      return wrong.map((one) => `seed ${seed} (${shown}${performance.value ? '; a value' : ''}): ${one}`)
    },
    async close() {
      await service.stop().finally(remote.close)
    },
  }
}

/** docs/memory.md: a user has the same memories in all sessions. Without a user, each session has its own. */
const keyOf = (agent: string, { user_id, session_id }: Whose) => `${agent} ${user_id ?? `session ${session_id}`}`

async function askOnce(service: Subject, agent: string, act: Act, body: object): Promise<string[]> {
  const { performance } = act
  const wrong: string[] = []
  const before = globalThis.performance.now()
  const schema = { type: 'object', properties: { said: { type: 'string' } }, required: ['said'] }
  const output = performance.value ? { output: { schema, retries: 0 } } : {}
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { ...body, ...output } })
  const took = globalThis.performance.now() - before
  if (took > LIMIT_MS + GRACE_MS) wrong.push(`it took ${Math.round(took)} ms`)
  wrong.push(...wrongReply(performance, reply), ...wrongCalls(act))
  const { body: listed, text } = await service.call('GET', `/v1/agents/${agent}/invocations?limit=1`)
  const [receipt] = listed.data
  const tokens = act.calls.at(-1)?.body.steps_token ?? SECRET
  for (const shown of [reply.text, text]) {
    if (shown.includes(SECRET) || shown.includes(tokens)) wrong.push('a secret is in the reply')
  }
  wrong.push(...wrongUsage(act, receipt, reply.status))
  try {
    await until('', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return [...wrong, ...act.wrong]
}

function wrongReply(performance: Performance, { status, body, text }: Reply): string[] {
  if (![200, 500, 503, 504].includes(status)) return [`the status is ${status}: ${text.slice(0, 200)}`]
  if (isFair(performance) && status !== 200) return [`a fair answer failed: ${text.slice(0, 200)}`]
  if (status !== 200) return text.includes('failed unexpectedly') ? ['the service failed unexpectedly'] : []
  const { value, said } = performance
  const { response, output } = body.data
  const isRight = value ? isDeepStrictEqual(output, value) : response === said.join('')
  return isRight
    ? []
    : [`answered ${JSON.stringify(value ? output : response).slice(0, 80)}, said was ${JSON.stringify(said)}`]
}

function wrongCalls({ calls, tool }: Act): string[] {
  const keys = new Set(calls.map(({ headers }) => String(headers['idempotency-key'])))
  const runs = new Set(calls.map(({ body }) => body.request_id))
  const wrong: string[] = []
  if (keys.size > 1) wrong.push(`the calls of one attempt have the keys ${[...keys].join(', ')}`)
  if (runs.size > 1) wrong.push('the calls are of several runs')
  const made = tool.map((args) => JSON.stringify(args))
  if (new Set(made).size < made.length) wrong.push(`its tool was called with ${made.join(', ')}`)
  return wrong
}

type Receipt = { usage: { input_tokens: number; output_tokens: number } }

/** What the agent reports is added up. A call that is repeated may report it again. */
function wrongUsage({ performance, calls }: Act, { usage }: Receipt, status: number): string[] {
  const { input_tokens, output_tokens } = usage
  if (!Number.isSafeInteger(input_tokens) || !Number.isSafeInteger(output_tokens) || input_tokens < 0)
    return [`usage is ${input_tokens} and ${output_tokens}`]
  const due = performance.usage.reduce((sum, one) => sum + one.input_tokens, 0)
  if (input_tokens > due * Math.max(1, calls.length))
    return [`${input_tokens} input tokens are charged, ${due} were reported`]
  const isSure = status === 200 && isFair(performance)
  return !isSure || input_tokens === due ? [] : [`${input_tokens} input tokens are charged, ${due} were reported`]
}

function wrongMemories({ calls, found }: Act, said: Map<string, string>, key: string, whose: Whose): string[] {
  const isAnonymous = whose.user_id === undefined && whose.session_id === undefined
  const shown = calls.flatMap(({ body }) => [...body.history, ...body.recalled].map(({ content }) => content))
  const others = [...found, ...shown].filter((text) => said.has(text) && (isAnonymous || said.get(text) !== key))
  return others.length === 0
    ? []
    : [`of ${key}, it was shown ${JSON.stringify(others[0])} of ${said.get(others[0] as string)}`]
}

async function newBudget(service: Subject, agent: string, seed: number): Promise<string> {
  const scope = { type: 'agent', id: agent }
  const body = { name: `budget-${seed}`, scope, limit: { tokens: BUDGET }, per: 'ever' }
  return (await service.call('POST', '/v1/budgets', { body })).body.data.id
}

async function wrongBudget(service: Subject, id: string, performance: Performance, { calls }: Act): Promise<string[]> {
  const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
  await service.call('DELETE', `/v1/budgets/${id}`)
  const due = performance.usage.reduce((sum, one) => sum + one.input_tokens + one.output_tokens, 0)
  const wrong = reserved === 0 ? [] : [`the budget still reserves ${reserved}`]
  const isSure = isFair(performance) && calls.length === 1
  return isSure && used !== due ? [...wrong, `the budget counts ${used}, ${due} were reported`] : wrong
}
