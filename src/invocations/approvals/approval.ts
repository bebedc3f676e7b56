import { z } from 'zod'
import type { AskKind } from '../../runtime/approvals/ask.ts'
import type { SignInLink } from '../../runtime/tools/connections/connected.ts'
import { KeyName, Text, Time } from '../../shapes.ts'
import type { RowWith, Tables } from '../../storage/tables.ts'
import { InvocationParams } from '../invocation.ts'
import { Arguments, Pending } from './pending.ts'

/**
 * pending → approved | rejected | expired | cancelled. A run has pending approvals only while it waits: the transaction
 * in which it stops waiting settles them all.
 */
export const ApprovalStatus = z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled'])
export type ApprovalStatus = z.output<typeof ApprovalStatus>

export const ApprovalReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    request_id: z.string(),
    ...Pending.shape,
    status: ApprovalStatus,
    user_id: z.string().nullable(),
    session_id: z.string().nullable(),
    started_by: z.string().describe('Who started the run'),
    started_by_name: KeyName,
    decided_at: Time.nullable(),
    decided_by: z
      .string()
      .nullable()
      .describe('null if no person decided: the approval expired, or its run was cancelled'),
    decided_by_name: KeyName,
    changed_arguments: Arguments.nullable().describe('The changed arguments that the tool is called with'),
    note: z.string().nullable(),
    answer: z.string().nullable(),
    not_for_you: z
      .string()
      .nullable()
      .describe("While it is pending: why you can't decide it, and who can; null if you can decide it"),
  })
  .meta({ id: 'Approval' })

export const ApprovalParams = z.strictObject({ ...InvocationParams.shape, call_id: z.string() })

export const DecideBody = z
  .strictObject({
    decision: z.enum(['approve', 'reject']),
    arguments: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("With `approve`: calls the tool with these arguments instead. They must match the tool's schema"),
    note: Text(4_000).optional().describe('With `reject`, the note is sent to the model'),
    answer: Text(20_000).optional().describe('With `approve` of a question: the answer'),
  })
  .meta({ id: 'DecideApproval' })

/** An approval as the service stores it. */
export type Approval = RowWith<
  Tables['approvals'],
  {
    kind: AskKind
    arguments: Record<string, unknown>
    input_schema: Record<string, unknown>
    status: ApprovalStatus
    changed_arguments: Record<string, unknown> | null
  }
> & { connection?: SignInLink | undefined }

/** Who decided, when, and how. The tool is called with `arguments`. */
export type Settlement = {
  status: Exclude<ApprovalStatus, 'pending'>
  at: number
  by: string | null
  arguments?: Record<string, unknown> | undefined
  note?: string | undefined
  answer?: string | undefined
}

/** The approval after the decision, as people see it. */
export function settled(approval: Approval, { status, at, by, ...how }: Settlement): Approval {
  return {
    ...approval,
    status,
    decided_at: at,
    decided_by: by,
    changed_arguments: how.arguments ?? null,
    note: how.note ?? null,
    answer: how.answer ?? null,
  }
}
