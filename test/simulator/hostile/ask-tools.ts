// Asks an agent whose tool or MCP server misbehaves, and says what is wrong with what came of it.
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Reply } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'
import { type Act, argumentsOf, isFair, openHostileTools, performanceOf, resultOf } from './hostile-tools.ts'

/** The time limits of a call and of the agent, and what an answer may take in addition. */
const CALL_MS = 1_500 * PATIENCE
const LIMIT_MS = 4_000 * PATIENCE
const GRACE_MS = 8_000 * PATIENCE
const SECRET = 'tok-"quoted"/seven+more&less=7'
/** Less than a long file has. */
const BUDGET = 20_000

/** One service for many seeds: one tool must not spoil another. */
export async function openToolStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const world = await openHostileTools(SECRET)
  const service = await start(engine, {
    ...LOCAL_TOOLS,
    ...FAST,
    ...localProvider(`${world.url}/v1`),
    LOG_LEVEL: 'debug',
  })
  const body = { value: SECRET, hosts: [world.host] }
  const kept = await service.call('PUT', '/v1/secrets/TOKEN', { body })
  if (kept.status >= 300) throw new Error(kept.text)
  for (let i = 0; i < AGENTS; i++) {
    const limits = { timeout_ms: LIMIT_MS, max_steps: 3, max_output_tokens: 200 }
    const agent = { name: `mate-${i}`, model: `local/m${i}`, limits }
    const made = await service.call('POST', '/v1/agents', { body: agent })
    if (made.status !== 201) throw new Error(made.text)
  }
  return {
    async ask(seed, agent) {
      const act = world.begin(`${seed}`, performanceOf(seed), `m${agent}`)
      const { kind, manners } = act.performance
      const headers = { 'X-Token': '{{secret.TOKEN}}' }
      const tool = { type: kind, url: `${world.url}/${seed}`, timeout_ms: CALL_MS, headers }
      const tools = [
        kind === 'http' ? { ...tool, name: 'act', method: 'POST', input_schema: { type: 'object' } } : tool,
      ]
      const made = await service.call('PATCH', `/v1/agents/mate-${agent}`, { body: { tools } })
      if (made.status !== 200) throw new Error(made.text)
      const budget = (manners as string[]).includes('as a long file')
        ? await newBudget(service, agent, seed)
        : undefined
      const wrong = await askOnce(service, `mate-${agent}`, act)
      if (budget) wrong.push(...(await wrongBudget(service, budget)))
      if (manners.includes('session lost in between')) {
        act.sessions.clear()
        act.calls.length = 0
        wrong.push(...(await askOnce(service, `mate-${agent}`, act)))
      }
      if (world.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      if (isLeaked(service.log())) wrong.push('the secret is in the log of the service')
      return wrong.map((one) => `seed ${seed} (${kind}: ${manners.join(', ')} from ${act.performance.from}): ${one}`)
    },
    async close() {
      await service.stop().finally(world.close)
    },
  }
}

async function newBudget(service: Subject, agent: number, seed: number): Promise<string> {
  const scope = { type: 'agent', id: `mate-${agent}` }
  const body = { name: `budget-${seed}`, scope, limit: { tokens: BUDGET }, per: 'ever' }
  return (await service.call('POST', '/v1/budgets', { body })).body.data.id
}

/** docs/budgets.md: a call for which there is no room is not made. */
async function wrongBudget(service: Subject, id: string): Promise<string[]> {
  const { used, reserved } = (await service.call('GET', `/v1/budgets/${id}`)).body.data
  await service.call('DELETE', `/v1/budgets/${id}`)
  return used + reserved > BUDGET ? [`${used} tokens of ${BUDGET} are used, and ${reserved} reserved`] : []
}

async function askOnce(service: Subject, agent: string, act: Act): Promise<string[]> {
  const wrong: string[] = []
  const before = globalThis.performance.now()
  const body = { message: 'go', context: { user_id: 'ada' } }
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
  const took = globalThis.performance.now() - before
  if (took > LIMIT_MS + GRACE_MS) wrong.push(`it took ${Math.round(took)} ms`)
  const { body: listed, text } = await service.call('GET', `/v1/agents/${agent}/invocations?limit=1`)
  const [receipt] = listed.data
  const logs = await service.call('GET', `/v1/agents/${agent}/logs?request_id=${receipt.request_id}&limit=100`)
  if (isLeaked(reply.text) || isLeaked(text)) wrong.push('the secret is in the reply')
  if (isLeaked(logs.text)) wrong.push('the secret is in the logs')
  wrong.push(...wrongResult(act, reply, receipt.steps), ...wrongCalls(act, receipt.request_id))
  try {
    await until('the connections to the tool', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return wrong
}

type Step = { kind: string; name?: string; result?: string; error?: string }

function wrongResult({ performance }: Act, { status, text }: Reply, all: Step[]): string[] {
  if (status !== 200 && status !== 504 && !(status === 429 && has(performance, 'as a long file')))
    return [`the status is ${status}: ${text.slice(0, 200)}`]
  const steps = all.filter(({ kind }) => kind === 'tool')
  const failed = steps.find(({ result }) => result === undefined)
  if (isFair(performance) && (failed || steps.length < performance.count))
    return [`a fair answer failed: ${(failed?.error ?? text).slice(0, 200)}`]
  if (isAnyRight(performance)) return []
  return steps.flatMap(({ result }) => {
    const right = resultOf(performance)
    if (result === undefined || result === right || result === `${right} [secret TOKEN]`) return []
    if (has(performance, 'early end') && right.startsWith(result)) return []
    return [`the result is ${JSON.stringify(result).slice(0, 120)}, not ${JSON.stringify(right).slice(0, 120)}`]
  })
}

const has = ({ manners }: Act['performance'], manner: string) => (manners as string[]).includes(manner)

/** The tool did not say what it meant, and nobody can know. */
const isAnyRight = (performance: Act['performance']) =>
  ['wrong charset', 'status 204', 'content is a text', 'as a long file'].some((manner) => has(performance, manner))

function wrongCalls({ calls, performance }: Act, request_id: string): string[] {
  const wanted = argumentsOf(performance).map((args) => JSON.stringify(args))
  const made = calls.map(({ args }) => JSON.stringify(args))
  if (new Set(made).size < made.length) return [`the tool was called with ${made.join(', ')}`]
  if (isFair(performance) && made.length < wanted.length) return [`the tool was called ${made.length} times`]
  return calls.flatMap(({ args, headers }) => [
    ...(wanted.includes(JSON.stringify(args)) ? [] : [`it was called with ${JSON.stringify(args)}`]),
    ...(String(headers['idempotency-key']).startsWith(`${request_id}-`) ? [] : ['the call has no key of its own']),
    ...(headers['x-token'] === SECRET ? [] : ['the secret was not sent']),
  ])
}

const FORMS = [
  SECRET,
  JSON.stringify(SECRET).slice(1, -1),
  JSON.stringify(JSON.stringify(SECRET).slice(1, -1)).slice(1, -1),
  encodeURIComponent(SECRET),
  Buffer.from(SECRET).toString('base64'),
]

const isLeaked = (text: string) => FORMS.some((form) => text.includes(form))
