export type LogFields = Readonly<Record<string, unknown>>

/** A second line of defence: no caller should log these fields. */
const SECRET_NAMES = new Set(['authorization', 'secret', 'password'])
const REDACTED = '"[redacted]"'

/** One line of JSON. Every request writes one, so plain values take a faster way than JSON.stringify. */
export function logLine(level: string, time: string, fields: LogFields | undefined, message: string): string {
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
