import { z } from 'zod'
import { GrantReply } from '../connections/grants/connection-grant.ts'
import { FileReply } from '../files/file.ts'
import { IncomingDeliveryWithPayload } from '../incoming/incoming-delivery.ts'
import { ApprovalReply } from '../invocations/approvals/approval.ts'
import { FeedbackReply } from '../invocations/feedback/feedback.ts'
import { Receipt } from '../invocations/receipt.ts'
import { LogEntryReply } from '../logs/log-entry.ts'
import { MemoryReply } from '../memory/memory.ts'
import { SessionSummary } from '../memory/summaries/summary.ts'
import { ScheduleReply } from '../schedules/schedule.ts'

/** What is known about a user, one line for each thing. */
export const UserLine = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('file'), ...FileReply.omit({ created_by_name: true }).shape }),
    z.object({ type: z.literal('memory'), agent_id: z.string(), ...MemoryReply.shape }),
    z.object({ type: z.literal('summary'), agent_id: z.string(), ...SessionSummary.shape }),
    z.object({
      type: z.literal('invocation'),
      ...Receipt.shape,
      given: z
        .unknown()
        .optional()
        .describe('What its caller sent in addition to the message, through a channel other than the API'),
    }),
    z.object({ type: z.literal('approval'), ...ApprovalReply.omit({ not_for_you: true }).shape }),
    z.object({ type: z.literal('grant'), ...GrantReply.shape }),
    z.object({ type: z.literal('feedback'), ...FeedbackReply.omit({ created_by_name: true }).shape }),
    z.object({ type: z.literal('schedule'), ...ScheduleReply.shape }),
    z.object({ type: z.literal('delivery'), agent_id: z.string(), ...IncomingDeliveryWithPayload.shape }),
    z.object({ type: z.literal('log'), agent_id: z.string(), ...LogEntryReply.shape }),
  ])
  .meta({ id: 'UserLine' })

export const UserParams = z.strictObject({ user_id: z.string() })
