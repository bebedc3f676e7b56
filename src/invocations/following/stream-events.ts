import type { z } from 'zod'
import { eventId, type Position, type StreamEvent } from '../../runtime/following/transcript.ts'
import { goesOn } from '../../runtime/told-steps.ts'
import { type InvocationResult, QueuedReply } from '../receipt.ts'
import { transcriptOf } from '../steps/receipt-steps.ts'

export function startEvent(request_id: string, attempt = 1): StreamEvent {
  return { id: eventId({ attempt, characters: 0, tools: 0 }), event: 'start', data: { request_id } }
}

/** Tells a client that has received part of an earlier attempt that the answer starts over. */
function restartEvent(request_id: string, attempt: number): StreamEvent {
  return { ...startEvent(request_id, attempt), event: 'restart' }
}

/**
 * The event that a client needs before the events of this attempt, or undefined. `milestones` are the points at which
 * the attempt can continue.
 */
export function openingEvent(
  request_id: string,
  attempt: number,
  told: Position | undefined,
  milestones: readonly Position[],
): StreamEvent | undefined {
  if (!told) return startEvent(request_id, attempt)
  return told.attempt < attempt && !goesOn(told, milestones) ? restartEvent(request_id, attempt) : undefined
}

/** The events of a repeated answer. */
export function replayEvents({ request_id, response }: z.output<typeof InvocationResult>): StreamEvent[] {
  const transcript = transcriptOf({ attempt: 1, response, steps: [] }, [])
  return [startEvent(request_id), ...transcript.after({ characters: 0, tools: 0 })]
}

/** Tells a client what the run waits for. The event's ID says how much of the answer the client has received. */
export function waitingEvent(told: Position, waiting: z.input<typeof QueuedReply>): StreamEvent {
  return { id: eventId(told), event: 'waiting', data: QueuedReply.parse(waiting) }
}

/** Tells a client that the run waits for the turn of its session, and how many runs come before it. */
export function queuedEvent(told: Position, position: number): StreamEvent {
  return { id: eventId(told), event: 'queued', data: { position } }
}
