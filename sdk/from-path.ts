import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'

/**
 * Opens a file on this machine, for `attachments` and `files.create`. It is read while it is sent. Works only in Node.
 */
export async function fromPath(path: string): Promise<File> {
  // A folder can be opened like a file, but fails when it is sent.
  if (!(await stat(path)).isFile()) throw new Error(`${path} is not a file`)
  return new File([await openAsBlob(path)], basename(path))
}
