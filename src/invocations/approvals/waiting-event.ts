import type { z } from 'zod'
import { eventId, type Position, type StreamEvent } from '../../runtime/following/transcript.ts'
import { QueuedReply } from '../receipt.ts'

/** Tells a client what the run waits for. Its id says how much of the answer the client has heard. */
export function waitingEvent(told: Position, waiting: z.input<typeof QueuedReply>): StreamEvent {
  return { id: eventId(told), event: 'waiting', data: QueuedReply.parse(waiting) }
}
