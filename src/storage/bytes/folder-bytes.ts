import { createReadStream } from 'node:fs'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FairRoom } from '../../lib/work/fair-room.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import { syncFolder } from '../sync-folder.ts'
import { type ByteStore, MissingBytesError } from './byte-store.ts'
import { onDisk } from './on-disk.ts'

/**
 * How many pieces all uploads together write at the same time. Node.js has four threads for the disk, and others need
 * them too.
 */
const WRITES_AT_ONCE = 4

type InTurn = <T>(work: () => Promise<T>) => Promise<T>

/** Keeps each blob in its own file, which only the service can read. */
export function folderBytes(folder: string): ByteStore {
  const pathOf = (id: string) => join(folder, id)
  const places = new FairRoom(WRITES_AT_ONCE)
  return {
    write({ id, project_id }, pieces) {
      const inTurn: InTurn = (work) => places.during(laneKey(project_id, id), work)
      return onDisk(folder, async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeDurably(pathOf(id), pieces, inTurn)
        await inTurn(() => syncFolder(folder))
      })
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

/** Each piece waits for its own turn, so a slow client delays only itself. */
async function writeDurably(path: string, pieces: AsyncIterable<Uint8Array>, inTurn: InTurn): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of pieces) await inTurn(() => file.appendFile(piece))
    await inTurn(() => file.sync())
  } finally {
    await file.close()
  }
}
