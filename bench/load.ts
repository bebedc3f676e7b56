import { connect, type Socket } from 'node:net'

export type Load = {
  url: string
  method: string
  path: string
  headers: Record<string, string>
  body?: string | undefined
}

export type Measured = { requests: number; seconds: number; p50_ms: number; p99_ms: number; failed: number }

/** Keeps `connections` requests under way for `ms`. Written on raw sockets so that the load costs less than what it measures. */
export async function measure(load: Load, connections: number, ms: number): Promise<Measured> {
  const request = requestBytes(load)
  const { hostname, port } = new URL(load.url)
  const latencies: number[] = []
  let failed = 0
  const started = performance.now()
  const until = started + ms
  const sockets = await Promise.all(Array.from({ length: connections }, () => dial(hostname, Number(port))))
  await Promise.all(
    sockets.map((socket) =>
      keepAsking(socket, request, until, (status, latency) => {
        if (status !== 200) failed += 1
        latencies.push(latency)
      }),
    ),
  )
  const seconds = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { requests: latencies.length, seconds, p50_ms: at(0.5), p99_ms: at(0.99), failed }
}

function dial(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

function keepAsking(
  socket: Socket,
  request: Buffer,
  until: number,
  seen: (status: number, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = performance.now()
    let reply: Buffer | undefined
    /** Of the last reply. Most are of one size and come in one piece: then there is nothing to search for. */
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
      if (now >= until) return resolve()
      sent = now
      socket.write(request)
    })
    socket.once('error', reject)
    // A server that dies, or hangs up between two requests, says so here and nowhere else.
    socket.once('close', () => reject(new Error('the server closed a connection under load')))
    socket.write(request)
  })
}

/** Of a whole reply, as far as it is known. */
function sizeOf(reply: Buffer): number {
  const head = reply.indexOf('\r\n\r\n')
  if (head < 0) return Number.POSITIVE_INFINITY
  const length = /content-length: (\d+)/i.exec(reply.toString('latin1', 0, head))?.[1]
  return head + 4 + Number(length)
}

/** `HTTP/1.1 200 …` */
function statusOf(reply: Buffer): number {
  const digit = (at: number) => (reply[at] as number) - 0x30
  return digit(9) * 100 + digit(10) * 10 + digit(11)
}

function requestBytes({ url, method, path, headers, body = '' }: Load): Buffer {
  const all = { Host: new URL(url).host, ...headers, ...(body && { 'Content-Type': 'application/json' }) }
  const lines = Object.entries({ ...all, 'Content-Length': String(Buffer.byteLength(body)) }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}
