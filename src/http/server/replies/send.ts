import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { RenderedReply } from '../../dialects/dialect.ts'

/** `headers` are sent with every reply to this request. */
export function send(
  response: ServerResponse,
  headers: Record<string, string>,
  { status, headers: own, body }: RenderedReply,
): void {
  // With a 304, the client already has the body, so no length is sent.
  const length = status === 304 ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  response.writeHead(status, Object.assign(headers, own, length))
  response.end(body)
}

/** A client that was answered early and then sends nothing for this long has noticed the answer. */
const SILENT_MS = 5_000

/**
 * Answers a client that is still sending its body. Many clients don't read the answer until they have sent everything,
 * and lose it if the connection is closed before. So whatever they send is read and dropped, for at most `forMs`.
 */
export function sendEarly(
  response: ServerResponse,
  headers: Record<string, string>,
  { status, headers: own, body }: RenderedReply,
  forMs: number,
): void {
  const { req: message } = response
  response.writeHead(status, Object.assign(headers, own, { 'Content-Length': String(Buffer.byteLength(body)) }))
  response.write(body)
  const end = () => {
    clearTimeout(silent)
    clearTimeout(enough)
    response.end()
  }
  const silent = setTimeout(end, SILENT_MS)
  const enough = setTimeout(end, forMs)
  message.once('end', end).once('close', end)
  message.on('data', () => silent.refresh())
}

/** Notified when the head of a reply is sent, and of an error of ours after that. */
export type ReplyWatch = { begun(status: number): void; cut(error: unknown): void }

/**
 * Sends lines as they are produced, no faster than the client reads them. An error before the first line is an ordinary
 * reply. After that, an error closes the connection, so no client mistakes a part for the whole.
 */
export async function sendLines(
  response: ServerResponse,
  headers: Record<string, string>,
  { status, headers: own, lines = Readable.from([]) }: RenderedReply,
  { begun, cut }: ReplyWatch,
): Promise<void> {
  const rest = lines[Symbol.asyncIterator]()
  const first = await rest.next()
  begun(status)
  response.writeHead(status, Object.assign(headers, own))
  if (response.req.method === 'HEAD') {
    response.end()
    await rest.return?.()
    return
  }
  async function* all() {
    try {
      for (let next = first; !next.done; next = await rest.next()) yield next.value
    } catch (error) {
      // If the client has disconnected, the failure isn't ours.
      if (!response.destroyed) cut(error)
      throw error
    }
  }
  await pipeline(all, response).catch(() => response.destroy())
  // If the client has disconnected, the lines are abandoned in the middle, and they may hold a file or a connection
  // open.
  await rest.return?.()
}
