import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'

/** A file of this machine, for `attachments` and `files.create`. It is read while it is sent. For Node only. */
export async function fromPath(path: string): Promise<File> {
  return new File([await openAsBlob(path)], basename(path))
}
