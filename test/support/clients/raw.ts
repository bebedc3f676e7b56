import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Reply } from '../service/service.ts'

const CLOSES_WITHIN_MS = 120_000

/** Sends the bytes unchanged, and returns all replies until the server closes the connection. */
export async function sendRaw(url: string, bytes: string | Buffer, { hangUp = false } = {}): Promise<Reply[]> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  // A server that has received enough might reset the connection while the test is still writing.
  socket.on('error', () => {})
  socket.setTimeout(CLOSES_WITHIN_MS, () => {
    received.push(Buffer.from('<the server does not close>'))
    socket.destroy()
  })
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  if (hangUp) socket.end()
  await once(socket, 'close')
  return [...readReplies(Buffer.concat(received).toString('utf8'))]
}

/** A request line and headers. The server closes after its reply unless another `Connection` is given. */
export function head(line: string, headers: Record<string, string> = {}): string {
  const all = { Host: 'localhost', Connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n`
}

function* readReplies(text: string): Generator<Reply> {
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    if (end < 0 || Number.isNaN(status)) throw new Error(`not an HTTP reply: ${rest.slice(0, 500)}`)
    const headers = new Headers(lines.map((line) => line.split(/: ?(.*)/s).slice(0, 2) as [string, string]))
    const length = Number(headers.get('content-length') ?? 0)
    const body = Buffer.from(rest.slice(end + 4)).subarray(0, length)
    rest = Buffer.from(rest.slice(end + 4))
      .subarray(length)
      .toString()
    yield { status, headers, text: body.toString(), body: length > 0 ? JSON.parse(body.toString()) : undefined }
  }
}

/** The headers of every reply, even one that doesn't come from the router. */
export function assertStandardHeaders(headers: Headers, type = 'application/json'): void {
  assert.match(headers.get('x-request-id') ?? '', /^req_[0-9A-Z]{26}$/)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('content-type'), `${type}; charset=utf-8`)
}

/** The headers of the rate limit, for a key of the highest tier. */
export function assertRateLimitHeaders({ headers }: Reply): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  ) as [number, number, number]
  assert.equal(limit, 10_000)
  assert.ok(Number.isInteger(remaining) && remaining > 0 && remaining <= limit, String(remaining))
  assert.ok(Number.isInteger(reset) && Math.abs(reset - Date.now() / 1000) < 60, String(reset))
}
