import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { covers } from '../security/permissions.ts'
import type { TokenRun } from '../security/run-token.ts'
import type { Database } from '../storage/database.ts'
import type { StoredFile } from './file.ts'
import * as files from './store.ts'

export type ReachNeeds = Needs<'db' | 'actor' | 'now' | 'shownAgents'>

type FileAccess = 'read' | 'delete'

/**
 * The actor itself, if it can access only files that it has uploaded. This is so if it lacks the permission, or is
 * limited to one agent, because files belong to the project. Otherwise undefined.
 */
export function makerFor({ id, permissions, scope }: Actor, needed: FileAccess): string | undefined {
  return covers(permissions, needed) && scope.agent_id === null ? undefined : id
}

/** A file that the actor may not see gets the same reply as one that doesn't exist. */
export async function getInReach(
  { db, actor, now, shownAgents }: ReachNeeds,
  needed: FileAccess,
  file_id: string,
): Promise<StoredFile> {
  const { user_id } = actor.scope
  const { project_id, except } = await shownAgents()
  const file = await files.get(db, { project_id, id: file_id, except }, now())
  const isOfUser = user_id === null || user_id === file.user_id
  const isOfMaker = (makerFor(actor, needed) ?? file.created_by) === file.created_by
  if (!isOfUser || !isOfMaker) throw notFound('File', file_id)
  return file
}

/** The same for the token of a run: it names the files that its agent may read. */
export async function getInReachOfRun(
  db: Database,
  { project_id, file_ids }: TokenRun,
  file_id: string,
  now: number,
): Promise<StoredFile> {
  if (!file_ids.includes(file_id)) throw notFound('File', file_id)
  return files.get(db, { project_id, id: file_id, except: [] }, now)
}
