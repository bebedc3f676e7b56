import { z } from 'zod'
import { KeyName, Label, Text, Time } from '../../shapes.ts'

/** Scores are stored as whole millionths, so their sums are exact. */
const MILLION = 1_000_000

const DEFAULT_FEEDBACK_KEY = 'rating'

export const FeedbackKey = Label(64)

const MAX_COMMENT = 2_000

export const FeedbackComment = Text(MAX_COMMENT)

export const Score = z.number().min(-1).max(1)

export const GiveFeedbackBody = z
  .strictObject({
    score: Score.describe('From -1 (bad) to 1 (good), rounded to six decimal places'),
    comment: FeedbackComment.nullable().default(null).describe('Why, in the words of the user'),
    key: FeedbackKey.default(DEFAULT_FEEDBACK_KEY).describe(
      'What the score is about, such as `helpful` or `correct`. Feedback with the same key replaces the earlier one',
    ),
  })
  .meta({ id: 'GiveFeedback' })

export const DeleteFeedbackQuery = z.strictObject({ key: FeedbackKey.default(DEFAULT_FEEDBACK_KEY) })

export const FeedbackReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    request_id: z.string(),
    key: z.string(),
    score: z.number(),
    comment: z.string().nullable(),
    user_id: z.string().nullable().describe('The user of the invocation'),
    session_id: z.string().nullable(),
    environment: z.string(),
    version: z.string().nullable().describe('The version that answered; null: the draft'),
    deployment_id: z.string().nullable(),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    updated_at: Time.describe('When the score and the comment were last replaced'),
  })
  .meta({ id: 'Feedback' })

/** What a client says about an answer. A run has at most one for each key. */
export type Feedback = {
  id: string
  agent_seq: number
  request_id: string
  key: string
  score: number
  comment: string | null
  user_id: string | null
  session_id: string | null
  environment: string
  version: string | null
  deployment_id: string | null
  /** The key or token that started the run, and the one that gave the feedback last. */
  started_by: string
  created_by: string
  created_at: number
  updated_at: number
}

export function millionthsOf(score: number): number {
  // Adding 0 turns -0, the result for a tiny negative score, into 0.
  return Math.round(score * MILLION) + 0
}

export function scoreOf(millionths: number): number {
  return millionths / MILLION
}
