import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { RenderedReply } from '../../dialects/dialect.ts'

/** `headers` are the headers that every reply to this request has. */
export function send(
  response: ServerResponse,
  headers: Record<string, string>,
  { status, headers: own, body }: RenderedReply,
): void {
  // 304 stands for a body that the client has, and says nothing of its length.
  const length = status === 304 ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
  response.writeHead(status, Object.assign(headers, own, length))
  response.end(body)
}

/** A client that was answered early and sends nothing for this long has noticed, if it may send for longer at all. */
const SILENT_MS = 5_000

/**
 * Answers a client that still sends its body. Many clients read no answer before they have sent everything, and lose it if
 * the connection is closed meanwhile, so what they send is read and dropped, for `forMs` at most.
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

/** Told when the head of a reply leaves, and of an error of ours after that. */
export type ReplyWatch = { begun(status: number): void; cut(error: unknown): void }

/**
 * Sends lines as they come, no faster than the client reads. An error before the first line is an ordinary reply. After
 * that the connection is cut, so that no client takes a part for the whole.
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
      // What fails because the client has gone is no error of ours.
      if (!response.destroyed) cut(error)
      throw error
    }
  }
  await pipeline(all, response).catch(() => response.destroy())
  // A client that has gone leaves the lines in the middle, and they may have a file or a connection open.
  await rest.return?.()
}
