import { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

type LogOptions = { level: string; format: 'auto' | 'json' | 'pretty'; color?: boolean }

export function createLog(options: LogOptions, destination = standardError(options)): Logger {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // A safety net: nothing should hand these over in the first place.
      redact: {
        paths: ['authorization', '*.authorization', 'secret', '*.secret', 'password', '*.password'],
        censor: '[redacted]',
      },
    },
    destination,
  )
}

/** Not stdout: that carries only what a person or a pipe asked for. */
function standardError({ format, color = true }: LogOptions): DestinationStream {
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY)
  return pretty ? prettyStream(process.stderr, color) : jsonStream()
}

const ERROR = 50
const BUFFERED_BYTES = 4096
const SHOWN_WITHIN_MS = 1_000

/**
 * Lines are gathered, so that a request waits for no write; none is kept longer than a second, and an error not at all:
 * it may be the last thing this process says.
 */
function jsonStream(): DestinationStream {
  const file = pino.destination({ dest: 2, sync: false, minLength: BUFFERED_BYTES })
  let timer: NodeJS.Timeout | undefined
  let flushing = false

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (flushing) return
    flushing = true
    file.flush()
    // What came while a write was under way is not part of it.
    file.once('drain', () => {
      flushing = false
      file.flush()
    })
  }

  const stream = {
    /** Asks pino to say each line's level first. */
    [pino.symbols.needsMetadataGsym]: true as const,
    lastLevel: 0,
    write(line: string) {
      file.write(line)
      if (stream.lastLevel >= ERROR) flush()
      else timer ??= setTimeout(flush, SHOWN_WITHIN_MS).unref()
    },
  }
  return stream
}

const LEVEL_STYLES: Record<string, Parameters<typeof styleText>[0]> = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
}

/** Lines for a person; coloured when `color` is wanted and the terminal can. */
export function prettyStream(
  terminal: Pick<WriteStream, 'write'> & Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>,
  color: boolean,
): Writable {
  const isColorful = color && terminal.isTTY === true && terminal.hasColors?.() === true
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    isColorful ? styleText(style, text, { validateStream: false }) : text
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const { time, level, msg, ...rest } = JSON.parse(chunk.toString()) as Record<string, unknown>
      const details = Object.entries(rest).map(
        ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      const clock = paint('dim', String(time).slice(11, 19))
      const name = paint(LEVEL_STYLES[String(level)] ?? 'dim', String(level).padEnd(5))
      terminal.write(`${clock} ${name} ${msg}${paint('dim', details.join(''))}\n`)
      done()
    },
  })
}
