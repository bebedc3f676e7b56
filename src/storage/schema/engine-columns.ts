import type { Engine } from '../database.ts'

/** Column types that mean the same on both engines, and the few words of DDL in which they differ. */
export type ColumnTypes = ReturnType<typeof columnTypes>

export function columnTypes(engine: Engine) {
  const isPostgres = engine === 'postgres'
  return {
    engine,
    /** PostgreSQL compares bytes, as SQLite does, so that both engines sort alike. */
    text: isPostgres ? 'text collate "C"' : 'text',
    bytes: isPostgres ? 'bytea' : 'blob',
    integer: isPostgres ? 'bigint' : 'integer',
    /** An integer key that is never handed out twice. */
    sequence: isPostgres ? 'bigint generated always as identity primary key' : 'integer primary key autoincrement',
    /** A table whose rows are reached by their whole key and never by another: SQLite need not number them as well. */
    keyed: isPostgres ? '' : 'without rowid',
  }
}
