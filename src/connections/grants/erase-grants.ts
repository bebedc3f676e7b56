import type { Needs } from '../../operation/context.ts'
import * as links from '../links/link-store.ts'
import * as connections from '../store.ts'
import { revokeAtProvider } from './end-grants.ts'
import * as grants from './grant-store.ts'

type EraseNeeds = Needs<'connectionProviders' | 'keyring' | 'log' | 'storage'>

/** Ends a user's sign-ins, at the providers too, and removes all that is stored about them. Returns how many were in use. */
export async function eraseGrants(
  { project_id, user_id }: { project_id: string; user_id: string },
  context: EraseNeeds,
): Promise<number> {
  const { storage } = context
  const whose = { project_id, holder: user_id }
  const inUse = await grants.listInUse(storage.db, whose)
  for (const [connection_id, its] of Map.groupBy(inUse, (grant) => grant.connection_id)) {
    const connection = await connections.findById(storage.db, connection_id)
    // If the request is interrupted after this, the same request finds the rows again.
    if (connection) await revokeAtProvider(its, connection, context)
  }
  await storage.transaction(async (db) => {
    await grants.removeOfUser(db, whose)
    await links.removeOfUser(db, whose)
  })
  return inUse.length
}
