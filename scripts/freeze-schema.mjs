// npm run freeze: writes the statements of the first migration from the description of the tables. Until 0.1.0 is
// released, a change of a table is followed by it; afterwards the file is never written again, and each change of a table
// comes with a migration of its own.
import { writeFileSync } from 'node:fs'
import { STATEMENT_END } from '../src/storage/schema/migrations/frozen-migration.ts'
import { firstRelease } from '../src/storage/schema/released-migrations.ts'
import { sqliteStatistics } from '../src/storage/schema/sqlite-statistics.ts'
import { schemaStatements } from '../src/storage/schema/statements.ts'
import { DEFAULT_PROJECT } from '../src/storage/tables/project-tables.ts'
import { GENESIS } from '../src/storage/tables/security-tables.ts'
import { TABLES } from '../src/storage/tables.ts'

/** The rows that are always there. */
const ROWS = [
  `insert into projects (id, name, limits, created_at, updated_at) values ('${DEFAULT_PROJECT}', 'default', '{}', 0, 0)`,
  `insert into audit_chain (name, seq, hash) values ('head', 0, '${GENESIS}')`,
]

for (const engine of ['sqlite', 'postgres']) {
  const statements = [...schemaStatements(engine, TABLES), ...ROWS, ...(engine === 'sqlite' ? sqliteStatistics() : [])]
  const broken = statements.find((statement) => statement.includes(STATEMENT_END))
  if (broken) throw new Error(`a statement has a blank line after a semicolon:\n${broken}`)
  const file = new URL(`../src/storage/schema/migrations/${firstRelease.name}.${engine}.sql`, import.meta.url)
  writeFileSync(file, statements.map((statement) => statement + STATEMENT_END).join(''))
}
