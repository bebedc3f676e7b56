import { type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'

/** How many bytes these texts of a row have. Both engines know this without reading the texts. */
export function textBytes(table: keyof Tables, columns: readonly string[]): RawBuilder<number> {
  const sizes = columns.map((column) => sql`coalesce(octet_length(${sql.ref(`${table}.${column}`)}), 0)`)
  return sql.join(sizes, sql` + `)
}
