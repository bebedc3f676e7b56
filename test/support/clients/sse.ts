export type SseEvent = { id: string; event: string; data: unknown }

/** Reads server-sent events as they arrive, without comments. */
export async function* readEvents(response: Response): AsyncGenerator<SseEvent> {
  if (!response.body) return
  let waiting = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    waiting += chunk
    for (;;) {
      const end = waiting.indexOf('\n\n')
      if (end < 0) break
      const block = waiting.slice(0, end)
      waiting = waiting.slice(end + 2)
      if (block.startsWith(':')) continue
      const fields = new Map(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      yield {
        id: fields.get('id') ?? '',
        event: fields.get('event') ?? '',
        data: JSON.parse(fields.get('data') ?? 'null'),
      }
    }
  }
}

export async function allEvents(response: Response): Promise<SseEvent[]> {
  const events: SseEvent[] = []
  for await (const event of readEvents(response)) events.push(event)
  return events
}
