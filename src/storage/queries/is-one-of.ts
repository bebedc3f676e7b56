import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'

/** Passes several numbers as one parameter, because both engines limit the number of parameters. */
export function isOneOf(db: Database, column: RawBuilder<unknown>, numbers: readonly number[]): RawBuilder<SqlBool> {
  if (numbers.length === 1) return sql`${column} = ${numbers[0]}`
  return engineOf(db) === 'postgres'
    ? sql`${column} = any(${numbers}::bigint[])`
    : sql`${column} in (select value from json_each(${JSON.stringify(numbers)}))`
}
