// docs/webhooks.md: which events are sent, and to whom.
import { agentNamed, asker, projectOf, requireOwn, wholeProject } from './access.ts'
import type { Act } from './act.ts'
import { type Key, Refusal, type Webhook, type World } from './world.ts'

export function createWebhook(world: World, act: Extract<Act, { do: 'create webhook' }>) {
  const key = asker(world, act, 'write')
  if (act.agent === null) wholeProject(key)
  else agentNamed(world, act, act.agent)
  projectOf(world, act).webhooks[act.webhook] = { agent: act.agent, events: act.events, isEnabled: true }
  return { status: 201, says: { events: act.events } }
}

/** A disabled webhook gets no events. Those that were on their way to it may have arrived, or not. */
export function setWebhook(world: World, act: Extract<Act, { webhook: string }>) {
  asker(world, act, 'write')
  const webhook = webhookOf(world, act)
  webhook.isEnabled = act.do === 'enable webhook'
  if (!webhook.isEnabled) loseSight(world, act.webhook)
  return { status: 200, says: { status: webhook.isEnabled ? 'enabled' : 'disabled' } }
}

export function deleteWebhook(world: World, act: Extract<Act, { webhook: string }>) {
  asker(world, act, 'delete')
  webhookOf(world, act)
  delete projectOf(world, act).webhooks[act.webhook]
  loseSight(world, act.webhook)
  return { status: 200, says: { deleted: true } }
}

function webhookOf(world: World, act: Extract<Act, { webhook: string }>): Webhook {
  const webhook = projectOf(world, act).webhooks[act.webhook]
  requireOwn(world.keys[act.by] as Key, webhook)
  if (!webhook) throw new Refusal(404, 'not_found')
  return webhook
}

function loseSight(world: World, url: string): void {
  for (const delivery of world.deliveries) if (delivery.url === url) delivery.certain = false
}

/** An event goes to every webhook of its agent, and to those of all agents in its project, that want it. */
export function announce(world: World, from: { project: string; agent: string }, type: string, about: string): void {
  const { project } = from
  for (const [url, { agent, events, isEnabled }] of Object.entries(world.projects[project]?.webhooks ?? {})) {
    const wants = isEnabled && (events.includes('*') || events.includes(type))
    if (wants && (agent === null || agent === from.agent)) {
      world.deliveries.push({ project, url, type, about, certain: true })
    }
  }
}
