import { BytesUnavailableError } from './byte-store.ts'

/** The disk is full or broken: the operator has to act, and meanwhile clients can retry. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'])

/** Work with files of this folder. If its disk takes no more, that is no fault of the request. */
export async function onDisk<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isPassing = PASSING.has(String((error as NodeJS.ErrnoException).code))
    throw isPassing ? new BytesUnavailableError(`${folder} is not writable`, { cause: error }) : error
  }
}
