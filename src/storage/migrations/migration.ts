import type { Kysely } from 'kysely'
import type { Engine } from '../database.ts'

/** One step of the schema. Once released it is never edited, only followed. */
export type Migration = (db: Kysely<unknown>, engine: Engine) => Promise<void>
