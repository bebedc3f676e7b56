import {
  closeSync,
  constants,
  copyFileSync,
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
import { FILES_FOLDER } from '../../../storage/bytes/byte-store.ts'
import { EXIT, Failure } from '../../failure.ts'

/** Copies files that are not there yet. What is gone meanwhile is left out. */
export function copyFiles(data: string, folder: string, ids: readonly string[] = listFiles(data)): void {
  mkdirSync(join(folder, FILES_FOLDER), { recursive: true, mode: 0o700 })
  for (const id of ids) {
    const copy = join(folder, FILES_FOLDER, id)
    if (existsSync(copy)) continue
    try {
      copyFileSync(join(data, FILES_FOLDER, id), copy, constants.COPYFILE_FICLONE)
      sync(copy)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

/** Leaves the files with these ids in the folder, and no others. Returns how many of them are there. */
export function keepFiles(folder: string, ids: readonly string[]): number {
  const kept = new Set(ids)
  const there = listFiles(folder)
  for (const id of there) if (!kept.has(id)) rmSync(join(folder, FILES_FOLDER, id))
  return there.filter((id) => kept.has(id)).length
}

/** A link in a backup would bring in whatever it points to on this machine. */
export function refuseLinks(folder: string): void {
  const files = join(folder, FILES_FOLDER)
  const names = existsSync(files) ? readdirSync(files).map((name) => join(files, name)) : []
  for (const path of [files, ...names]) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found && !(path === files ? found.isDirectory() : found.isFile())) {
      throw new Failure(EXIT.failed, `${path} is no plain file: nothing was restored`)
    }
  }
}

/** Puts the files of a backup in place of those that are there, which are kept under another name. */
export function replaceFiles(folder: string, data: string, suffix: string): void {
  const draft = join(data, `.restoring-${process.pid}`)
  copyFiles(folder, draft)
  if (existsSync(join(data, FILES_FOLDER)))
    renameSync(join(data, FILES_FOLDER), join(data, `${FILES_FOLDER}.${suffix}`))
  renameSync(join(draft, FILES_FOLDER), join(data, FILES_FOLDER))
  rmSync(draft, { recursive: true })
}

function sync(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}

function listFiles(folder: string): string[] {
  return existsSync(join(folder, FILES_FOLDER)) ? readdirSync(join(folder, FILES_FOLDER)) : []
}
