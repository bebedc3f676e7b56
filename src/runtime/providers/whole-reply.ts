import type { ProviderSockets, SocketRequest } from './provider-sockets.ts'

export type WholeReply = { status: number; headers: Record<string, string | string[] | undefined>; text: string }

/** The reply is longer than allowed for this request. */
export class ReplyTooLarge extends Error {}

/** Sends a request and waits for the last byte of its reply. */
export async function wholeReply(
  sockets: ProviderSockets,
  request: SocketRequest,
  max_bytes: number,
): Promise<WholeReply> {
  const reply: Omit<WholeReply, 'text'> = { status: 0, headers: {} }
  const chunks: Buffer[] = []
  let size = 0
  await sockets.send(request, {
    start(status, headers) {
      Object.assign(reply, { status, headers })
    },
    data(chunk) {
      size += chunk.byteLength
      // The error closes the connection.
      if (size > max_bytes) throw new ReplyTooLarge(`the reply is larger than ${max_bytes} bytes`)
      chunks.push(chunk)
    },
  })
  return { ...reply, text: Buffer.concat(chunks).toString() }
}
