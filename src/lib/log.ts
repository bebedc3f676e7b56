import { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

type LogOptions = { level: string; format: 'auto' | 'json' | 'pretty' }

export function createLog({ level, format }: LogOptions, destination = standardError(format)): Logger {
  return pino(
    {
      level,
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
function standardError(format: LogOptions['format']): DestinationStream {
  const pretty = format === 'pretty' || (format === 'auto' && process.stderr.isTTY)
  return pretty ? prettyStream() : pino.destination({ dest: 2, sync: false, minLength: 4096 })
}

function prettyStream(): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const { time, level, msg, ...rest } = JSON.parse(chunk.toString()) as Record<string, unknown>
      const details = Object.entries(rest).map(
        ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      process.stderr.write(`${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${[msg, ...details].join(' ')}\n`)
      done()
    },
  })
}
