import type { Parts } from '../operation/parts.ts'
import type { StoredFile } from './file.ts'
import * as files from './store.ts'

/**
 * Removes files, their bytes first and not in the background. If bytes cannot be removed, their files stay, so that the
 * same request finds them again, and `failure` says why.
 */
export async function eraseFiles(
  { storage, bytes }: Pick<Parts, 'storage' | 'bytes'>,
  found: readonly StoredFile[],
): Promise<{ removed: number; failure: unknown }> {
  if (found.length === 0) return { removed: 0, failure: undefined }
  const dropped = await storage.transaction((held) => files.dropBytes(held, found))
  const { gone, failure } = await bytes.clear(dropped)
  const left = new Set(dropped.flatMap(({ id }) => (gone.includes(id) ? [] : id)))
  const ids = found.flatMap(({ id, blob_id }) => (left.has(blob_id) ? [] : id))
  const removed = await storage.transaction((held) => files.removeAfterBytes(held, ids, gone))
  return { removed, failure }
}
