import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'

/** A file of this machine, for `attachments` and `files.create`. It is read while it is sent. For Node only. */
export async function fromPath(path: string): Promise<File> {
  // A folder can be opened like a file, and fails only while it is sent.
  if (!(await stat(path)).isFile()) throw new Error(`${path} is not a file`)
  return new File([await openAsBlob(path)], basename(path))
}
