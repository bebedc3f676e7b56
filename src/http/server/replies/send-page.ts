import type { ServerResponse } from 'node:http'

/** A page whose body is made once and shared by all replies. */
export type ServedPage = { status: number; headers: Record<string, string>; body: Buffer }

const SLICE = 65_536

/** Sends the body in slices as the client reads it, so a client that doesn't read keeps only one slice in memory. */
export function sendPage(
  response: ServerResponse,
  standard: Record<string, string>,
  { status, headers, body }: ServedPage,
): void {
  response.writeHead(status, { ...standard, ...headers, 'Content-Length': body.length })
  let sent = 0
  const sendMore = () => {
    while (sent < body.length) {
      const hasRoom = response.write(body.subarray(sent, sent + SLICE))
      sent += SLICE
      if (!hasRoom) return
    }
    response.end()
  }
  response.on('drain', sendMore)
  sendMore()
}
