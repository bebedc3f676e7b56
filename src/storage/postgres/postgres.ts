import { Socket } from 'node:net'
import type pg from 'pg'
import { lazily } from '../../lib/lazily.ts'

/** The driver. A service on SQLite doesn't load it. */
export const driver = lazily<typeof pg>('pg')

export const CONNECT_MS = 5_000
/** A timer that fires this much too late shows that the process was suspended. */
const LATE_MS = 250
const CONNECT_TRIES = 5
const SILENT_MS = 30_000
/** How long a server still has to answer, because it may have been suspended together with this process. */
const LAST_MS = 1_000
/** Shorter than the time above, so that an idle connection is closed cleanly. */
const IDLE_MS = 20_000

/** Makes rows look the same as on SQLite: int8 and numeric become numbers. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1700, Number],
])

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS.get(oid) ?? driver().types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

export type PostgresOptions = {
  url: string
  poolSize: number
  /** How long a connection in use can be idle, on either side. 0 means no limit. */
  silentMs?: number | undefined
  /** How long a read outside of a transaction can take. 0 means no limit. */
  readTimeout: number
}

export type PostgresPool = pg.Pool
/** A connection of the pool. With the two numbers, the server can be asked to end the connection's statement. */
export type PostgresClient = pg.PoolClient & { processID?: number | null; secretKey?: number | null }

export function openPool({ url, poolSize, silentMs = SILENT_MS }: Omit<PostgresOptions, 'readTimeout'>): PostgresPool {
  const pool = new (driver().Pool)({
    connectionString: url,
    max: poolSize,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    stream: () => impatientSocket(silentMs),
    application_name: 'moorage',
  })
  // When the server closes a connection, its query fails and the pool replaces the connection. Without a listener, this
  // event would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Takes a connection from the pool. */
export function connect(pool: PostgresPool): Promise<PostgresClient> {
  return connectFairly(() => pool.connect())
}

/** Opens a connection that belongs to no pool. */
export function connectAlone(url: string) {
  return connectFairly(async () => {
    const client = new (driver().Client)({ connectionString: url, connectionTimeoutMillis: CONNECT_MS })
    await client.connect()
    return client
  })
}

/**
 * The driver uses a timer to give up after CONNECT_MS. If the timer fired late, this process was suspended, perhaps
 * with its machine, and the server had no chance to answer, so the driver tries again.
 */
async function connectFairly<Connected>(tryToConnect: () => Promise<Connected>): Promise<Connected> {
  for (let tries = 1; ; tries++) {
    const started = performance.now()
    try {
      return await tryToConnect()
    } catch (error) {
      const isFair = performance.now() - started < CONNECT_MS + LATE_MS
      if (isFair || tries === CONNECT_TRIES) throw error
    }
  }
}

/** Calls `hear` with each row as it arrives, without collecting the rows. */
export async function hearRows(
  pool: PostgresPool,
  { text, values }: { text: string; values: unknown[] },
  hear: (row: Record<string, unknown>) => void,
): Promise<void> {
  const client = await connect(pool)
  try {
    await new Promise<void>((resolve, reject) => {
      const query = client.query(new (driver().Query)({ text, values, types }))
      query.on('row', hear)
      query.on('end', () => resolve())
      query.on('error', reject)
    })
  } finally {
    client.release()
  }
}

/**
 * A socket with a time limit. If the network loses packets, the server only seems to be busy. The driver's own time
 * limit would leave the connection open and waiting for the reply, so its next user would wait too. This limit closes
 * the connection.
 */
function impatientSocket(ms: number): Socket {
  const socket = new Socket()
  // Marks the error so that it shows that PostgreSQL is unavailable, and not some other service.
  socket.on('error', (error) => Object.assign(error, { from: 'postgres' }))
  return socket.setTimeout(ms, () => {
    const { bytesRead, bytesWritten } = socket
    setTimeout(() => {
      if (socket.bytesRead !== bytesRead || socket.bytesWritten !== bytesWritten) return
      socket.destroy(Object.assign(new Error(`PostgreSQL did not answer within ${ms} ms`), { code: 'ETIMEDOUT' }))
    }, LAST_MS)
  })
}
