import { conflict } from '../../errors.ts'
import { covers } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import type { Key } from '../key.ts'
import * as keys from '../store.ts'

const BY_GROUP = " Administrators whose role comes from a group don't count."

/**
 * Refuses to end the last key or role that administers the service. The host always can, but not everyone who runs the
 * service has access to it.
 */
export async function requireOtherAdmin(db: Database, held: Key, now: number, refusal: string): Promise<void> {
  if (held.project_id !== null || !covers(held.permissions, 'manage')) return
  const others = await keys.listOtherAdmins(db, held, now)
  const isByGroup = ({ role_source }: Pick<Key, 'role_source'>) => role_source?.startsWith('group:') ?? false
  if (others.every(isByGroup)) throw conflict(refusal + (others.length > 0 ? BY_GROUP : ''))
}
