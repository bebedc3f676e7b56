import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { prettyStream } from './pretty-log.ts'

/** Least severe first. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
type Level = (typeof LEVELS)[number]
const WARN = LEVELS.indexOf('warn')

type LogOptions = { level: Level | 'silent'; format: 'auto' | 'json' | 'pretty'; color?: boolean }

type Destination = { write(line: string, level: Level): unknown }

/** A message, or fields and a message. An error goes into the field `err`. */
type LogArguments = [message: string] | [fields: LogFields, message: string]

/** The service's own log: one line of JSON per message. */
export class Logger {
  readonly #destination: Destination
  readonly #from: number
  #isToldElsewhere: (fields: LogFields) => boolean = () => false
  #time = 0
  #timeText = ''

  constructor(level: Level | 'silent', destination: Destination) {
    this.#destination = destination
    this.#from = level === 'silent' ? LEVELS.length : LEVELS.indexOf(level)
  }

  /** The same log, without the lines whose fields are logged elsewhere. */
  except(isToldElsewhere: (fields: LogFields) => boolean): Logger {
    const log = new Logger(LEVELS[this.#from] ?? 'silent', this.#destination)
    log.#isToldElsewhere = isToldElsewhere
    return log
  }

  isLevelEnabled(level: Level): boolean {
    return LEVELS.indexOf(level) >= this.#from
  }

  debug(...said: LogArguments): void {
    this.#say('debug', said)
  }

  info(...said: LogArguments): void {
    this.#say('info', said)
  }

  warn(...said: LogArguments): void {
    this.#say('warn', said)
  }

  error(...said: LogArguments): void {
    this.#say('error', said)
  }

  #say(level: Level, [first, second = '']: [message: string | LogFields, message?: string]): void {
    const severity = LEVELS.indexOf(level)
    if (severity < this.#from) return
    const [fields, message] = typeof first === 'string' ? [undefined, first] : [first, second]
    // Only failures are logged elsewhere.
    const isFailure = severity >= WARN || fields?.['err'] !== undefined
    if (fields && isFailure && this.#isToldElsewhere(fields)) return
    const time = Date.now()
    // All lines of one millisecond share the same text.
    if (time !== this.#time) this.#timeText = new Date(time).toISOString()
    this.#time = time
    this.#destination.write(logLine(level, this.#timeText, fields, message), level)
  }
}

export function createLog(options: LogOptions, destination?: Destination): Logger {
  const { level } = options
  if (destination) return new Logger(level, destination)
  // Logs don't go to stdout, which contains only requested output.
  const sink = new LogSink()
  const log = new Logger(level, isPretty(options) ? prettyLines(sink, options) : sink)
  sink.onCaughtUp = (dropped) => log.warn({ dropped }, 'dropped log lines, because stdout was read too slowly')
  return log
}

function isPretty({ format }: LogOptions): boolean {
  return format === 'pretty' || (format === 'auto' && isatty(2))
}

/** A person wants to see each line immediately. */
function prettyLines(sink: LogSink, { color = true }: LogOptions): Destination {
  const write = (text: string) => {
    sink.write(text, 'info')
    sink.flush()
    return true
  }
  const isTTY = isatty(2)
  return prettyStream({ write, isTTY, hasColors: () => isTTY && process.stderr.hasColors() }, color)
}

type LogFields = Readonly<Record<string, unknown>>

/** A second line of defense, because no caller should log these fields. */
const SECRET_NAMES = new Set(['authorization', 'secret', 'password'])
const REDACTED = '"[redacted]"'

/** One line of JSON. Every request writes one, so plain values are written faster than by JSON.stringify. */
function logLine(level: string, time: string, fields: LogFields | undefined, message: string): string {
  let line = `{"level":"${level}","time":"${time}"`
  for (const name in fields) {
    const text = SECRET_NAMES.has(name) ? REDACTED : jsonOf(fields[name])
    if (text !== undefined) line += `,${JSON.stringify(name)}:${text}`
  }
  return `${line},"msg":${JSON.stringify(message)}}\n`
}

/** Converts a value to JSON. A value that can't be converted must not make the caller fail. */
function jsonOf(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null'
  try {
    return JSON.stringify(value, plain)
  } catch {
    return '"[cannot be shown]"'
  }
}

function plain(name: string, value: unknown): unknown {
  if (SECRET_NAMES.has(name)) return '[redacted]'
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { name: type, message, stack, cause } = value
  // The Redis client puts the command into its errors, and with it the password or the text that was sent.
  return Object.assign({ type, message, stack, cause }, value, { command: undefined })
}

/** Lines are collected up to this size, because a write can take long while the disk is busy. */
const GATHERED_CHARACTERS = 65_536
const SHOWN_WITHIN_MS = 1_000
const RETRY_MS = 100
/** How much may wait for a reader that is too slow. Further lines are dropped and counted. */
const MAX_WAITING_CHARACTERS = 1_048_576
/** How long the process waits for such a reader when it exits. */
const LAST_TRY_MS = 300

const NOTHING = Buffer.alloc(0)

/**
 * Writes to standard error without depending on the reader. If the reader doesn't read (a full pipe, a stopped
 * terminal) or is gone, log lines are lost, but neither the process nor its exit is delayed.
 */
class LogSink {
  /** Called with the number of dropped lines once lines are read again. */
  onCaughtUp: (dropped: number) => void = () => {}
  #fd: number | undefined
  #gathered = ''
  /** Bytes that the reader hasn't accepted yet. */
  #late: Buffer = NOTHING
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  readonly #atExit = () => this.#finish()

  /**
   * Collects lines, so no request waits for a write. A line waits for at most a second. An error is written
   * immediately, because it may be the last line of this process.
   */
  write(line: string, level: Level): void {
    if (this.#late.length + this.#gathered.length > MAX_WAITING_CHARACTERS) {
      this.#dropped += 1
      return
    }
    this.#gathered += line
    if (level === 'error' || this.#gathered.length >= GATHERED_CHARACTERS) this.flush()
    else if (!this.#timer) this.#flushWithin(SHOWN_WITHIN_MS)
  }

  /** Writes the collected lines now, unless a slow reader is given a moment first. */
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
    this.#timer ??= setTimeout(() => this.#flush(), ms).unref()
    process.off('exit', this.#atExit).on('exit', this.#atExit)
  }

  /** Returns the bytes that couldn't be written yet. */
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
 * the mode belongs to the open file: other processes that share standard error keep their mode.
 */
function openWithoutBlocking(): number {
  try {
    // A write to a file doesn't wait for a reader. If the file were opened again, it would have a second write
    // position.
    if (fstatSync(2).isFile()) return 2
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    // This is a socket, or not Linux. Node makes a pipe or a socket non-blocking when this property is first read.
    void process.stderr
    return 2
  }
}
