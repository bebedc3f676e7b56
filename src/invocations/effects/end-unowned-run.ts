import type { Parts } from '../../operation/parts.ts'
import type { Write } from '../../storage/journal/rows.ts'
import type { Invocation } from '../invocation.ts'
import { endUnowned } from '../store.ts'

/**
 * Ends a run that no node runs, and sends its events at once. `writes` is what it leaves besides its row. Returns false
 * if a node runs it after all; then nothing is written.
 */
export async function endUnownedRun(
  ended: Invocation,
  writes: Write[],
  { events, now, storage }: Pick<Parts, 'events' | 'now' | 'storage'>,
): Promise<boolean> {
  const isEnded = await storage.transaction((db) => endUnowned(db, ended, writes, now()))
  if (isEnded) events.wake(writes)
  return isEnded
}
