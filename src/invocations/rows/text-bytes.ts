import { type RawBuilder, sql } from 'kysely'

/** How many bytes these texts of an invocation take. Both engines know that without reading the texts. */
export function bytesOf(...columns: string[]): RawBuilder<number> {
  const sizes = columns.map((column) => sql`coalesce(octet_length(invocations.${sql.ref(column)}), 0)`)
  return sql.join(sizes, sql` + `)
}
