import type { Conversation } from '../../operation/recall.ts'
import type { Database } from '../../storage/database.ts'

/** Where a session has the time before which its work is not tried again. Lists of due sessions leave it out until then. */
export type PutOff = 'facts_after' | 'summary_after'

export async function putOff(db: Database, session: Conversation, column: PutOff, until: number): Promise<void> {
  await db
    .updateTable('memory_scopes')
    .set({ [column]: until })
    .where('agent_seq', '=', session.agent_seq)
    .where('level', '=', 2)
    .where('user_id', '=', session.user_id ?? '')
    .where('session_id', '=', session.session_id ?? '')
    .execute()
}
