import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { counted } from '../../../lib/text/counted.ts'
import { FILES_FOLDER } from '../../../storage/bytes/byte-store.ts'
import type { ExpectedBytes } from '../../../storage/inspect.ts'
import { EXIT, Failure } from '../../failure.ts'

/** Copies files. Files that were deleted in the meantime are left out. */
export function copyFiles(data: string, folder: string, ids: readonly string[] = listFiles(data)): void {
  mkdirSync(join(folder, FILES_FOLDER), { recursive: true, mode: 0o700 })
  for (const id of ids) {
    const copy = join(folder, FILES_FOLDER, id)
    try {
      copyDurably(join(data, FILES_FOLDER, id), copy)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  sync(join(folder, FILES_FOLDER))
}

/** Removes files that the store doesn't expect. */
export function removeUnexpected(folder: string, expected: readonly ExpectedBytes[]): void {
  const ids = new Set(expected.map(({ id }) => id))
  for (const id of listFiles(folder)) if (!ids.has(id)) rmSync(join(folder, FILES_FOLDER, id))
}

/** The IDs of expected files that are missing or have different bytes. */
export async function listLost(folder: string, expected: readonly ExpectedBytes[]): Promise<string[]> {
  const lost: string[] = []
  for (const { id, sha256 } of expected) {
    const file = join(folder, FILES_FOLDER, id)
    if (!existsSync(file) || (await sha256Of(file)) !== sha256) lost.push(id)
  }
  return lost
}

const NAMED = 20

/** The message that names the lost files. */
export function lostText(lost: readonly string[]): string {
  const names = lost.slice(0, NAMED).map((id) => `${FILES_FOLDER}/${id}`)
  const more = lost.length > NAMED ? ` and ${lost.length - NAMED} more` : ''
  return `${counted(lost.length, 'file is', 'files are')} missing or altered: ${names.join(', ')}${more}`
}

/** Hashes a file in pieces, because a store may be larger than Node can read at once. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(piece)
  return hash.digest('hex')
}

/** Refuses links, because a link in a backup would bring in whatever it points to on this machine. */
export function refuseLinks(folder: string): void {
  const files = join(folder, FILES_FOLDER)
  const names = existsSync(files) ? readdirSync(files).map((name) => join(files, name)) : []
  for (const path of [files, ...names]) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found && !(path === files ? found.isDirectory() : found.isFile())) {
      throw new Failure(EXIT.failed, `${path} is not a regular file. Nothing was restored.`)
    }
  }
}

/** Copies one file in a way that the copy survives a power failure. */
export function copyDurably(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE)
  sync(to)
}

/** `draft` replaces what is at `path`, which is kept under the name `kept`. */
export type Replacement = { draft: string; path: string; kept: string }

/**
 * Makes all replacements and then calls `finish`. If anything fails, everything is put back and the error is thrown.
 */
export function replaceAll(replacements: readonly Replacement[], finish: () => void): void {
  const undo: (() => void)[] = []
  const move = (from: string, to: string) => {
    renameSync(from, to)
    undo.unshift(() => renameSync(to, from))
  }
  try {
    for (const { draft, path, kept } of replacements) {
      if (existsSync(path)) move(path, kept)
      move(draft, path)
    }
    finish()
  } catch (error) {
    try {
      for (const moveBack of undo) moveBack()
    } catch (cause) {
      const message = `The restore stopped halfway: ${(error as Error).message}; ${(cause as Error).message}`
      throw new Failure(
        EXIT.failed,
        message,
        '  Run it again. The previous files are kept under names with before-restore.',
      )
    }
    throw error
  }
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

function listFiles(folder: string): string[] {
  return existsSync(join(folder, FILES_FOLDER)) ? readdirSync(join(folder, FILES_FOLDER)) : []
}
