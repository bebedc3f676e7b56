import { createReadStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ByteStore, BytesUnavailableError, MissingBytesError } from './byte-store.ts'

/** The disk is full or broken: the operator has to act, and until then clients may try again. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE'])

/** Keeps each blob in a file of its own, which only the service may read. */
export function folderBytes(folder: string): ByteStore {
  const pathOf = (id: string) => join(folder, id)
  return {
    async write({ id }, pieces) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeDurably(pathOf(id), pieces)
        await syncFolder(folder)
      } catch (error) {
        throw isPassing(error) ? new BytesUnavailableError(`${folder} is not writable`, { cause: error }) : error
      }
    },
    async *read(id, range) {
      try {
        yield* createReadStream(pathOf(id), range)
      } catch (error) {
        throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new MissingBytesError(id) : error
      }
    },
    remove: (id) => rm(pathOf(id), { force: true }),
  }
}

async function writeDurably(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of pieces) await file.appendFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** After a crash a file is found only if its folder was written too. */
async function syncFolder(folder: string): Promise<void> {
  // Windows writes folders by itself, and does not open them.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}

function isPassing(error: unknown): boolean {
  return PASSING.has(String((error as NodeJS.ErrnoException).code))
}
