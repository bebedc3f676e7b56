import type { Config } from '../config.ts'
import { conflict, invalid, unavailable } from '../errors.ts'
import type { NewId } from '../lib/id.ts'
import { problemIn } from '../lib/text/plain-issue.ts'
import { requireRoom } from '../projects/project.ts'
import * as projects from '../projects/store.ts'
import * as blobs from '../storage/bytes/blobs.ts'
import type { ReceivedBytes } from '../storage/bytes/bytes.ts'
import type { Database } from '../storage/database.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { FileName, type StoredFile } from './file.ts'
import * as files from './store.ts'

/** What created a file. All are null for a file that a client uploaded. */
export type FileOrigin = Pick<StoredFile, 'agent_id' | 'request_id' | 'schedule_id'>

export type NewFile = FileOrigin &
  Pick<StoredFile, 'media_type' | 'user_id' | 'created_by' | 'unclaimed'> & {
    taken: ReceivedBytes
    /** As the client gave it. */
    name: string | undefined
    expires_in_seconds: number | undefined
  }

type NewFileNeeds = { config: Config; newId: NewId; now(): number }

/**
 * Makes a file from received bytes. It needs a transaction. The caller that received the bytes then calls
 * `bytes.release`, whether it was committed or not.
 */
export async function keepFile(
  db: Database,
  { taken, name = 'file', expires_in_seconds: seconds, ...file }: NewFile,
  { config, newId, now }: NewFileNeeds,
): Promise<StoredFile> {
  const { id, project_id, size, sha256 } = taken
  requireName(name)
  await blobs.holdProject(db, project_id)
  const created_at = now()
  const job = { id: newId('job', created_at), kind: 'file bytes', run_at: created_at }
  if (await makeRoomFor(db, { project_id, user_id: file.user_id, size }, config.files, created_at))
    await enqueue(db, job)
  const blob_id = await blobs.keep(db, { id, project_id, sha256 })
  if (blob_id === undefined) throw unavailable('The upload took too long and was discarded. Upload the file again.')
  const expires_at = seconds === undefined ? null : created_at + seconds * 1000
  const stored = { project_id, blob_id, name, size, sha256, created_at, expires_at }
  const kept = { ...file, ...stored, id: newId('file', created_at) }
  await files.insert(db, kept)
  return kept
}

function requireName(name: string): void {
  const problem = problemIn(FileName, name)
  if (problem !== undefined) throw invalid({ field: 'name', error: problem })
}

type Owner = { project_id: string; user_id: string | null; size: number }

/** How many expired files one upload removes at most before it is refused; the sweep removes the rest. */
const MOST_REMOVED = 1_000

/**
 * Expired files are counted until they are removed, so an upload that reaches a limit removes them first. Returns
 * whether it removed any.
 */
async function makeRoomFor(db: Database, owner: Owner, limits: Config['files'], now: number): Promise<boolean> {
  const full = await findFull(db, owner, limits)
  if (!full) return false
  const removed = await files.removeExpired(db, now, MOST_REMOVED, full.of)
  const stillFull = removed > 0 ? await findFull(db, owner, limits) : full
  if (stillFull) throw conflict(`${stillFull.problem}. Delete some files first.`)
  return true
}

/** The first limit that leaves no room, and whose files it counts. */
type FullLimit = { problem: string; of: { project_id: string; user_id?: string } }

/** The limits count the full size of each file, even if two files share their bytes. */
async function findFull(
  db: Database,
  { project_id, user_id, size }: Owner,
  { maxPerProject, maxPerUser, maxBytesPerUser }: Config['files'],
): Promise<FullLimit | undefined> {
  const project = await projects.get(db, project_id)
  requireRoom(project)
  const all = await files.count(db, { project_id })
  const most = project.limits.file_bytes
  if (all.files >= maxPerProject)
    return { problem: `A project can have at most ${maxPerProject} files (files.maxPerProject)`, of: { project_id } }
  if (most !== null && all.bytes + size > most)
    return { problem: `The project's files would exceed ${most} bytes (limits.file_bytes)`, of: { project_id } }
  if (user_id === null) return undefined
  const of = { project_id, user_id }
  const own = await files.count(db, of)
  if (own.files >= maxPerUser) return { problem: `A user can have at most ${maxPerUser} files (files.maxPerUser)`, of }
  if (maxBytesPerUser !== undefined && own.bytes + size > maxBytesPerUser)
    return { problem: `The user's files would exceed ${maxBytesPerUser} bytes (files.maxBytesPerUser)`, of }
  return undefined
}
