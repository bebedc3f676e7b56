const SQLITE_CORRUPT = 11
const SQLITE_NOT_A_DATABASE = 26

/** Whether the file of a store has content that SQLite does not understand. */
export function isDamaged(error: unknown): error is Error {
  const { errcode = 0 } = Object(error) as { errcode?: number }
  return error instanceof Error && [SQLITE_CORRUPT, SQLITE_NOT_A_DATABASE].includes(errcode & 0xff)
}
