import { connect, type Socket } from 'node:net'

export type Load = {
  method: string
  path: string
  headers: Record<string, string>
  /** Eight `@` in a header or in the body are replaced by eight digits and letters, other ones for each request. */
  body?: string | undefined
}

export type LoadResult = { requests: number; seconds: number; p50_ms: number; p99_ms: number; failed: number }

/**
 * Keeps `connections` requests in progress for `ms`, or until `atMost` were sent. It uses raw sockets, so that the load
 * costs less than what it measures.
 */
export async function measure(
  url: string,
  load: Load,
  connections: number,
  ms: number,
  atMost = Number.POSITIVE_INFINITY,
): Promise<LoadResult> {
  const nextRequest = requestSource(url, load)
  const { hostname, port } = new URL(url)
  const latencies: number[] = []
  let failed = 0
  const started = performance.now()
  const until = started + ms
  let sent = connections
  const goesOn = (now: number) => now < until && sent++ < atMost
  const sockets = await Promise.all(Array.from({ length: connections }, () => dial(hostname, Number(port))))
  await Promise.all(
    sockets.map((socket) =>
      keepAsking(socket, nextRequest, goesOn, (status, latency) => {
        if (status < 200 || status > 299) failed += 1
        latencies.push(latency)
      }),
    ),
  )
  const seconds = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  latencies.sort((a, b) => a - b)
  return {
    requests: latencies.length,
    seconds,
    p50_ms: sortedAt(latencies, 0.5),
    p99_ms: sortedAt(latencies, 0.99),
    failed,
  }
}

/** The value that this share of the sorted ones does not exceed. */
export function sortedAt(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

export function dial(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

function keepAsking(
  socket: Socket,
  nextRequest: () => Buffer,
  goesOn: (now: number) => boolean,
  seen: (status: number, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = performance.now()
    let reply: Buffer | undefined
    /**
     * The size of the last reply. Most replies have the same size and arrive in one piece, so their end need not be
     * searched.
     */
    let size = 0
    socket.on('data', (chunk: Buffer) => {
      reply = reply ? Buffer.concat([reply, chunk]) : chunk
      if (reply.length !== size) {
        size = sizeOf(reply)
        if (reply.length < size) return
      }
      const now = performance.now()
      seen(statusOf(reply), now - sent)
      reply = undefined
      if (!goesOn(now)) return resolve()
      sent = now
      socket.write(nextRequest())
    })
    socket.once('error', reject)
    // If a server dies or hangs up between two requests, only this event says so.
    socket.once('close', () => reject(new Error('the server closed a connection under load')))
    socket.write(nextRequest())
  })
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** The size of the whole reply, as far as it is known. */
function sizeOf(reply: Buffer): number {
  const end = reply.indexOf('\r\n\r\n')
  if (end < 0) return Number.POSITIVE_INFINITY
  const head = reply.toString('latin1', 0, end)
  const length = /content-length: (\d+)/i.exec(head)?.[1]
  if (length !== undefined) return end + 4 + Number(length)
  // A chunked stream is complete when the empty chunk has come.
  return reply.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? reply.length : Number.POSITIVE_INFINITY
}

/** `HTTP/1.1 200 …` */
function statusOf(reply: Buffer): number {
  const digit = (at: number) => (reply[at] as number) - 0x30
  return digit(9) * 100 + digit(10) * 10 + digit(11)
}

const PLACEHOLDER = '@@@@@@@@'

/** Makes the bytes of one request after the other. */
export function requestSource(url: string, { method, path, headers, body = '' }: Load): () => Buffer {
  const all = { Host: new URL(url).host, ...headers, ...(body && { 'Content-Type': 'application/json' }) }
  const lines = Object.entries({ ...all, 'Content-Length': String(Buffer.byteLength(body)) }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const template = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  const positions: number[] = []
  for (let at = template.indexOf(PLACEHOLDER); at >= 0; at = template.indexOf(PLACEHOLDER, at + 1)) positions.push(at)
  if (positions.length === 0) return () => template
  // Microseconds are used up faster than requests are sent, so no later measurement meets the same ones again.
  let next = Math.floor((performance.timeOrigin + performance.now()) * 1000) % 36 ** PLACEHOLDER.length
  return () => {
    const name = (next++).toString(36).padStart(PLACEHOLDER.length, '0')
    const request = Buffer.from(template)
    for (const at of positions) request.write(name, at, 'latin1')
    return request
  }
}
