import { withKeyNames } from '../../keys/key-names.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Database } from '../../storage/database.ts'
import { listOfRuns } from './feedback-store.ts'

type Told = { request_id: string; agent_id: string }

/** Adds their feedback to receipts. Most have none and stay as they are. */
export async function withFeedback<Receipt extends Told>(db: Database, actor: Actor, receipts: readonly Receipt[]) {
  const ids = receipts.map(({ request_id }) => request_id)
  const found = await withKeyNames(db, actor, await listOfRuns(db, ids), ['created_by'])
  const given = Map.groupBy(found, ({ request_id }) => request_id)
  return receipts.map((receipt) => {
    const { agent_id } = receipt
    const feedback = given.get(receipt.request_id)?.map((one) => ({ ...one, agent_id }))
    return { ...receipt, ...(feedback && { feedback }) }
  })
}
