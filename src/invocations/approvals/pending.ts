import { z } from 'zod'
import type { AskKind } from '../../runtime/approvals/ask.ts'
import { Time } from '../../shapes.ts'
import { ChildShape } from '../children/child-shape.ts'

export const ApprovalKind = z.enum(['tool', 'question', 'retry', 'connection'] as const satisfies AskKind[])

export const Arguments = z.record(z.string(), z.unknown())

/** What a person needs to know to decide. */
export const Pending = z
  .object({
    call_id: z.string().describe('Identifies the call within its run'),
    kind: ApprovalKind.describe(
      '`tool`: whether the tool can be called. `question`: the agent needs an answer. `retry`: the call was in progress when the service stopped; whether to make it again. `connection`: a user must sign in; the run continues by itself when they have',
    ),
    tool: z.string(),
    arguments: Arguments.describe(
      "The call's arguments, without secrets; for a question, its `question` and any `options`",
    ),
    created_at: Time.describe('When the run started waiting for it'),
    expires_at: Time.describe('When it is rejected automatically'),
    connection: z
      .object({ name: z.string(), link_id: z.string().nullable(), url: z.string().nullable() })
      .optional()
      .describe(
        'What to sign in to, and where. The link is null for a sign-in of the project, except for keys with `manage`, and if `server.publicUrl` is not set',
      ),
    child: ChildShape.optional().describe('The run that asks, if it was called as a tool by this run'),
  })
  .meta({ id: 'PendingApproval' })
