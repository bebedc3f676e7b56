// Asks an A2A agent that misbehaves, and says what is wrong with what came of it.
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine } from '../../support/service/service.ts'
import { type Act, isFair, openHostileA2a, performanceOf } from './hostile-a2a.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

const LIMIT_MS = 5_000 * PATIENCE
const GRACE_MS = 10_000 * PATIENCE
const SECRET = 'tok-of-the-agent-elsewhere-7'

export async function openA2aStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const world = await openHostileA2a(SECRET)
  const service = await start(engine, { ...LOCAL_TOOLS, ...FAST, LOG_LEVEL: 'debug' })
  const kept = await service.call('PUT', '/v1/secrets/FAR', { body: { value: SECRET, hosts: [world.host] } })
  if (kept.status >= 300) throw new Error(kept.text)
  const headers = { 'X-Token': '{{secret.FAR}}' }
  for (let i = 0; i < AGENTS; i++) {
    const remote = { a2a: `${world.url}/a${i}/card`, headers }
    const body = { name: `far-${i}`, kind: 'remote', remote, limits: { timeout_ms: LIMIT_MS } }
    const made = await service.call('POST', '/v1/agents', { body })
    if (made.status !== 201) throw new Error(made.text)
  }
  return {
    async ask(seed, agent) {
      const act = world.begin(`a${agent}`, performanceOf(seed))
      const { manners, where } = act.performance
      const wrong = await askOnce(service, `far-${agent}`, act)
      // A card may name another host, which never gets what is meant for this one.
      if (world.elsewhere.came.some(({ headers: came }) => JSON.stringify(came).includes(SECRET)))
        wrong.push('another host was sent the secret')
      if (!manners.includes('card of another host') && world.elsewhere.came.length > 0)
        wrong.push('a redirect to another host was followed')
      world.elsewhere.came.length = 0
      if (service.log().includes(SECRET)) wrong.push('the secret is in the log of the service')
      return wrong.map((one) => `seed ${seed} (${where}: ${manners.join(', ')}): ${one}`)
    },
    async close() {
      await service.stop().finally(world.close)
    },
  }
}

async function askOnce(service: Subject, agent: string, act: Act): Promise<string[]> {
  const { performance } = act
  const wrong: string[] = []
  const began = globalThis.performance.now()
  const body = { message: 'go', context: { user_id: 'ada', session_id: 's1' } }
  const { status, text, body: reply } = await service.call('POST', `/v1/agents/${agent}/invoke`, { body })
  const took = globalThis.performance.now() - began
  if (took > LIMIT_MS + GRACE_MS) wrong.push(`it took ${Math.round(took)} ms`)
  const due = performance.said.join('\n\n')
  if (![200, 500, 503, 504].includes(status)) wrong.push(`the status is ${status}: ${text.slice(0, 200)}`)
  if (isFair(performance) && status !== 200) wrong.push(`a fair answer failed: ${text.slice(0, 200)}`)
  if (status === 200 && reply.data.response !== due && !(reply.data.response === '' && saysNothing(act)))
    wrong.push(
      `answered ${JSON.stringify(reply.data.response).slice(0, 80)}, said was ${JSON.stringify(due).slice(0, 80)}`,
    )
  if (text.includes('failed unexpectedly')) wrong.push('the service failed unexpectedly')
  const { text: receipts } = await service.call('GET', `/v1/agents/${agent}/invocations?limit=1`)
  const { text: logs } = await service.call('GET', `/v1/agents/${agent}/logs?limit=20`)
  for (const shown of [text, receipts, logs]) if (shown.includes(SECRET)) wrong.push('the secret is shown')
  wrong.push(...wrongMessages(act))
  try {
    await until('', () => act.busy.size === 0, 6_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  return wrong
}

const saysNothing = ({ performance: { where, manners } }: Act) =>
  where === 'message' && manners.includes('says nothing')

/** docs/a2a-agents.md: "If the message must be sent again, it has the same `messageId` and `Idempotency-Key`." */
function wrongMessages({ messages, performance }: Act): string[] {
  const different = new Set(messages.map(({ id, key }) => `${id} ${key}`))
  const wrong = different.size > 1 ? [`one message was sent as ${[...different].join(' and ')}`] : []
  if (isFair(performance) && messages.length > 1 && !performance.manners.includes('no streaming'))
    wrong.push(`the message was sent ${messages.length} times`)
  return wrong
}
