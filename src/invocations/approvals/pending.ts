import { z } from 'zod'
import type { AskKind } from '../../runtime/approvals/ask.ts'
import { Time } from '../../shapes.ts'
import { ChildShape } from '../children/child-shape.ts'

export const ApprovalKind = z.enum(['tool', 'question', 'retry'] as const satisfies AskKind[])

export const Arguments = z.record(z.string(), z.unknown())

/** What a person needs to know to decide. */
export const Pending = z
  .object({
    call_id: z.string().describe('Names the call within its run'),
    kind: ApprovalKind.describe(
      '`tool`: may it be called. `question`: the agent wants an answer. `retry`: it was under way when the service died; may it be called again',
    ),
    tool: z.string(),
    arguments: Arguments.describe('Of the call, without secrets; of a question its `question` and perhaps `options`'),
    created_at: Time.describe('Since when the run waits for it'),
    expires_at: Time.describe('What is not decided by then is rejected'),
    child: ChildShape.optional().describe('The run that asks, if it is one that this run has called'),
  })
  .meta({ id: 'PendingApproval' })
