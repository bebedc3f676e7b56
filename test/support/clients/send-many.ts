import { once } from 'node:events'
import { connect } from 'node:net'
import { PATIENCE } from '../running/patience.ts'
import { head } from './raw.ts'

const CONNECTIONS = 8
/** A service reads at most this many requests of a connection ahead of its replies. */
const AHEAD = 16
const SILENCE_MS = 120_000

type Many = { path: string; body: unknown; headers: Record<string, string>; count: number; status: number }

/** Posts the same request many times, as fast as the service answers. Fails at the first reply with another status. */
export async function postMany(url: string, { path, body, headers, count, status }: Many): Promise<void> {
  const text = JSON.stringify(body)
  const fields = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }
  const request = head(`POST ${path}`, { Connection: 'keep-alive', ...fields, ...headers }) + text
  let left = count
  const work = Array.from({ length: CONNECTIONS }, async () => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname).setNoDelay()
    socket.setTimeout(SILENCE_MS * PATIENCE, () => socket.destroy(new Error('the service does not answer')))
    await once(socket, 'connect')
    try {
      while (left > 0) {
        const some = Math.min(AHEAD, left)
        left -= some
        socket.write(request.repeat(some))
        let replies = ''
        while (replies.split('HTTP/1.1 ').length <= some || !endsWhole(replies)) {
          const [chunk] = (await once(socket, 'data')) as [Buffer]
          replies += chunk.toString()
        }
        const statuses = [...replies.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))
        if (statuses.some((code) => code !== status)) throw new Error(`not ${status}: ${replies.slice(0, 1_000)}`)
      }
    } finally {
      socket.destroy()
    }
  })
  await Promise.all(work)
}

/** Whether the body of the last reply has arrived. Its length is in bytes, and these replies are ASCII. */
function endsWhole(replies: string): boolean {
  const last = replies.slice(replies.lastIndexOf('HTTP/1.1 '))
  const start = last.indexOf('\r\n\r\n')
  const length = Number(/content-length: (\d+)/i.exec(last)?.[1] ?? Number.NaN)
  return start >= 0 && last.length - start - 4 >= length
}
