import { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

const CHANNEL = 'moorage_changes'
const RECONNECT_MS = 500
const CONNECT_MS = 5_000
const SILENT_MS = 30_000
/** Shorter than the above: a connection that rests is closed in good order. */
const IDLE_MS = 20_000
/** What other nodes change is believed for at most twice as long after the network fell silent. */
const PING_MS = 2_500
const GOODBYE_MS = 500

/** Rows look as they do on SQLite: int8 and numeric are numbers. */
const PARSERS = new Map<number, (text: string) => unknown>([
  [20, Number],
  [1700, Number],
])

const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS.get(oid) ?? pg.types.getTypeParser(oid, format as 'text'),
} as pg.CustomTypesConfig

/** `silentMs`: how long a connection in use may be silent, whichever side should speak; 0 for ever. */
export type PostgresOptions = { url: string; poolSize: number; silentMs?: number | undefined }

export type PostgresPool = pg.Pool

export function openPool({ url, poolSize, silentMs = SILENT_MS }: PostgresOptions): PostgresPool {
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
  // A connection that the server closed fails the query or transaction that uses it, and is replaced; unheard, the
  // event itself would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * A network that swallows packets looks like a server that thinks. Unlike the driver's own time limit this one closes
 * the connection, which is still waiting for the answer and would hold up whoever gets it next.
 */
function impatientSocket(ms: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(ms, () => {
    socket.destroy(Object.assign(new Error(`PostgreSQL did not answer within ${ms} ms`), { code: 'ETIMEDOUT' }))
  })
}

export type ChangeListener = {
  /** Whether what other nodes announce arrives here. While it does not, nothing remembered can be trusted. */
  hears(): boolean
  close(): Promise<void>
}

type ListenOptions = {
  onChange: (payload: string) => void
  /** Called when the connection is lost and when it is back: anything may have been missed. */
  onMissed: () => void
  pingMs?: number | undefined
}

/** Hears what other nodes announce. A connection that does not answer its pings counts as lost. */
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

/** Says goodbye, and does not wait long for an answer: there may be nobody left to give one. */
async function hangUp(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), delay(GOODBYE_MS, undefined, { ref: false })])
  client.connection.stream.destroy()
}

export const notifyChannel = CHANNEL
