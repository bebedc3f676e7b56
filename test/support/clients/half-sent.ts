import { request } from 'node:http'
import { text as textOf } from 'node:stream/consumers'

type HalfReply = { status: number | undefined; text: string }

/** A request whose body has come in part. `finish` sends the rest, and answers with the reply. */
export function sendHalf(
  url: string,
  { method, key, headers, body }: { method: string; key?: string; headers?: Record<string, string>; body: object },
): { finish(): Promise<HalfReply> } {
  const text = JSON.stringify(body)
  const answered = Promise.withResolvers<HalfReply>()
  const half = request(url, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    },
  })
  half.on('response', (response) => {
    textOf(response).then((reply) => answered.resolve({ status: response.statusCode, text: reply }), answered.reject)
  })
  half.on('error', answered.reject)
  half.write(text.slice(0, 5))
  return {
    finish() {
      half.end(text.slice(5))
      return answered.promise
    },
  }
}
