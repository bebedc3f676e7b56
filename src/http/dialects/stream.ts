import type { FastifyReply } from 'fastify'
import type { StreamEvent } from '../../runtime/transcript.ts'

const PING_MS = 15_000

export type EventStream = {
  /** Whether the client has been told that this is a stream; before that an error is an ordinary reply. */
  readonly opened: boolean
  /** Sends the head now rather than with the first event. */
  open(): void
  send(event: StreamEvent): void
  end(): void
}

/** Server-sent events. The head goes out with the first event, so whatever fails before it keeps its own status. */
export function eventStream(reply: FastifyReply, headers: Record<string, string>): EventStream {
  const { raw } = reply
  let ping: NodeJS.Timeout | undefined

  const open = () => {
    if (ping) return
    reply.hijack()
    raw.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
    raw.flushHeaders()
    ping = setInterval(() => raw.write(': ping\n\n'), PING_MS)
    raw.once('close', () => clearInterval(ping))
  }

  return {
    get opened() {
      return ping !== undefined
    },
    open,
    send({ id, event, data }) {
      open()
      const text = typeof data === 'string' ? data : JSON.stringify(data)
      raw.write(`id: ${id}\nevent: ${event}\ndata: ${text}\n\n`)
    },
    end() {
      clearInterval(ping)
      raw.end()
    },
  }
}
