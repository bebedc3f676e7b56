import { type RawBuilder, sql } from 'kysely'
import type { Engine } from './database.ts'

/** Column types that mean the same on both engines. */
export function columns(engine: Engine) {
  const postgres = engine === 'postgres'
  return {
    /** PostgreSQL compares bytes, as SQLite does, so that both engines sort alike. */
    text: (postgres ? sql`text collate "C"` : sql`text`) as RawBuilder<string>,
    bytes: (postgres ? sql`bytea` : sql`blob`) as RawBuilder<Uint8Array>,
    integer: (postgres ? sql`bigint` : sql`integer`) as RawBuilder<number>,
    /** An integer key that is never handed out twice. */
    sequence: (postgres
      ? sql`bigint generated always as identity primary key`
      : sql`integer primary key autoincrement`) as RawBuilder<number>,
  }
}
