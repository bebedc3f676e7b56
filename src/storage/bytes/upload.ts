import type { ReceivedBytes } from './bytes.ts'

/** A body of bytes of any type. They are durable when `run` begins; what it does not keep is removed after the request. */
export class Upload {
  readonly taken: ReceivedBytes
  readonly media_type: string
  /** The name that a form gives the file. */
  readonly name: string | undefined

  constructor(taken: ReceivedBytes, media_type: string, name: string | undefined) {
    this.taken = taken
    this.media_type = media_type
    this.name = name
  }
}
