import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

const CHANNEL = 'moorage_changes'
const RECONNECT_MS = 500
const CONNECT_MS = 5_000
const SILENT_MS = 30_000
/** Shorter than the time above, so that an idle connection is closed in good order. */
const IDLE_MS = 20_000
/** After the network falls silent, a change on another node may go unnoticed for at most twice this time. */
const PING_MS = 2_500
const GOODBYE_MS = 500

/** Rows look as they do on SQLite: int8 and numeric become numbers. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1700, Number],
])

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

export type PostgresOptions = {
  url: string
  poolSize: number
  /** How long a connection in use may be silent, whichever side should speak. 0 means without limit. */
  silentMs?: number | undefined
  /** How long a read outside of a transaction may take. 0 means without limit. */
  readTimeout: number
}

export type PostgresPool = pg.Pool
/** The two numbers with which the server may be told to end what the connection runs. */
export type PostgresClient = pg.PoolClient & { processID?: number | null; secretKey?: number | null }

export function openPool({ url, poolSize, silentMs = SILENT_MS }: Omit<PostgresOptions, 'readTimeout'>): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    stream: () => impatientSocket(silentMs),
    application_name: 'moorage',
  })
  // When the server closes a connection, the query that uses it fails and the pool replaces it. Without a listener this
  // event would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Gives each row to `hear` as it arrives, and keeps none. */
export async function hearRows(
  pool: PostgresPool,
  { text, values }: { text: string; values: unknown[] },
  hear: (row: Record<string, unknown>) => void,
): Promise<void> {
  const client = await pool.connect()
  try {
    await new Promise<void>((resolve, reject) => {
      const query = client.query(new pg.Query({ text, values, types }))
      query.on('row', hear)
      query.on('end', () => resolve())
      query.on('error', reject)
    })
  } finally {
    client.release()
  }
}

/**
 * When the network loses packets, the server seems to be thinking. The driver's own time limit would leave the
 * connection open, still waiting for the answer, and its next user would wait too. This one closes the connection.
 */
function impatientSocket(ms: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(ms, () => {
    socket.destroy(Object.assign(new Error(`PostgreSQL did not answer within ${ms} ms`), { code: 'ETIMEDOUT' }))
  })
}

export type ChangeListener = {
  /** Whether announcements of other nodes arrive here. While they do not, nothing in memory can be trusted. */
  hears(): boolean
  close(): Promise<void>
}

type ListenOptions = {
  onChange: (payload: string) => void
  /** Called when the connection is lost and when it is back: announcements may have been missed. */
  onMissed: () => void
  pingMs?: number | undefined
}

/** Listens to the announcements of other nodes. A connection that does not answer its pings counts as lost. */
export function listen(url: string, { onChange, onMissed, pingMs = PING_MS }: ListenOptions): ChangeListener {
  let client: pg.Client | undefined
  let hearing = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  const connect = async () => {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'moorage listener',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: pingMs,
    })
    client = next
    next.on('notification', ({ payload }) => onChange(payload ?? ''))
    next.on('error', () => {})
    next.once('end', () => {
      hearing = false
      onMissed()
      clearTimeout(timer)
      if (!closed) timer = setTimeout(connect, RECONNECT_MS)
    })
    try {
      await next.connect()
      await next.query(`listen ${CHANNEL}`)
      hearing = true
      onMissed()
      await ping(next)
    } catch {
      await hangUp(next)
    }
  }
  const ping = async (current: pg.Client) => {
    await current.query('select 1')
    if (!closed) timer = setTimeout(() => ping(current).catch(() => hangUp(current)), pingMs)
  }
  const connected = connect()

  return {
    hears: () => hearing,
    async close() {
      closed = true
      clearTimeout(timer)
      await connected
      if (client) await hangUp(client)
    },
  }
}

/** Closes the connection in good order, but does not wait long: the server may be gone. */
async function hangUp(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), delay(GOODBYE_MS, undefined, { ref: false })])
  client.connection.stream.destroy()
}

export const notifyChannel = CHANNEL
