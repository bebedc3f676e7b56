// docs/webhooks.md: "Each event is stored in the same transaction as its cause, and sent until your receiver has accepted it".
import { agentNamed, asker, projectOf, wholeProject } from './access.ts'
import type { Act } from './act.ts'
import { Refusal, type World } from './world.ts'

export function createWebhook(world: World, act: Extract<Act, { do: 'create webhook' }>) {
  const key = asker(world, act, 'write')
  if (act.agent === null) wholeProject(key)
  else agentNamed(world, act, act.agent)
  projectOf(world, act).webhooks[act.webhook] = { agent: act.agent, events: act.events }
  return { status: 201, says: { events: act.events } }
}

/** Events that were on their way to it may have arrived, or not. */
export function deleteWebhook(world: World, act: Extract<Act, { do: 'delete webhook' }>) {
  const key = asker(world, act, 'delete')
  const { webhooks } = projectOf(world, act)
  const webhook = webhooks[act.webhook]
  if (!webhook || (key.agent !== null && webhook.agent !== key.agent)) throw new Refusal(404, 'not_found')
  delete webhooks[act.webhook]
  for (const delivery of world.deliveries) if (delivery.url === act.webhook) delivery.certain = false
  return { status: 200, says: { deleted: true } }
}

/** An event goes to every webhook of its agent, and to those of all agents in its project, that want it. */
export function announce(world: World, from: { project: string; agent: string }, type: string, about: string): void {
  for (const [url, { agent, events }] of Object.entries(world.projects[from.project]?.webhooks ?? {})) {
    const wants = events.includes('*') || events.includes(type)
    if (wants && (agent === null || agent === from.agent)) world.deliveries.push({ url, type, about, certain: true })
  }
}
