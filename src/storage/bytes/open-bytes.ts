import { join } from 'node:path'
import type { NewId } from '../../lib/id.ts'
import type { Logger } from '../../lib/log.ts'
import type { Storage } from '../open-storage.ts'
import { Bytes } from './bytes.ts'
import { folderBytes } from './folder-bytes.ts'
import { postgresBytes } from './postgres-bytes.ts'

export type BytesOptions = { data: string; storage: Storage; newId: NewId; now(): number; log: Logger }

/** The folder in the data directory that has the files. */
export const FILES_FOLDER = 'files'

/** Beside SQLite files are in a folder. Nodes that share a database have them there. */
export function openBytes({ data, storage, ...options }: BytesOptions): Bytes {
  if (storage.engine === 'postgres') {
    return new Bytes({ ...options, storage, home: 'postgres', places: { postgres: postgresBytes(storage.db) } })
  }
  return new Bytes({ ...options, storage, home: 'folder', places: { folder: folderBytes(join(data, FILES_FOLDER)) } })
}
