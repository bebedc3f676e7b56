import { BytesUnavailableError } from './byte-store.ts'

/** Errors of a full or broken disk. The operator has to act, and clients can retry later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'])

/** Does something with files in this folder. If the disk accepts no more, the request isn't at fault. */
export async function onDisk<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isPassing = PASSING.has(String((error as NodeJS.ErrnoException).code))
    throw isPassing ? new BytesUnavailableError(`${folder} is not writable`, { cause: error }) : error
  }
}
