import type { Config } from '../../config.ts'
import { actorOf, statusOf } from '../../keys/key.ts'
import type { Giver } from '../../keys/key-tiers.ts'
import * as keys from '../../keys/store.ts'
import { covers, coversAll, permissionsOf } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import type { Invitation } from './invitation.ts'

/** The command line on the server. */
const HOST: Giver & { id: string } = { kind: 'local', id: 'local', tier: '' }

/**
 * The maker of an invitation, if they could still make it now. Undefined if their key or role has ended, or has fewer
 * permissions now.
 */
export async function findMaker(
  db: Database,
  { created_by, project_id, role }: Pick<Invitation, 'created_by' | 'project_id' | 'role'>,
  { roles }: Pick<Config, 'roles'>,
  now: number,
): Promise<Giver | undefined> {
  if (created_by === HOST.id) return HOST
  const maker = await keys.find(db, created_by)
  if (!maker || statusOf(maker, now) !== 'active') return undefined
  const isInReach = maker.project_id === null || maker.project_id === project_id
  const mayGive = covers(maker.permissions, 'manage') && coversAll(maker.permissions, permissionsOf(role, roles))
  return isInReach && mayGive ? actorOf(maker) : undefined
}
