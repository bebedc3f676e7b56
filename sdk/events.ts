import type { Reply } from './reply.ts'
import { notOurs, readJson } from './reply.ts'

/** One server-sent event. */
export type ServerEvent = { id: string; event: string; data: string }

export type Watch = {
  signal: AbortSignal | undefined
  /** The service sends a ping every 15 s. A stream that is silent for longer than this is treated as broken. */
  idleTimeoutMs: number
}

/** Yields server-sent events until the connection ends for any reason. Returns that reason. */
export async function* readEvents(
  response: Response,
  { signal, idleTimeoutMs }: Watch,
): AsyncGenerator<ServerEvent, string, undefined> {
  await requireStream(response)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let isSilent = false
  let waiting = ''
  try {
    for (;;) {
      const timer = setTimeout(() => {
        isSilent = true
        // This ends a pending read.
        reader.cancel().catch(() => undefined)
      }, idleTimeoutMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return isSilent ? `no event arrived for ${idleTimeoutMs / 1000} s` : 'the stream ended early'
      waiting += decoder.decode(value, { stream: true })
      const blocks = waiting.split(/\r?\n\r?\n/)
      waiting = blocks.pop() as string
      for (const block of blocks) {
        const event = parse(block)
        if (event) yield event
      }
    }
  } catch (error) {
    signal?.throwIfAborted()
    // A TypeError means that the network broke the stream, so the reader can reconnect. Other errors come from the
    // caller.
    if (!(error instanceof TypeError)) throw error
    return 'the connection was lost'
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** Throws an error if the reply isn't a stream, no matter what it contains. */
async function requireStream(response: Response): Promise<void> {
  const { url, status, headers } = response
  if ((headers.get('content-type') ?? '').startsWith('text/event-stream')) return
  const reply: Reply = { url, status, headers, text: await response.text() }
  readJson(reply)
  throw notOurs(reply, 'with a stream')
}

function parse(block: string): ServerEvent | undefined {
  const fields = new Map<string, string>()
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':')
    // A line that starts with a colon is a comment, such as a ping.
    if (colon < 1) continue
    const name = line.slice(0, colon)
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    const before = fields.get(name)
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value)
  }
  const data = fields.get('data')
  if (data === undefined) return undefined
  return { id: fields.get('id') ?? '', event: fields.get('event') ?? 'message', data }
}
