import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/** The numbers are one parameter, because both engines limit the number of parameters. */
export function isOneOf(db: Database, column: RawBuilder<unknown>, numbers: readonly number[]): RawBuilder<SqlBool> {
  return engineOf(db) === 'postgres'
    ? sql`${column} = any(${numbers}::bigint[])`
    : sql`${column} in (select value from json_each(${JSON.stringify(numbers)}))`
}
