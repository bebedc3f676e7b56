import type { ReceivedBytes } from './bytes.ts'

/**
 * A request body with bytes of any type. The bytes would survive a crash when `run` starts. Those that it doesn't keep
 * are removed after the request.
 */
export class Upload {
  readonly taken: ReceivedBytes
  readonly media_type: string
  /** The file name in the form. */
  readonly name: string | undefined

  constructor(taken: ReceivedBytes, media_type: string, name: string | undefined) {
    this.taken = taken
    this.media_type = media_type
    this.name = name
  }
}
