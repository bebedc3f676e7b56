import type { Client } from 'pg'

/** How many statements in the client's database wait for a lock. With `part`, only those whose text contains it. */
export async function lockWaiters(client: Client, part = ''): Promise<number> {
  // Within a transaction, PostgreSQL keeps showing what it showed first.
  await client.query('select pg_stat_clear_snapshot()')
  const { rowCount } = await client.query(
    `select 1 from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and strpos(query, $1) > 0`,
    [part],
  )
  return rowCount ?? 0
}
