import type { FastifyReply } from 'fastify'
import type { StreamEvent } from '../runtime/live-runs.ts'

const PING_MS = 15_000

export type EventStream = {
  /** Whether the client has been told that this is a stream; before that an error is an ordinary reply. */
  readonly opened: boolean
  send(event: Omit<StreamEvent, 'data'> & { data: unknown }): void
  end(): void
}

/** Server-sent events. The head goes out with the first event, so whatever fails before it keeps its own status. */
export function eventStream(reply: FastifyReply, headers: Record<string, string>): EventStream {
  const { raw } = reply
  let ping: NodeJS.Timeout | undefined

  const open = () => {
    reply.hijack()
    raw.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
    ping = setInterval(() => raw.write(': ping\n\n'), PING_MS)
    raw.once('close', () => clearInterval(ping))
  }

  return {
    get opened() {
      return ping !== undefined
    },
    send({ id, event, data }) {
      if (!ping) open()
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      raw.write(`id: ${id}\nevent: ${event}\ndata: ${text}\n\n`)
    },
    end() {
      clearInterval(ping)
      raw.end()
    },
  }
}
