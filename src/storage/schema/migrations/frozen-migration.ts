import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Engine } from '../../database.ts'
import type { Migration } from '../migration.ts'

/** Separates the statements of a file. No statement contains it. */
export const STATEMENT_END = ';\n\n'

/**
 * A migration whose statements are in files next to this one, `<name>.sqlite.sql` and `<name>.postgres.sql`. They are
 * read when the migration runs.
 */
export function frozenMigration(name: string, facts: Omit<Migration, 'name' | 'run'> = {}): Migration {
  return {
    name,
    ...facts,
    async run(db, engine) {
      for (const statement of statementsIn(name, engine)) await sql.raw(statement).execute(db)
    },
  }
}

function statementsIn(name: string, engine: Engine): string[] {
  const text = readFileSync(new URL(`./${name}.${engine}.sql`, import.meta.url), 'utf8')
  return text.split(STATEMENT_END).filter((statement) => statement !== '')
}
