import { request } from 'node:http'

/** Sends only part of a request's body. `finish` sends the rest, and returns the reply's status. */
export function sendHalf(
  url: string,
  { method, key, headers, body }: { method: string; key?: string; headers?: Record<string, string>; body: object },
): { finish(): Promise<number> } {
  const text = JSON.stringify(body)
  const answered = Promise.withResolvers<number>()
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
    response.resume()
    answered.resolve(response.statusCode ?? 0)
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
