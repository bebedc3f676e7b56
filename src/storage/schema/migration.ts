import type { Kysely } from 'kysely'
import type { Engine } from '../database.ts'

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
  /** One that changes many rows tells from time to time how many are done, and of how many. */
  run(db: Kysely<unknown>, engine: Engine, tellRows: (rows_done: number, rows: number) => void): Promise<void>
}
