import type { Migration } from './migration.ts'
import { frozenMigration } from './migrations/frozen-migration.ts'

/** The schema of Moorage 0.1.0. Every store of a release begins with it. */
export const firstRelease: Migration = frozenMigration('0001-first-release')

/** Runs of a session take turns, and background runs have priorities. */
const sessionTurns = frozenMigration('0002-session-turns')

/** In order, by their numbers. A released one is never edited: docs/internals/storage.md has the rules. */
export const MIGRATIONS: readonly Migration[] = [firstRelease, sessionTurns]

/** Whether a store that had these migrations is older than the first release. */
export function isUnreleased(names: readonly string[]): boolean {
  return names.some((name) => name.startsWith('first-schema'))
}

export const UNRELEASED =
  "the database is older than the first release of Moorage and can't be used. Move moorage.db away, or use an empty database"
