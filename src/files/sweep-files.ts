import type { Parts } from '../operation/parts.ts'
import { dropStale } from '../storage/bytes/blobs.ts'
import type { Database } from '../storage/database.ts'
import type { Sweepable } from '../storage/jobs/sweep.ts'
import * as files from './store.ts'

/** Longer than an upload can take, from its first byte to its row. */
const CUT_OFF_AFTER_MS = 7_200_000

/**
 * The files to remove: expired ones first, then bytes that no file uses. `removeOfSchedules` knows which files
 * schedules need.
 */
export function sweptFiles(
  { storage, bytes, config }: Pick<Parts, 'storage' | 'bytes' | 'config'>,
  removeOfSchedules: (db: Database, limit: number) => Promise<number>,
): Sweepable[] {
  const inTransaction = (remove: Sweepable['remove']): Sweepable['remove'] => {
    return (_db, before, limit) => storage.transaction((db) => remove(db, before, limit))
  }
  const { files: keep_ms } = config.retention
  const older: Sweepable[] =
    keep_ms === undefined ? [] : [{ name: 'files', keep_ms, remove: inTransaction(files.removeOlder) }]
  return [
    ...older,
    { name: 'expired files', keep_ms: 0, remove: inTransaction(files.removeExpired) },
    { name: 'files of projects', keep_ms: 0, remove: inTransaction(files.removeOfProjects) },
    {
      name: 'files of deleted projects',
      keep_ms: 0,
      remove: inTransaction((db, _before, limit) => files.removeOfMissingProjects(db, limit)),
    },
    {
      name: 'files of removed invocations',
      keep_ms: CUT_OFF_AFTER_MS,
      remove: inTransaction(files.removeOfMissingRequests),
    },
    {
      name: 'files of schedules',
      keep_ms: 0,
      remove: inTransaction((db, _before, limit) => removeOfSchedules(db, limit)),
    },
    {
      name: 'files of tools that no receipt names',
      keep_ms: 0,
      remove: inTransaction((db, _before, limit) => files.settleUnclaimed(db, limit)),
    },
    { name: 'uploads that were cut off', keep_ms: CUT_OFF_AFTER_MS, remove: dropStale },
    {
      name: 'bytes of removed files',
      keep_ms: 0,
      remove: (db, before, limit) => bytes.removeDropped(db, before, limit),
    },
  ]
}
