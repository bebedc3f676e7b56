import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Lines are gathered up to this size, because a write can take long while the disk is busy. */
const GATHERED_CHARACTERS = 65_536
const SHOWN_WITHIN_MS = 1_000
const RETRY_MS = 100
/** How much may wait for a reader that is too slow. Further lines are dropped and counted. */
const MAX_WAITING_CHARACTERS = 1_048_576
/** How long the process waits for such a reader when it ends. */
const LAST_TRY_MS = 300

const NOTHING = Buffer.alloc(0)

/**
 * Writes to standard error without depending on the reader. A reader that does not read (a full pipe, a stopped
 * terminal) or is gone loses lines of the log. It delays neither the process nor its end.
 */
export class LogSink {
  /** Called with the number of dropped lines once lines are read again. */
  onCaughtUp: (dropped: number) => void = () => {}
  #fd: number | undefined
  #gathered = ''
  /** Bytes that the reader has not taken yet. */
  #late: Buffer = NOTHING
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  readonly #atExit = () => this.#finish()

  /** Gathers lines, so that no request waits for a write. A line waits for a second at most. */
  write(line: string): void {
    if (this.#late.length + this.#gathered.length > MAX_WAITING_CHARACTERS) {
      this.#dropped += 1
      return
    }
    this.#gathered += line
    if (this.#gathered.length >= GATHERED_CHARACTERS) this.flush()
    else this.#flushWithin(SHOWN_WITHIN_MS)
  }

  /** Writes the gathered lines now, unless a slow reader gets a moment first. */
  flush(): void {
    if (this.#late.length === 0) this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const gathered = Buffer.from(this.#gathered)
    this.#late = this.#writeOut(this.#late.length === 0 ? gathered : Buffer.concat([this.#late, gathered]))
    this.#gathered = ''
    if (this.#late.length > 0) return this.#flushWithin(RETRY_MS)
    process.off('exit', this.#atExit)
    if (this.#dropped > 0) this.#tellDropped()
  }

  #flushWithin(ms: number): void {
    if (this.#timer) return
    this.#timer = setTimeout(() => this.#flush(), ms).unref()
    process.off('exit', this.#atExit).on('exit', this.#atExit)
  }

  /** Returns what could not be written yet. */
  #writeOut(bytes: Buffer): Buffer {
    let rest = bytes
    this.#fd ??= openWithoutBlocking()
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#fd, rest))
    } catch (error) {
      // Any error other than a full pipe means that there is no reader, so there is nothing to wait for.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return NOTHING
    }
    return rest
  }

  #tellDropped(): void {
    const dropped = this.#dropped
    this.#dropped = 0
    this.onCaughtUp(dropped)
  }

  #finish(): void {
    const giveUpAt = performance.now() + LAST_TRY_MS
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    for (;;) {
      this.#flush()
      if (this.#late.length === 0 || performance.now() > giveUpAt) return
      Atomics.wait(sleeper, 0, 0, 10)
    }
  }
}

/**
 * Opens standard error so that a write fails instead of waiting. Pipes and terminals are opened a second time, because
 * the mode belongs to the opening: other processes that share standard error keep theirs.
 */
function openWithoutBlocking(): number {
  try {
    // A write to a file does not wait for a reader. If the file were opened again, it would have a second write
    // position.
    if (fstatSync(2).isFile()) return 2
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // This is a socket, or not Linux. Node makes a pipe or a socket non-blocking when this property is first read.
    void process.stderr
    return 2
  }
}
