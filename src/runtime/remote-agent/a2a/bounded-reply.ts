import { setImmediate as nextPass } from 'node:timers/promises'
import { hasMoreMarks, isMark, NotAnAnswer, ReplyReader } from '../../providers/protocols/read-events.ts'
import { MOST_EVENTS } from '../remote-exchange.ts'

/** The limit of a reply that is one JSON object. */
const MAX_TEXT_BYTES = 2 * 1024 * 1024
/**
 * The most values in one event, or in a reply that is one JSON object. The A2A client needs some microseconds for each.
 */
const MAX_MARKS = 20_000

/** How many bytes are read before other work gets its turn. Each piece or event counts as a few hundred bytes more. */
const BYTES_AT_ONCE = 10_000
const COST_OF_PIECE = 500

/** Limits a reply that is JSON, or a stream of JSON events. Its body fails when it becomes too large. */
export function boundedReply(response: Response, isStream: boolean): Response {
  if (!response.body) return response
  const { status, statusText, headers } = response
  const body = response.body.pipeThrough(isStream ? wholeEvents() : countedBytes())
  return new Response(body, { status, statusText, headers })
}

type Bounds = TransformStream<Uint8Array, Uint8Array>

/**
 * With every piece of a stream, the A2A client searches the whole event again from its start. So it is given only
 * complete events, each on one line.
 */
function wholeEvents(): Bounds {
  let events: string[] = []
  const add = (data: string) => {
    if (hasMoreMarks(data, MAX_MARKS)) throw new NotAnAnswer('the reply contains too many values')
    events.push(data)
  }
  const reader = new ReplyReader(({ data }) => add(data), add, { fatal: true, mostEvents: MOST_EVENTS })
  const takeTurns = turns()
  const hand = async (controller: TransformStreamDefaultController<Uint8Array>) => {
    const whole = events
    events = []
    for (const data of whole) {
      // In JSON, a space between two values means the same as a line break.
      controller.enqueue(Buffer.from(`data: ${data.replaceAll('\n', ' ')}\n\n`))
      await takeTurns(data.length)
    }
  }
  return new TransformStream({
    async transform(piece, controller) {
      reader.read(piece)
      await takeTurns(piece.length)
      await hand(controller)
    },
    async flush(controller) {
      reader.end()
      await hand(controller)
    },
  })
}

function countedBytes(): Bounds {
  let bytes = 0
  let marks = 0
  const takeTurns = turns()
  return new TransformStream({
    async transform(piece, controller) {
      bytes += piece.length
      if (bytes > MAX_TEXT_BYTES) throw new NotAnAnswer('the reply is too long')
      for (const byte of piece) if (isMark(byte)) marks += 1
      if (marks > MAX_MARKS) throw new NotAnAnswer('the reply contains too many values')
      controller.enqueue(piece)
      await takeTurns(piece.length)
    },
  })
}

/** Pauses so that other work gets its turn. Otherwise, a reply that arrives at once would block everything. */
function turns(): (bytes: number) => Promise<void> {
  let cost = 0
  return async (bytes) => {
    cost += bytes + COST_OF_PIECE
    if (cost < BYTES_AT_ONCE) return
    cost = 0
    await nextPass()
  }
}
