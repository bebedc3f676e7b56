import { SqliteError } from './sqlite/sqlite-thread.ts'

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_IOERR = 10
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_PASSING = new Set([SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN])
const POSTGRES_PASSING = /^(08|53|57P|25006|40|55P03)/
const SOCKET_PASSING = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH)/
/** What the driver itself says, without a code. */
const CONNECTION_PASSING =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|the database is closed/

/** Whether PostgreSQL undid a transaction because it met another (deadlock, serialization); nothing of it is left. */
export function isUndone(error: unknown): boolean {
  return error instanceof Error && ['40P01', '40001'].includes(String((error as Error & { code?: unknown }).code))
}

/** Whether the database, not the request, is at fault and may come back by itself. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SqliteError) return SQLITE_PASSING.has((error.errcode ?? 0) & 0xff)
  if (!(error instanceof Error)) return false
  const code = (error as Error & { code?: unknown }).code
  if (typeof code === 'string') return POSTGRES_PASSING.test(code) || SOCKET_PASSING.test(code)
  return CONNECTION_PASSING.test(error.message)
}

const FOREIGN_KEY_VIOLATION = '23503'
const UNIQUE_VIOLATION = '23505'

/** Whether another node took away, or took first, what this transaction had found in order; a new try will see it. */
export function isOvertaken(error: unknown): boolean {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined
  return code === FOREIGN_KEY_VIOLATION || code === UNIQUE_VIOLATION
}
