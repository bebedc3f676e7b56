/** A single read took longer than it may, and was ended so that others need not wait for it. */
export class ReadTimeoutError extends Error {
  constructor(limitMs: number) {
    super(`a read took longer than ${limitMs} ms (database.readTimeout) and was ended`)
  }
}

/** So many slow reads are under way that this one had no turn. */
export class ReadersBusyError extends Error {
  constructor() {
    super('a read had no turn: too many slow ones are under way')
  }
}
