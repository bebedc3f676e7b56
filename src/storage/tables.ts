import type { Selectable } from 'kysely'
import type { TableColumn } from './schema/column.ts'
import type { RowsOf, Table } from './schema/described-table.ts'
import { agentTables } from './tables/agent-tables.ts'
import { connectionTables } from './tables/connection-tables.ts'
import { fileTables } from './tables/file-tables.ts'
import { logTables } from './tables/log-tables.ts'
import { countTables } from './tables/logic/count-tables.ts'
import { memoryTables } from './tables/memory-tables.ts'
import { peopleTables } from './tables/people-tables.ts'
import { projectTables } from './tables/project-tables.ts'
import { replayTables } from './tables/replay-tables.ts'
import { type invocationView, runTables } from './tables/run-tables.ts'
import { securityTables } from './tables/security-tables.ts'
import { serviceTables } from './tables/service-tables.ts'
import { triggerTables } from './tables/trigger-tables.ts'
import { usageTables } from './tables/usage-tables.ts'
import { webhookTables } from './tables/webhook-tables.ts'

/**
 * The schema that this version requires, which is the same on both engines. Each table is described in one place, in
 * `tables/`. A table comes after the tables that it refers to.
 */
export const TABLES = {
  ...projectTables,
  ...agentTables,
  ...runTables,
  ...replayTables,
  ...logTables,
  ...countTables,
  ...usageTables,
  ...memoryTables,
  ...webhookTables,
  ...triggerTables,
  ...securityTables,
  ...peopleTables,
  ...serviceTables,
  ...fileTables,
  ...connectionTables,
}

/**
 * The rows of all tables, as queries read and write them. `migrate` creates the table `migrations` before all others.
 */
export type Tables = RowsOf<typeof TABLES & typeof invocationView> & { migrations: MigrationRow }

/** A migration that was applied to this store. If `breaks` is 1, versions that don't know it can't use the store. */
type MigrationRow = { name: string; breaks: number; migrated_at: number }

/** A row as the code sees it. JSON is parsed, and a column with few values has the type of these values. */
export type RowWith<Row, Read extends { [Key in keyof Row]?: unknown }> = Omit<Selectable<Row>, keyof Read> & Read

export type TableName = keyof typeof TABLES
export type ColumnOf<Name extends TableName> = keyof (typeof TABLES)[Name]['columns'] & string

/**
 * The columns of a table in order, except those in `without` and those that only the database writes: generated
 * numbers, and columns of only one engine.
 */
export function columnsOf<Name extends TableName, Without extends ColumnOf<Name> = never>(
  name: Name,
  without: readonly Without[] = [],
): Exclude<ColumnOf<Name>, Without>[] {
  const columns: Readonly<Record<string, TableColumn<unknown>>> = TABLES[name].columns
  const isWritten = (column: string) => columns[column]?.facts.kind !== 'sequence' && !columns[column]?.facts.only
  return Object.keys(columns).filter(
    (column): column is Exclude<ColumnOf<Name>, Without> => isWritten(column) && !without.includes(column as Without),
  )
}

/** The columns that identify a row of a table. */
export function keyOf(name: TableName): readonly string[] {
  const { facts, columns }: Table = TABLES[name]
  return facts.key ?? Object.keys(columns).filter((column) => columns[column]?.facts.isKey)
}
