import { type Actor, outOfScope } from '../operation.ts'
import type { Database } from '../storage/database.ts'
import * as webhooks from './store.ts'
import type { Webhook } from './webhook.ts'

/** To a scoped actor a webhook of another scope and one that does not exist look alike. */
export async function getInScope(db: Database, actor: Actor, id: string): Promise<Webhook> {
  if (actor.agent_id === null) return webhooks.get(db, id)
  const webhook = await webhooks.find(db, id)
  if (webhook?.agent_id !== actor.agent_id) throw outOfScope()
  return webhook
}

/** The agent to which the webhook of a path belongs: its own security holds for what is done to its webhooks. */
export async function concernedAgent(
  { params }: { params: { webhook_id: string } },
  db: Database,
): Promise<string | null> {
  return (await webhooks.find(db, params.webhook_id))?.agent_id ?? null
}
