import type { Kysely } from 'kysely'
import type { Engine } from '../database.ts'

/** `read`: for a new index, or a check of what is stored. `write`: each row is changed, or stored again. */
export type TouchedRows = 'read' | 'write'

/**
 * One step of the schema. A released migration is never edited, only followed by another.
 *
 * Most only add: tables, indexes, columns that may be left out. Programs that do not know such a migration go on with
 * the schema. One that takes away, renames, or has to be kept up with by every writer `breaks` older programs.
 */
export type Migration = {
  /** Names it in the table `migrations`. It never changes. */
  name: string
  breaks?: true
  /**
   * The tables of which it reads or writes every row. It takes longer, and more room on the disk, the more rows there
   * are. What is missing here has no cost: new tables, and columns that get their default without touching a row.
   */
  touches?: Readonly<Record<string, TouchedRows>>
  /** One that changes many rows tells from time to time how many are done, and of how many. */
  run(db: Kysely<unknown>, engine: Engine, tellRows: (rows_done: number, rows: number) => void): Promise<void>
}
