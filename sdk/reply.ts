import { MoorageError } from './errors.ts'
import type { Page } from './pages.ts'

/** A reply that has arrived completely. */
export type Reply = { url: string; status: number; headers: Headers; text: string }

/** Parses the body of any reply. */
export function readJson(reply: Reply): unknown {
  try {
    return JSON.parse(reply.text)
  } catch (cause) {
    throw notOurs(reply, 'in JSON', cause)
  }
}

/** The data of an operation's reply. Another server may also answer with JSON, so the envelope is required. */
export function readData<T>(reply: Reply): T {
  const body = readJson(reply) as { success?: unknown; data?: T } | null
  if (body?.success !== true || body.data === undefined) throw notOurs(reply)
  return body.data
}

/** The same for a list. */
export function readPage<T>(reply: Reply): Page<T> {
  const body = readJson(reply) as Partial<Page<T>> | null
  if (!Array.isArray(body?.data) || typeof body.pagination?.total !== 'number') throw notOurs(reply)
  return body as Page<T>
}

/** The error if something other than Moorage answers at this URL. */
export function notOurs(
  { url, status, headers }: Pick<Reply, 'url' | 'status' | 'headers'>,
  how = "in Moorage's format",
  cause?: unknown,
): MoorageError {
  const request_id = headers.get('x-request-id') ?? undefined
  const message = `${url || 'The service'} did not answer ${how}. Check the URL.`
  return new MoorageError('invalid_reply', message, { status, request_id, cause })
}
