import { type RawBuilder, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { parseIfJson } from '../lib/json.ts'
import { type Database, engineOf } from './database.ts'

/** The JSON in a column of a row is broken. The message names the row and reveals none of its content. */
export class DamagedRowError extends Error {
  readonly id: string

  constructor(thing: string, id: string, column: string) {
    super(`The stored ${thing} ${id} is damaged: its ${column} cannot be read`)
    this.id = id
  }
}

/**
 * Returns a function that reads the JSON in a row's columns. `thing` is the clients' word for the row. Null stays null.
 */
export function jsonOf<Row extends { id: string | number }>(thing: string, row: Row) {
  return <Value>(column: string & keyof Row): Value => {
    const text = row[column] as string | null
    const value = text === null ? null : parseIfJson(text)
    if (value === undefined) throw new DamagedRowError(thing, String(row.id), column)
    return value as Value
  }
}

/** Called with each row that a database's lists leave out. */
const tellers = new WeakMap<object, (row: string, message: string) => void>()

/** Lists and background work find the same row again and again, so it is logged only once within this time. */
const TOLD_AGAIN_MS = 60_000
const MOST_TOLD = 1_000

export function tellLeftOut(db: Database, warn: (message: string) => void): void {
  const told = new LRUCache<string, true>({ max: MOST_TOLD, ttl: TOLD_AGAIN_MS })
  tellers.set(db.getExecutor().adapter, (row, message) => {
    if (told.has(row)) return
    told.set(row, true)
    warn(`${message}. It is left out`)
  })
}

/** Reports a row that was read but doesn't fit the shape of the list. */
export function tellMisshapen(db: Database, id: string, problem: string): void {
  tellers.get(db.getExecutor().adapter)?.(id, `The stored item ${id} is damaged: ${problem}`)
}

/** The rows of a list as objects. A damaged row is left out and reported, because it must not hide all others. */
export function readable<Row, Thing>(db: Database, rows: readonly Row[], read: (row: Row) => Thing): Thing[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)]
    } catch (error) {
      if (!(error instanceof DamagedRowError)) throw error
      tellers.get(db.getExecutor().adapter)?.(error.message, error.message)
      return []
    }
  })
}

/** A JSON column for the database's JSON functions. They fail on broken JSON, so it becomes null. */
export function intactJson(db: Database, column: RawBuilder<unknown>): RawBuilder<unknown> {
  return engineOf(db) === 'postgres'
    ? sql`intact_json(${column})`
    : sql`case when json_valid(${column}) then ${column} end`
}
