import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import type { Rendered } from '../../dialects/dialect.ts'

export function send(reply: FastifyReply, { status, headers, body }: Rendered): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}

/** The same past Fastify, which would go over every header once more: for what operations answer. */
export function sendRaw(reply: FastifyReply, headers: Record<string, string>, rendered: Rendered): void {
  const { status, headers: own, body } = rendered
  const { raw } = reply.hijack()
  raw.writeHead(status, Object.assign(headers, own, { 'Content-Length': String(Buffer.byteLength(body)) }))
  raw.end(body)
}

/**
 * Lines as they come, no faster than the client reads. An error before the first is an ordinary reply; after that the
 * connection breaks off, so that nobody takes a part for the whole.
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
