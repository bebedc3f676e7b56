// Asks an agent whose tool or MCP server misbehaves, and says what is wrong with what came of it.
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Reply } from '../../support/service/service.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'
import { type Act, isFair, openHostileTools, performanceOf, resultOf } from './hostile-tools.ts'

/** The time limits of a call and of the agent, and what an answer may take in addition. */
const CALL_MS = 1_500 * PATIENCE
const LIMIT_MS = 4_000 * PATIENCE
const GRACE_MS = 8_000 * PATIENCE
const SECRET = 'tok-"quoted"/seven+more&less=7'
const ARGS = { berth: 7 }

/** One service for many seeds: one tool must not spoil another. */
export async function openToolStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const world = await openHostileTools(SECRET)
  const service = await start(engine, { ...LOCAL_TOOLS, ...FAST, LOG_LEVEL: 'debug' })
  const body = { value: SECRET, hosts: [world.host] }
  const kept = await service.call('PUT', '/v1/secrets/TOKEN', { body })
  if (kept.status >= 300) throw new Error(kept.text)
  for (let i = 0; i < AGENTS; i++) {
    const script = { rules: [{ call: { tool: 'act', arguments: ARGS }, reply: 'It said: {{result}}' }] }
    const limits = { timeout_ms: LIMIT_MS, max_steps: 3 }
    await service.call('POST', '/v1/agents', { body: { name: `mate-${i}`, model: 'builtin/script', script, limits } })
  }
  return {
    async ask(seed, agent) {
      const act = world.begin(`${seed}`, performanceOf(seed))
      const { kind, manners } = act.performance
      const headers = { 'X-Token': '{{secret.TOKEN}}' }
      const tool = { type: kind, url: `${world.url}/${seed}`, timeout_ms: CALL_MS, headers }
      const tools = [
        kind === 'http' ? { ...tool, name: 'act', method: 'POST', input_schema: { type: 'object' } } : tool,
      ]
      const made = await service.call('PATCH', `/v1/agents/mate-${agent}`, { body: { tools } })
      if (made.status !== 200) throw new Error(made.text)
      const wrong = await askOnce(service, `mate-${agent}`, act)
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

function wrongResult({ performance }: Act, { status, text }: Reply, steps: Step[]): string[] {
  const step = steps.find(({ kind }) => kind === 'tool')
  if (status !== 200 && status !== 504) return [`the status is ${status}: ${text.slice(0, 200)}`]
  if (isFair(performance) && step?.result === undefined)
    return [`a fair answer failed: ${(step?.error ?? text).slice(0, 200)}`]
  if (step?.result === undefined || isAnyRight(performance)) return []
  const right = resultOf(performance)
  if (step.result === right || step.result === `${right} [secret TOKEN]`) return []
  if (performance.manners.includes('early end') && right.startsWith(step.result)) return []
  return [`the result is ${JSON.stringify(step.result).slice(0, 120)}, not ${JSON.stringify(right).slice(0, 120)}`]
}

/** The tool did not say what it meant, and nobody can know. */
const isAnyRight = ({ manners }: Act['performance']) =>
  ['wrong charset', 'status 204', 'content is a text'].some((manner) => (manners as string[]).includes(manner))

function wrongCalls({ calls, performance }: Act, request_id: string): string[] {
  if (calls.length > 1) return [`the tool was called ${calls.length} times`]
  if (isFair(performance) && calls.length === 0) return ['the tool was not called']
  return calls.flatMap(({ args, headers }) => [
    ...(JSON.stringify(args) === JSON.stringify(ARGS) ? [] : [`it was called with ${JSON.stringify(args)}`]),
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
