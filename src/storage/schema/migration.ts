import type { Kysely } from 'kysely'
import type { Engine } from '../database.ts'

/**
 * How a migration touches rows. `read`: it reads each row for a new index or a check. `write`: it changes or rewrites
 * each row.
 */
export type TouchedRows = 'read' | 'write'

/**
 * One step of the schema. A released migration is never edited, only followed by another.
 *
 * Most only add: tables, indexes, columns that can be left out. Versions that don't know such a migration keep working.
 * A migration that removes or renames something, or that every writer must know about, `breaks` older versions.
 */
export type Migration = {
  /** The migration's name in the table `migrations`. It never changes. */
  name: string
  breaks?: true
  /**
   * The tables of which the migration reads or writes every row. The more rows there are, the longer it takes and the
   * more disk space it needs. Anything else is free: new tables, and columns that get their default without changing a
   * row.
   */
  touches?: Readonly<Record<string, TouchedRows>>
  /** A migration that changes many rows reports from time to time how many it has changed, and of how many. */
  run(db: Kysely<unknown>, engine: Engine, tellRows: (rows_done: number, rows: number) => void): Promise<void>
}
