import { connect as openSocket } from 'node:net'
import type { PostgresPool as KyselyPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { plannedName } from '../database.ts'
import { ReadTimeoutError } from '../read-limits.ts'
import { connect, type PostgresClient, type PostgresPool } from './postgres.ts'

/** How long the server can take to cancel a read. After that, the connection is closed. */
const OBEY_MS = 2_000
/** https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-CANCELREQUEST */
const CANCEL_REQUEST = 80_877_102

type ReadOptions = {
  /** How long a read outside of a transaction may take. */
  readTimeout: number
  /**
   * Whether a connection of the pool always uses the same connection to PostgreSQL. Otherwise, PostgreSQL may not know
   * a statement by its name.
   */
  ownsSessions: () => boolean
}

/**
 * The pool with a time limit for reads outside of transactions. The limit isn't a setting of the connection, because a
 * pooler in between would apply it to other clients too, or refuse it.
 */
export function limitReads(pool: PostgresPool, options: ReadOptions): KyselyPool {
  return {
    options: pool.options,
    connect: async () => new LimitedClient(await connect(pool), options),
    end: () => pool.end(),
  }
}

class LimitedClient implements PostgresPoolClient {
  readonly #client: PostgresClient
  readonly #readTimeout: number
  readonly #ownsSessions: () => boolean
  #inTransaction = false

  constructor(client: PostgresClient, { readTimeout, ownsSessions }: ReadOptions) {
    this.#client = client
    this.#readTimeout = readTimeout
    this.#ownsSessions = ownsSessions
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>
  query(cursor: never): never
  query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (sql.startsWith('begin') || sql.startsWith('start transaction')) this.#inTransaction = true
    const statement = { text: sql, values: [...parameters], name: this.#nameOf(sql) }
    const run = () => this.#client.query(statement) as unknown as Promise<PostgresQueryResult<R>>
    const isRead = !this.#inTransaction && this.#readTimeout > 0 && /^\s*select/i.test(sql)
    return isRead ? this.#limit(run) : run()
  }

  release(discard?: boolean): void {
    this.#client.release(discard)
  }

  #nameOf(sql: string): string | undefined {
    return this.#ownsSessions() ? plannedName(sql) : undefined
  }

  async #limit<T>(run: () => Promise<T>): Promise<T> {
    let cancelled: Promise<void> | undefined
    let timer = setTimeout(() => {
      cancelled = cancel(this.#client)
      timer = setTimeout(() => this.#client.connection.stream.destroy(), OBEY_MS)
    }, this.#readTimeout)
    try {
      return await run()
    } catch (error) {
      throw cancelled ? new ReadTimeoutError(this.#readTimeout) : error
    } finally {
      clearTimeout(timer)
      // The connection isn't returned to the pool until the server has received this. Otherwise, its next statement
      // might be ended.
      await cancelled
    }
  }
}

/**
 * Asks the server to end the connection's statement. Resolves when the server has received this, or can't be reached.
 */
async function cancel({ host, port, processID, secretKey }: PostgresClient): Promise<void> {
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const message = Buffer.alloc(16)
  message.writeInt32BE(message.length, 0)
  message.writeInt32BE(CANCEL_REQUEST, 4)
  message.writeInt32BE(processID, 8)
  message.writeInt32BE(secretKey, 12)
  const socket = openSocket(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
  socket.on('error', () => {})
  socket.setTimeout(OBEY_MS, () => socket.destroy())
  socket.end(message)
  await new Promise((resolve) => socket.on('close', resolve))
}
