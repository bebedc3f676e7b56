import { isatty, type WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { LogSink } from './log-sink.ts'
import { visibleLine } from './text/visible.ts'

/** From the least severe. */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
type Level = (typeof LEVELS)[number]

type LogOptions = { level: Level | 'silent'; format: 'auto' | 'json' | 'pretty'; color?: boolean }

type Destination = { write(line: string, level: Level): unknown }

/** A message, or fields and a message. An error stands in the field `err`. */
type Said = [message: string] | [fields: LogFields, message: string]

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

  /** The same log without the lines whose fields are told elsewhere. */
  except(isToldElsewhere: (fields: LogFields) => boolean): Logger {
    const log = new Logger(LEVELS[this.#from] ?? 'silent', this.#destination)
    log.#isToldElsewhere = isToldElsewhere
    return log
  }

  isLevelEnabled(level: Level): boolean {
    return LEVELS.indexOf(level) >= this.#from
  }

  debug(...said: Said): void {
    this.#say('debug', said)
  }

  info(...said: Said): void {
    this.#say('info', said)
  }

  warn(...said: Said): void {
    this.#say('warn', said)
  }

  error(...said: Said): void {
    this.#say('error', said)
  }

  #say(level: Level, [first, second = '']: [message: string | LogFields, message?: string]): void {
    if (!this.isLevelEnabled(level)) return
    const isPlain = typeof first === 'string'
    if (!isPlain && this.#isToldElsewhere(first)) return
    const line = logLine(level, this.#now(), isPlain ? undefined : first, isPlain ? first : second)
    this.#destination.write(line, level)
  }

  /** All lines of one millisecond share the same text. */
  #now(): string {
    const time = Date.now()
    if (time === this.#time) return this.#timeText
    this.#time = time
    this.#timeText = new Date(time).toISOString()
    return this.#timeText
  }
}

export function createLog(options: LogOptions, destination?: Destination): Logger {
  const { level } = options
  if (destination) return new Logger(level, destination)
  // Logs do not go to stdout, which has only the output that was asked for.
  const sink = new LogSink()
  const log = new Logger(level, isPretty(options) ? prettyLines(sink, options) : jsonLines(sink))
  sink.onCaughtUp = (dropped) =>
    log.warn({ dropped }, 'log lines were dropped: they were written faster than stdout was read')
  return log
}

function isPretty({ format }: LogOptions): boolean {
  return format === 'pretty' || (format === 'auto' && isatty(2))
}

/** An error is written at once, because it may be the last line of this process. */
function jsonLines(sink: LogSink): Destination {
  return {
    write(line, level) {
      sink.write(line)
      if (level === 'error') sink.flush()
    },
  }
}

/** A person wants to see each line at once. */
function prettyLines(sink: LogSink, { color = true }: LogOptions): Destination {
  const write = (text: string) => {
    sink.write(text)
    sink.flush()
    return true
  }
  const isTTY = isatty(2)
  return prettyStream({ write, isTTY, hasColors: () => isTTY && process.stderr.hasColors() }, color)
}

const LEVEL_STYLES: Record<string, Parameters<typeof styleText>[0]> = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
}

/**
 * Lines for a person, coloured if `color` is set and the terminal supports it. Text from strangers can neither control
 * the terminal nor imitate a line of ours.
 */
export function prettyStream(
  terminal: Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>,
  color: boolean,
): Destination {
  const isColorful = color && terminal.isTTY === true && terminal.hasColors?.() === true
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    isColorful ? styleText(style, text, { validateStream: false }) : text
  return {
    write(line) {
      const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
      const details = Object.entries(rest).map(
        ([key, value]) => ` ${visibleLine(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`,
      )
      const clock = paint('dim', String(time).slice(11, 19))
      const name = paint(LEVEL_STYLES[String(level)] ?? 'dim', String(level).padEnd(5))
      terminal.write(`${clock} ${name} ${visibleLine(String(msg))}${paint('dim', details.join(''))}\n`)
    },
  }
}

type LogFields = Readonly<Record<string, unknown>>

/** A second line of defence: no caller should log these fields. */
const SECRET_NAMES = new Set(['authorization', 'secret', 'password'])
const REDACTED = '"[redacted]"'

/** One line of JSON. Every request writes one, so plain values take a faster way than JSON.stringify. */
function logLine(level: string, time: string, fields: LogFields | undefined, message: string): string {
  let line = `{"level":"${level}","time":"${time}"`
  for (const name in fields) {
    const text = SECRET_NAMES.has(name) ? REDACTED : jsonOf(fields[name])
    if (text !== undefined) line += `,${JSON.stringify(name)}:${text}`
  }
  return `${line},"msg":${JSON.stringify(message)}}\n`
}

/** A value that cannot become JSON must not fail its caller. */
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
  // The client of Redis puts the command into its errors, and with it the password or the text that was sent.
  return Object.assign({ type, message, stack, cause }, value, { command: undefined })
}
