const { IncomingMessage } = process.getBuiltinModule('node:http')

const SMALL_BYTES = 1_024
/** A body with more small chunks than this is taken in turns. An ordinary one has fewer. */
const SMALL_CHUNKS = 1_000

/**
 * A request whose body takes turns with others' requests also if its client makes a chunk of each byte: Node counts only
 * bytes, and would read two megabytes of chunks in one pass of the event loop. Here the socket is read once in a pass, and
 * what it brought is handed on as one piece.
 */
export class FairBody extends IncomingMessage {
  #smallChunks = 0
  #waiting: Buffer[] = []

  /** Node calls this with each chunk that it has read, and reads no more if the answer is no. */
  override push(chunk: Buffer | null): boolean {
    if (chunk !== null && chunk.length < SMALL_BYTES) this.#smallChunks += 1
    if (chunk === null || this.#smallChunks <= SMALL_CHUNKS) {
      this.#handOn()
      return super.push(chunk)
    }
    this.#waiting.push(chunk)
    if (this.#waiting.length === 1) setImmediate(() => this.#goOn())
    return false
  }

  /** Node calls this when the body is wanted, to read on. */
  override _read(size: number): void {
    // oxlint-disable-next-line no-underscore-dangle
    if (this.#waiting.length === 0) super._read(size)
  }

  #goOn(): void {
    this.#handOn()
    if (this.readableLength < this.readableHighWaterMark) this.socket.resume()
  }

  #handOn(): void {
    if (this.#waiting.length === 0) return
    const piece = Buffer.concat(this.#waiting)
    this.#waiting = []
    super.push(piece)
  }
}
