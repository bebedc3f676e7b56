import pg from 'pg'
import { databaseUrl } from '../inside.ts'
import type { Reply, Service } from '../service/service.ts'
import { lockWaiters } from '../stores/lock-waiters.ts'
import { until } from './until.ts'

/**
 * Acts as another node that commits `statement` at the worst moment, when all the requests wait for it. On SQLite
 * transactions take turns, so there the requests are only sent together.
 */
export async function meanwhile(
  node: Service,
  statement: string,
  ...requests: (() => Promise<Reply>)[]
): Promise<Reply[]> {
  const sendAll = () => Promise.all(requests.map((send) => send()))
  if (node.engine === 'sqlite') return sendAll()

  const other = new pg.Client({ connectionString: databaseUrl(node) })
  await other.connect()
  try {
    await other.query('begin')
    await other.query(statement)
    const replies = sendAll()
    // The service itself may wait for it too.
    await until('the requests wait for the other node', async () => (await lockWaiters(other)) >= requests.length)
    await other.query('commit')
    return await replies
  } finally {
    await other.end()
  }
}
