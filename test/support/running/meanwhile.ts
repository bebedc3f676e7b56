import pg from 'pg'
import type { Reply, Service } from '../service/service.ts'
import { until } from './until.ts'

/**
 * Plays another node that commits `statement` at the worst moment: when all the requests wait for it. On SQLite
 * transactions take turns, so there the requests are only sent together.
 */
export async function meanwhile(
  { engine, app }: Service,
  statement: string,
  ...requests: (() => Promise<Reply>)[]
): Promise<Reply[]> {
  const sendAll = () => Promise.all(requests.map((send) => send()))
  if (engine === 'sqlite') return sendAll()

  const other = new pg.Client({ connectionString: app.parts.config.database.url })
  await other.connect()
  try {
    await other.query('begin')
    await other.query(statement)
    const replies = sendAll()
    await until('the requests wait for the other node', async () => {
      // Within a transaction PostgreSQL goes on showing what it showed first.
      await other.query('select pg_stat_clear_snapshot()')
      const { rowCount } = await other.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      // The service itself may wait for it too.
      return (rowCount ?? 0) >= requests.length
    })
    await other.query('commit')
    return await replies
  } finally {
    await other.end()
  }
}
