import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import type { Rendered } from '../../dialects/dialect.ts'

export function send(reply: FastifyReply, { status, headers, body }: Rendered): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** Sends a reply without Fastify, which would process every header once more. */
export function sendRaw(reply: FastifyReply, headers: Record<string, string>, rendered: Rendered): void {
  const { status, headers: own, body } = rendered
  const { raw } = reply.hijack()
  raw.writeHead(status, Object.assign(headers, own, { 'Content-Length': String(Buffer.byteLength(body)) }))
  raw.end(body)
}

/**
 * Sends lines as they come, no faster than the client reads. An error before the first line is an ordinary reply. After
 * that the connection is cut, so that no client takes a part for the whole.
 */
export async function sendLines(
  reply: FastifyReply,
  headers: Record<string, string>,
  { status, headers: own, lines = Readable.from([]) }: Rendered,
): Promise<void> {
  const rest = lines[Symbol.asyncIterator]()
  const first = await rest.next()
  const { raw } = reply.hijack()
  raw.writeHead(status, Object.assign(headers, own))
  async function* all() {
    for (let next = first; !next.done; next = await rest.next()) yield next.value
  }
  await pipeline(all, raw).catch(() => raw.destroy())
}
