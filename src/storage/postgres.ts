import { type Dialect, PostgresDialect } from 'kysely'
import pg from 'pg'

const CHANNEL = 'moorage_changes'
const RECONNECT_MS = 500

/** Rows look as they do on SQLite: int8 and numeric are numbers. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1700, Number],
])

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

export function postgresDialect({ url, poolSize }: { url: string; poolSize: number }): Dialect {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    application_name: 'moorage',
  })
  // A connection that the server closed fails the query or transaction that uses it, and is replaced; unheard, the
  // event itself would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return new PostgresDialect({ pool })
}

export type Listener = { close(): Promise<void> }

/**
 * Hears what other nodes announce. Whoever was not listening for a while may have missed anything, so `onMissed` is
 * called after every (re)connect.
 */
export function listen(url: string, onChange: (payload: string) => void, onMissed: () => void): Listener {
  let client: pg.Client | undefined
  let closed = false
  let retry: NodeJS.Timeout | undefined

  const connect = async () => {
    const next = new pg.Client({ connectionString: url, application_name: 'moorage listener', keepAlive: true })
    client = next
    next.on('notification', ({ payload }) => onChange(payload ?? ''))
    next.on('error', () => {})
    next.once('end', () => {
      onMissed()
      if (!closed) retry = setTimeout(connect, RECONNECT_MS)
    })
    try {
      await next.connect()
      await next.query(`listen ${CHANNEL}`)
      onMissed()
    } catch {
      await next.end().catch(() => {})
    }
  }
  const connected = connect()

  return {
    async close() {
      closed = true
      clearTimeout(retry)
      await connected
      await client?.end().catch(() => {})
    },
  }
}

export const notifyChannel = CHANNEL
