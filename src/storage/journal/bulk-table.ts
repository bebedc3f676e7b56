import { type ColumnOf, columnsOf, keyOf, type TableName } from '../tables.ts'
import type { BulkTable, Merge } from './rows.ts'

type Options<Name extends TableName> = {
  /** Columns that a new row doesn't have yet. They are null, or have their default. */
  without?: readonly ColumnOf<Name>[]
  /** Set if a row whose key already exists is merged into the stored row. */
  merge?: Omit<Merge, 'key'>
  after?: BulkTable
}

/** A described table in the form that the journal needs. */
export function bulkTable<Name extends TableName>(
  table: Name,
  { without = [], merge, after }: Options<Name> = {},
): BulkTable {
  const columns = columnsOf(table, without)
  return { table, columns, ...(merge && { merge: { key: keyOf(table), ...merge } }), ...(after && { after }) }
}
