import { z } from 'zod'
import { Time } from '../shapes.ts'

/** pending → sent | failed. */
export const ChatAnswerStatus = z.enum(['pending', 'sent', 'failed'])

/** Whether the answer has arrived in the conversation. */
export const ChatAnswerReply = z
  .object({
    status: ChatAnswerStatus,
    tries: z.int().describe('How often the platform was asked to accept it'),
    error: z.string().nullable().describe('Why the latest attempt failed'),
    next_attempt_at: Time.nullable().describe('When it is sent again'),
    sent_at: Time.nullable(),
  })
  .meta({ id: 'ChatAnswer' })

const Place = z.record(z.string(), z.unknown())

/** The conversation that an event belongs to: its name, and where its platform shows it. */
export type ChatThread = { key: string; place: Readonly<Record<string, unknown>> }

/** What the context of a trigger's run says about the conversation that it answers in. */
export const AnsweredTrigger = z.object({
  trigger: z.object({ id: z.string(), conversation: z.object({ key: z.string(), place: Place }) }),
})

/** What is sent to a conversation. */
export type ChatAnswer = {
  id: string
  trigger_id: string
  agent_id: string
  request_id: string
  user_id: string | null
  /** The call that people are asked about. Null for the run's answer. */
  call_id: string | null
  conversation: string
  place: ChatThread['place']
  status: z.output<typeof ChatAnswerStatus>
  /** How many parts of a long answer have been sent. */
  parts_sent: number
  tries: number
  next_attempt_at: number | null
  owner: string | null
  error: string | null
  created_at: number
  sent_at: number | null
}

export function presentAnswer({ owner, ...answer }: ChatAnswer): z.input<typeof ChatAnswerReply> {
  const { status, tries, error, next_attempt_at, sent_at } = answer
  return { status, tries, error, sent_at, next_attempt_at: owner === null ? next_attempt_at : null }
}
