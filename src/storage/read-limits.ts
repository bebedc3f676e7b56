/** A single read took too long. It was ended so that others don't have to wait for it. */
export class ReadTimeoutError extends Error {
  constructor(limitMs: number) {
    super(`a read took longer than ${limitMs} ms (database.readTimeout) and was cancelled`)
  }
}

/** Too many slow reads are in progress, so this one couldn't start. */
export class ReadersBusyError extends Error {
  constructor() {
    super('a read could not start, because too many slow reads are in progress')
  }
}
