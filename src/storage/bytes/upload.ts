import type { ReceivedBytes } from './bytes.ts'

/**
 * A body of bytes of any type. They are durable when `run` starts; whatever it doesn't keep is removed after the
 * request.
 */
export class Upload {
  readonly taken: ReceivedBytes
  readonly media_type: string
  /** The file name in a form. */
  readonly name: string | undefined

  constructor(taken: ReceivedBytes, media_type: string, name: string | undefined) {
    this.taken = taken
    this.media_type = media_type
    this.name = name
  }
}
