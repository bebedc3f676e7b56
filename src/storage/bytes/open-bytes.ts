import { join } from 'node:path'
import type { NewId } from '../../lib/id.ts'
import type { Logger } from '../../lib/log.ts'
import type { Storage } from '../open-storage.ts'
import { FILES_FOLDER } from './byte-store.ts'
import { Bytes } from './bytes.ts'
import { folderBytes } from './folder-bytes.ts'
import { postgresBytes } from './postgres-bytes.ts'
import { type S3Options, s3Bytes } from './s3-bytes.ts'

export type BytesOptions = {
  data: string
  s3: S3Options | undefined
  storage: Storage
  newId: NewId
  now(): number
  log: Logger
}

/**
 * Opens the store for files. New files go to S3 if it is configured. Otherwise, they go to a folder beside SQLite or to
 * PostgreSQL, so that every node can read them. Files that were uploaded before S3 was configured stay where they are.
 */
export function openBytes({ data, s3, storage, ...options }: BytesOptions): Bytes {
  const own =
    storage.engine === 'postgres'
      ? { postgres: postgresBytes(storage.db) }
      : { folder: folderBytes(join(data, FILES_FOLDER)) }
  const places = { ...own, ...(s3 && { s3: s3Bytes(s3, data) }) }
  const home = s3 ? 's3' : storage.engine === 'postgres' ? 'postgres' : 'folder'
  return new Bytes({ ...options, storage, places, home })
}
