import { ReadersBusyError } from './read-limits.ts'
import { SqliteError } from './sqlite/sqlite-thread.ts'

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_PASSING = new Set([SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN])
const POSTGRES_PASSING = /^(08...|53...|57P..|25006|40...|55P03)$/
const SOCKET_PASSING = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)/
/** The driver's own error messages. These errors have no code. */
const CONNECTION_PASSING =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|the database is closed/

/** Whether PostgreSQL rolled back the whole transaction because it collided with another (deadlock, serialization). */
export function isUndone(error: unknown): boolean {
  return error instanceof Error && ['40P01', '40001'].includes(String((error as Error & { code?: unknown }).code))
}

/** Whether the error is the database's fault, not the request's, and may be temporary. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SqliteError) return SQLITE_PASSING.has((error.errcode ?? 0) & 0xff)
  if (!(error instanceof Error)) return false
  if (error instanceof ReadersBusyError) return true
  const code = (error as Error & { code?: unknown }).code
  if (typeof code === 'string') return POSTGRES_PASSING.test(code) || SOCKET_PASSING.test(code)
  return CONNECTION_PASSING.test(error.message)
}

/**
 * Whether the database is unavailable. Socket errors of the driver are marked with `from`, because other services fail
 * with the same codes.
 */
export function isAway(error: unknown): boolean {
  if (!isPassing(error)) return false
  const { code, from } = error as Error & { code?: unknown; from?: unknown }
  return from === 'postgres' || !(typeof code === 'string' && SOCKET_PASSING.test(code))
}

const SQLITE_CONSTRAINT = 19
const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'

/** Whether another node removed or inserted the same row first. A retry will see that. */
export function isOvertaken(error: unknown): boolean {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined
  return code === FOREIGN_KEY_VIOLATION || code === UNIQUE_VIOLATION
}

/** Whether a row with the same key already exists, or one that a unique index or a trigger allows only once. */
export function isDuplicate(error: unknown): boolean {
  if (error instanceof SqliteError)
    return ((error.errcode ?? 0) & 0xff) === SQLITE_CONSTRAINT && error.message.startsWith('UNIQUE')
  return error instanceof Error && (error as Error & { code?: unknown }).code === UNIQUE_VIOLATION
}
