import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { DatabaseClock } from './database-clock.ts'
import { CONNECT_MS, driver } from './postgres.ts'

export const notifyChannel = 'moorage_changes'
export const messageChannel = 'moorage_messages'

const RECONNECT_MS = 500
/** If the network fails silently, another node's change can go unnoticed for at most twice this time. */
const PING_MS = 2_500
const GOODBYE_MS = 500
/** How long to wait for the first echo. */
const ECHO_MS = 3_000
/** How long to wait before trying again behind a pooler, because its mode rarely changes. */
const DEAF_MS = 30_000
const ECHO = 'echo '

export type ChangeListener = {
  /** Whether other nodes' announcements arrive here. Otherwise, nothing in memory can be trusted. */
  hears(): boolean
  close(): Promise<void>
}

type ListenOptions = {
  /** The URL for sending announcements. It may lead to a pooler. */
  url: string
  /** The URL for listening. It leads to PostgreSQL itself. */
  listenUrl: string
  onChange: (announcement: string) => void
  /** Called with the messages that nodes send each other, other than announcements. */
  onMessage: (part: string) => void
  /** Gets the database's time with each ping. */
  clock: DatabaseClock
  /** Called when the connection is lost and when it is restored, because announcements may have been missed. */
  onMissed: () => void
  /** Called when the connection works, but no announcement arrives on it. */
  onDeaf: () => void
  pingMs?: number | undefined
}

/**
 * Listens to other nodes' announcements. A connection works once it has received an echo that this node sent over
 * another connection. Behind a pooler that assigns a connection to each transaction, LISTEN succeeds but nothing ever
 * arrives. A connection that doesn't answer its pings is treated as lost.
 */
export function listen(options: ListenOptions): ChangeListener {
  const { url, listenUrl, onChange, onMessage, onMissed, onDeaf, clock, pingMs = PING_MS } = options
  let client: pg.Client | undefined
  let hearing = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let connecting: Promise<void>

  const connect = async () => {
    const next = newClient(listenUrl, pingMs)
    client = next
    let pause = RECONNECT_MS
    const echo = Promise.withResolvers<'heard' | 'ended'>()
    const token = ECHO + randomUUID()
    next.on('notification', ({ channel, payload = '' }) => {
      if (channel === messageChannel) onMessage(payload)
      else if (payload === token) echo.resolve('heard')
      else if (!payload.startsWith(ECHO)) onChange(payload)
    })
    next.on('error', () => {})
    next.once('end', () => {
      hearing = false
      echo.resolve('ended')
      onMissed()
      clearTimeout(timer)
      if (!closed) timer = setTimeout(reconnect, pause)
    })
    try {
      await next.connect()
      await next.query(`listen ${notifyChannel}; listen ${messageChannel}`)
      await send(url, token)
      const answer = await Promise.race([echo.promise, delay(ECHO_MS, 'silence', { ref: false })])
      if (answer === 'silence') {
        pause = DEAF_MS
        onDeaf()
        return await hangUp(next)
      }
      hearing = answer === 'heard' && !closed
      onMissed()
      await ping(next)
    } catch {
      await hangUp(next)
    }
  }
  const ping = async (current: pg.Client) => {
    await clock.ask((text) => current.query(text))
    if (!closed) timer = setTimeout(() => ping(current).catch(() => hangUp(current)), pingMs)
  }
  const reconnect = () => {
    connecting = connect()
  }
  reconnect()

  return {
    hears: () => hearing,
    async close() {
      closed = true
      clearTimeout(timer)
      if (client) await hangUp(client)
      await connecting
    },
  }
}

function newClient(url: string, queryMs: number): pg.Client {
  return new (driver().Client)({
    connectionString: url,
    application_name: 'moorage listener',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: queryMs,
  })
}

/** Sends an announcement over a separate connection, because the pool's connections may all be busy. */
async function send(url: string, payload: string): Promise<void> {
  const client = newClient(url, ECHO_MS)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select pg_notify($1, $2)', [notifyChannel, payload])
  } finally {
    await hangUp(client)
  }
}

/** Closes the connection cleanly, but doesn't wait long, because the server may be gone. */
async function hangUp(client: pg.Client): Promise<void> {
  await Promise.race([client.end().catch(() => {}), delay(GOODBYE_MS, undefined, { ref: false })])
  client.connection.stream.destroy()
}
