import { statusOf } from '../../keys/key.ts'
import * as keys from '../../keys/store.ts'
import { covers } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'

export type RightToRun = { status: 'active' | 'revoked' | 'expired'; person_id: string | null }

/** The command line on the server, which has all rights. */
const LOCAL = 'local'

/**
 * Whether the key that last changed a schedule or a trigger can still start runs in the agent's project. The key may have
 * ended, the agent may have moved to another project, and the person's role may have become one that can't invoke
 * anything.
 */
export async function rightToRun(
  db: Database,
  { updated_by }: { updated_by: string },
  { project_id }: { project_id: string },
  now: number,
): Promise<RightToRun> {
  if (updated_by === LOCAL) return { status: 'active', person_id: null }
  const key = await keys.find(db, updated_by)
  const isElsewhere = (key?.project_id ?? project_id) !== project_id
  const may = key && !isElsewhere && covers(key.permissions, 'invoke')
  return { status: may ? statusOf(key, now) : 'revoked', person_id: key?.person_id ?? null }
}
