import { z } from 'zod'
import type { Config } from '../config.ts'
import { conflict, invalid, unavailable } from '../errors.ts'
import type { NewId } from '../lib/id.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import * as blobs from '../storage/bytes/blobs.ts'
import type { TakenBytes } from '../storage/bytes/bytes.ts'
import type { Database } from '../storage/database.ts'
import { FileName, type StoredFile } from './file.ts'
import * as files from './store.ts'

/** What brought a file. All are null for one that a client uploaded. */
export type FileOrigin = Pick<StoredFile, 'agent_id' | 'request_id' | 'schedule_id'>

export type NewFile = FileOrigin &
  Pick<StoredFile, 'media_type' | 'user_id' | 'created_by' | 'unclaimed'> & {
    taken: TakenBytes
    /** As the client gave it. */
    name: string | undefined
    expires_in_seconds: number | undefined
  }

type Using = { config: Config; newId: NewId; now(): number }

/**
 * Makes a file of bytes that have come. It needs a transaction. The caller that took the bytes calls `bytes.release` after it,
 * whether it was committed or not.
 */
export async function keepFile(
  db: Database,
  { taken, name = 'file', expires_in_seconds: seconds, ...file }: NewFile,
  { config, newId, now }: Using,
): Promise<StoredFile> {
  const { id, project_id, size, sha256 } = taken
  requireName(name)
  await blobs.holdProject(db, project_id)
  await requireRoomFor(db, { project_id, user_id: file.user_id, size }, config.files)
  const blob_id = await blobs.keep(db, { id, project_id, sha256 })
  if (blob_id === undefined) throw unavailable('The upload took too long and was removed, send it again')
  const created_at = now()
  const expires_at = seconds === undefined ? null : created_at + seconds * 1000
  const stored = { project_id, blob_id, name, size, sha256, created_at, expires_at }
  const kept = { ...file, ...stored, id: newId('file', created_at) }
  await files.insert(db, kept)
  return kept
}

function requireName(name: string): void {
  const { error } = FileName.safeParse(name)
  if (error) throw invalid({ field: 'name', error: z.flattenError(error).formErrors[0] ?? 'is not a name' })
}

type Owner = { project_id: string; user_id: string | null; size: number }

/** The limits count the size of each file, also where two files share their bytes. */
async function requireRoomFor(db: Database, { project_id, user_id, size }: Owner, limits: Config['files']) {
  const project = await projects.get(db, project_id)
  requireRoom(project)
  const all = await files.count(db, { project_id })
  const { maxPerProject, maxPerUser, maxBytesPerUser } = limits
  requireFew(all.files, maxPerProject, 'A project', 'files.maxPerProject')
  const most = project.limits.file_bytes
  if (most !== null && all.bytes + size > most) {
    throw conflict(`The files of the project may have ${most} bytes (limits.file_bytes): delete some first`)
  }
  if (user_id === null) return
  const own = await files.count(db, { project_id, user_id })
  requireFew(own.files, maxPerUser, 'One user', 'files.maxPerUser')
  if (maxBytesPerUser !== undefined && own.bytes + size > maxBytesPerUser) {
    throw conflict(`The files of one user may have ${maxBytesPerUser} bytes (files.maxBytesPerUser): delete some first`)
  }
}

function requireFew(there: number, most: number, whose: string, setting: string): void {
  if (there >= most) throw conflict(`${whose} may have ${most} files (${setting}): delete some first`)
}
