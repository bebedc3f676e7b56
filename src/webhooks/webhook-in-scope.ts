import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { requireFound } from '../operation/scope.ts'
import type { Database } from '../storage/database.ts'
import * as deliveries from './delivery/delivery-store.ts'
import * as webhooks from './store.ts'
import type { Webhook } from './webhook.ts'

export async function getInScope(db: Database, actor: Actor, id: string): Promise<Webhook> {
  return requireFound(actor, await webhooks.find(db, id), { kind: 'Webhook', id })
}

/**
 * A webhook that its agent's keys can test, and whose URL and secret they can change. Callbacks aren't included,
 * because the client has provided credentials for its own URL.
 */
export async function getChangeable(db: Database, actor: Actor, id: string): Promise<Webhook> {
  const webhook = await getInScope(db, actor, id)
  if (webhook.request_id !== null) throw notFound('Webhook', id)
  return webhook
}

/** The agent of the webhook in the path. The agent's own security also applies to its webhooks and their deliveries. */
export async function concernedAgent(
  { params }: { params: { webhook_id: string } },
  db: Database,
): Promise<string | null> {
  return (await webhooks.find(db, params.webhook_id))?.agent_id ?? null
}

/** The agent that a delivery of a webhook for all agents is about. */
export async function agentOfDelivery(
  { params }: { params: { webhook_id: string; delivery_id: string } },
  db: Database,
): Promise<string | null> {
  const webhook = await webhooks.find(db, params.webhook_id)
  if (!webhook) return null
  return webhook.agent_id ?? deliveries.findAgentOf(db, webhook.id, params.delivery_id)
}
