import { z } from 'zod'
import { Label, Text, Time } from '../../shapes.ts'

export const MAX_SUMMARY = 4_000

export const SummaryParams = z.strictObject({ agent_id: z.string(), session_id: z.string() })

export const SummaryQuery = z.strictObject({
  user_id: Label(256).optional().describe('The user that the session belongs to. Default: the session without a user'),
})

export const ReplaceSummaryBody = z.strictObject({ content: Text(MAX_SUMMARY) }).meta({ id: 'ReplaceSummary' })

/** What a session was about. The model sees it before the history. */
export const SessionSummary = z
  .object({
    session_id: z.string(),
    user_id: z.string().nullable(),
    content: z.string(),
    turns: z.int().describe('How many turns of the session it covers'),
    model: z.string().nullable().describe('The model that last wrote it; null if a client did'),
    tokens_used: z.int().describe('Tokens that the model has used for it so far'),
    updated_at: Time,
  })
  .meta({ id: 'SessionSummary' })
export type SessionSummary = z.input<typeof SessionSummary>
