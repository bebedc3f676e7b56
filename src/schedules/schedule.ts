import { z } from 'zod'
import { AskedAttachments, NamedFile } from '../invocations/attachments/attachment-shape.ts'
import { InvocationContext, OnBudget, Priority } from '../invocations/invocation.ts'
import { DURATION_PATTERN } from '../lib/duration.ts'
import type { Attachment } from '../runtime/attachments/attachment.ts'
import { DEFAULT_ENVIRONMENT, Environment } from '../runtime/tools/called-agent.ts'
import { bareShape, Label, Text, Time, TimeInput } from '../shapes.ts'
import { listNext, type Timing } from './times.ts'

const Overlap = z.enum(['skip', 'queue'])
const CatchUp = z.enum(['none', 'one'])
/** Its owner disabled it, or the key whose permissions it used has ended. */
const DisabledSchedule = z.enum(['requested', 'key_revoked', 'key_expired'])
/** No node ran the tick in time, or the agent was paused. */
const MissedReason = z.enum(['late', 'agent_paused'])

const ASKED = {
  name: Label(200).nullable().default(null),
  message: Text(100_000).describe('The message sent to the agent each time'),
  attachments: AskedAttachments.default([]).describe(
    "Files to send to the model with the message each time. `url` is downloaded once, now. `data` is base64. Both are stored as the schedule's files",
  ),
  context: InvocationContext.default({}),
  environment: Environment.default(DEFAULT_ENVIRONMENT),
  overlap: Overlap.default('skip').describe('What to do if the previous run is still active'),
  catch_up: CatchUp.default('none').describe('`one`: if scheduled times were missed, one run makes up for all of them'),
  on_budget: OnBudget,
  priority: Priority.default('normal'),
  enabled: z.boolean().default(true),
}

const TIMED = {
  cron: Label(200).optional().describe('Five fields, such as `0 9 * * MON-FRI`, or a name such as `@daily`'),
  timezone: Label(100).optional().describe('For `cron`, such as `Europe/Berlin`. Default: UTC'),
  every: z
    .string()
    .regex(DURATION_PATTERN, 'must be a duration such as 15m or 2h')
    .optional()
    .describe('A duration, such as `15m` or `2h`'),
  at: TimeInput.optional().describe('A single time'),
}

const TIMINGS = ['cron', 'every', 'at'] as const

const timingsIn = (body: object) => TIMINGS.filter((name) => (body as Record<string, unknown>)[name] !== undefined)

export const ScheduleParams = z.strictObject({ agent_id: z.string(), schedule_id: z.string() })

export const CreateScheduleBody = z
  .strictObject({ ...TIMED, ...ASKED })
  .refine((body) => timingsIn(body).length === 1, {
    message: 'specify exactly one of `cron`, `every` or `at`',
    path: ['cron'],
  })
  .meta({ id: 'CreateSchedule' })

export const UpdateScheduleBody = z
  .strictObject({ ...TIMED, ...bareShape(ASKED) })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .refine((body) => timingsIn(body).length <= 1, {
    message: 'specify only one of `cron`, `every` or `at`',
    path: ['cron'],
  })
  .meta({ id: 'UpdateSchedule' })

export const ScheduleReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    name: z.string().nullable(),
    cron: z.string().nullable(),
    timezone: z.string().nullable(),
    every: z.string().nullable(),
    at: Time.nullable(),
    message: z.string(),
    attachments: z.array(NamedFile).readonly(),
    context: z.record(z.string(), z.unknown()),
    environment: z.string(),
    overlap: Overlap,
    catch_up: CatchUp,
    on_budget: z.enum(['fail', 'wait']),
    priority: Priority,
    enabled: z.boolean(),
    disabled_reason: DisabledSchedule.nullable(),
    next_at: Time.nullable().describe(
      'Null while the schedule is disabled or its agent is paused, and after its last run',
    ),
    last_tick_at: Time.nullable().describe('The scheduled time of the latest run'),
    last_request_id: z.string().nullable().describe('The latest run'),
    missed: z
      .int()
      .describe('How many runs were not started, because no node was available in time or the agent was paused'),
    last_missed_at: Time.nullable(),
    last_missed_reason: MissedReason.nullable(),
    skipped: z
      .int()
      .describe(
        'How many runs were not started, because an earlier one was still active or the project had reached its storage limit',
      ),
    last_skipped_at: Time.nullable(),
    created_by: z.string(),
    updated_by: z.string().describe("The key that last changed it. Runs have this key's permissions"),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Schedule' })

export const ScheduleWithRuns = z
  .object({ ...ScheduleReply.shape, next_runs: z.array(Time).describe('The next scheduled times, at most five') })
  .meta({ id: 'ScheduleWithRuns' })

/** A schedule as it is stored. */
export type Schedule = Timing & {
  id: string
  agent_id: string
  name: string | null
  message: string
  attachments: readonly Attachment[]
  context: z.output<typeof InvocationContext>
  environment: string
  overlap: z.output<typeof Overlap>
  catch_up: z.output<typeof CatchUp>
  on_budget: z.output<typeof OnBudget>
  priority: Priority
  enabled: boolean
  disabled_reason: z.output<typeof DisabledSchedule> | null
  next_at: number | null
  /** The agent was paused at the next tick, and nothing happens until it is resumed. */
  parked: boolean
  last_tick_at: number | null
  last_request_id: string | null
  missed: number
  last_missed_at: number | null
  last_missed_reason: z.output<typeof MissedReason> | null
  skipped: number
  last_skipped_at: number | null
  created_by: string
  updated_by: string
  /** The keys that made or changed it, latest last. None of them can approve what its runs ask for. */
  authors: readonly string[]
  created_at: number
  updated_at: number
}

type OfAgent = { status: 'running' | 'paused' }

/** Pausing the agent pauses its schedules. */
export function presentSchedule(schedule: Schedule, { status }: OfAgent): z.input<typeof ScheduleReply> {
  return { ...schedule, next_at: status === 'paused' ? null : schedule.next_at }
}

const SHOWN_RUNS = 5

export async function presentWithRuns(schedule: Schedule, agent: OfAgent): Promise<z.input<typeof ScheduleWithRuns>> {
  const presented = presentSchedule(schedule, agent)
  const { next_at } = presented
  return { ...presented, next_runs: next_at === null ? [] : await listNext(schedule, next_at - 1, SHOWN_RUNS) }
}
