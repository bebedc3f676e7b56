import type { TakenBytes } from './bytes.ts'

/** A body of bytes of any type. They are durable when `run` begins; what it does not keep is removed after the request. */
export class Upload {
  readonly taken: TakenBytes
  readonly media_type: string
  /** The name that a form gives the file. */
  readonly name: string | undefined

  constructor(taken: TakenBytes, media_type: string, name: string | undefined) {
    this.taken = taken
    this.media_type = media_type
    this.name = name
  }
}
