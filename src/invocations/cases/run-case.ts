import type { z } from 'zod'
import type { Door } from '../../operation/door.ts'
import type { Attachment } from '../../runtime/attachments/attachment.ts'
import type { Given, GivenTurn } from '../../runtime/given.ts'
import type { Cost } from '../../runtime/models/usage.ts'
import type { RecalledMemory } from '../../runtime/run-input.ts'
import type { RecordedCall } from '../../runtime/tools/recorded-tools.ts'
import type { InvocationContext } from '../invocation.ts'
import type { AnswerCheck } from './answer-check.ts'

/** A message that can be sent again, with everything that its answer depends on besides the agent. */
export type RunCase = {
  name: string | null
  /** The invocation that it is a copy of. */
  request_id: string | null
  content: CaseContent
}

export type CaseContent = {
  message: string
  context: z.output<typeof InvocationContext>
  attachments: readonly Attachment[]
  history: readonly GivenTurn[]
  recalled: readonly RecalledMemory[]
  summary: string | null
  /** What its caller sent in addition, apart from the history. */
  given: Given | null
  checks: readonly AnswerCheck[]
  /** How the invocation answered. Null if someone wrote the case. */
  recorded: RecordedAnswer | null
}

export type RecordedAnswer = {
  version: string | null
  environment: string
  door: Door
  status: 'completed' | 'failed'
  response: string | null
  error: string | null
  calls: readonly RecordedCall[]
  input_tokens: number
  output_tokens: number
  cost_nano: Cost
  duration_ms: number
}
