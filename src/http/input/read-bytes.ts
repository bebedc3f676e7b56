import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { ApiError } from '../../errors.ts'

export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Whether the body of such a request is read. */
export function readsBody({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
}

/** The bytes of a request's body. Undefined when it has none, and for a GET. */
export async function readBytes(message: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const { headers } = message
  if (!readsBody(message) || !hasBody(headers)) return undefined
  if (headers['content-type'] === undefined) {
    throw new ApiError('unsupported_media_type', 'Send the body as application/json')
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge()
  if (!message.complete) return gather(message, limit)
  if (message.readableLength > limit) throw tooLarge()
  const chunks: Buffer[] = []
  while (message.readableLength > 0) chunks.push(message.read() as Buffer)
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
}

function gather(message: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    message.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) reject(tooLarge())
      else chunks.push(chunk)
    })
    message.once('end', () => resolve(Buffer.concat(chunks)))
    message.once('error', reject)
    // A client that left before we listened is not reported again.
    if (message.destroyed) reject(message.errored ?? new ApiError('request_timeout', 'The request was cut off'))
  })
}

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', 'The body is too large')
}
