import * as keys from '../keys/store.ts'
import type { Database } from '../storage/database.ts'
import * as applications from './store.ts'

/** Ends an application immediately, on every node. What is stored of its tokens stays for a while, to recognize them. */
export async function endApplication(db: Database, id: string, now: number): Promise<void> {
  await keys.update(db, id, { revoked_at: now })
  await keys.removeEarlierSecrets(db, id, Number.MAX_SAFE_INTEGER)
}

/** Removes applications that have ended by themselves, and their tokens. Their keys stay, so that receipts can name them. */
export async function removeEndedApplications(db: Database, before: number): Promise<number> {
  const ended = await applications.removeEnded(db, before)
  for (const id of ended) {
    const key = await keys.find(db, id)
    if (key?.revoked_at === null) await endApplication(db, id, before)
  }
  return ended.length
}
