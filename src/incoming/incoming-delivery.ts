import { z } from 'zod'
import { type ChatAnswer, ChatAnswerReply, presentAnswer } from '../answers/conversation-answer.ts'
import { Time } from '../shapes.ts'

/**
 * accepted: it has started a run. filtered: the trigger's filter left it out. failed: it was verified, but no run could
 * start. refused: it could not be verified.
 */
export const IncomingOutcome = z.enum(['accepted', 'filtered', 'failed', 'refused'])
export type IncomingOutcome = z.output<typeof IncomingOutcome>

export const IncomingDeliveryReply = z
  .object({
    id: z.string(),
    trigger_id: z.string(),
    outcome: IncomingOutcome,
    code: z.string().nullable().describe('Why it was refused or failed, for programs'),
    reason: z.string().nullable().describe('Why it was refused or failed, for people'),
    request_id: z.string().nullable().describe('The run that it started'),
    user_id: z.string().nullable(),
    session_id: z.string().nullable(),
    repeats: z.int().describe('How often the same event arrived again. It started no other run'),
    replay_of: z.string().nullable().describe('The delivery that was replayed'),
    has_payload: z.boolean().describe('Whether the payload is stored, so that the delivery can be replayed'),
    answer: ChatAnswerReply.nullable().describe('The answer that is sent to the conversation, after the run has ended'),
    created_at: Time,
  })
  .meta({ id: 'IncomingDelivery' })

export const IncomingDeliveryWithPayload = z
  .object({
    ...IncomingDeliveryReply.shape,
    headers: z.record(z.string(), z.string()).describe('Without headers that can contain secrets'),
    payload: z.string().nullable().describe('The body of the request as JSON'),
  })
  .meta({ id: 'IncomingDeliveryWithPayload' })

/** What a trigger received, and what happened to it. */
export type IncomingDelivery = {
  id: string
  trigger_id: string
  agent_id: string
  outcome: IncomingOutcome
  code: string | null
  reason: string | null
  /** The SHA-256 of what names the event. Null if it may arrive any number of times. */
  event_key: string | null
  request_id: string | null
  repeats: number
  replay_of: string | null
  user_id: string | null
  session_id: string | null
  created_at: number
  headers: Readonly<Record<string, string>>
  body: string | null
}

export function presentIncoming(
  delivery: IncomingDelivery,
  answer: ChatAnswer | undefined,
): z.input<typeof IncomingDeliveryReply> {
  return { ...delivery, has_payload: delivery.body !== null, answer: answer ? presentAnswer(answer) : null }
}
