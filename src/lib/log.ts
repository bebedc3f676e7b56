import { Writable } from 'node:stream'
import { isatty, type WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import { type DestinationStream, type Logger, pino } from 'pino'
import { LogSink } from './log-sink.ts'
import { visibleLine } from './text/visible.ts'

export type { Logger } from 'pino'

type LogOptions = { level: string; format: 'auto' | 'json' | 'pretty'; color?: boolean }

export function createLog(options: LogOptions, destination?: DestinationStream): Logger {
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    // A safety net: nothing should hand these over in the first place.
    redact: {
      paths: ['authorization', '*.authorization', 'secret', '*.secret', 'password', '*.password'],
      censor: '[redacted]',
    },
  }
  if (destination) return pino(settings, destination)
  // Not stdout: that carries only what a person or a pipe asked for.
  const sink = new LogSink()
  const log = pino(settings, isPretty(options) ? prettyLines(sink, options) : jsonLines(sink))
  sink.onCaughtUp = (dropped) => log.warn({ dropped }, 'log lines were dropped: nobody read them')
  return log
}

function isPretty({ format }: LogOptions): boolean {
  return format === 'pretty' || (format === 'auto' && isatty(2))
}

const ERROR = 50

/** An error is shown at once: it may be the last thing that this process says. */
function jsonLines(sink: LogSink): DestinationStream {
  const stream = {
    /** Asks pino to say each line's level first. */
    [pino.symbols.needsMetadataGsym]: true as const,
    lastLevel: 0,
    write(line: string) {
      sink.write(line)
      if (stream.lastLevel >= ERROR) sink.flush()
    },
  }
  return stream
}

/** A person wants to see each line when it comes. */
function prettyLines(sink: LogSink, { color = true }: LogOptions): DestinationStream {
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
 * Lines for a person; coloured when `color` is wanted and the terminal can. What strangers wrote can neither steer the
 * terminal nor make a line that looks like one of ours.
 */
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
        ([key, value]) => ` ${visibleLine(`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`,
      )
      const clock = paint('dim', String(time).slice(11, 19))
      const name = paint(LEVEL_STYLES[String(level)] ?? 'dim', String(level).padEnd(5))
      terminal.write(`${clock} ${name} ${visibleLine(String(msg))}${paint('dim', details.join(''))}\n`)
      done()
    },
  })
}
