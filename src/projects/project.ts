import { z } from 'zod'
import { conflict } from '../errors.ts'
import { PROJECT_NAME, PROJECT_NAME_RULE } from '../lib/text/project-name.ts'
import { withoutUndefined } from '../lib/without-undefined.ts'
import { Label, Time } from '../shapes.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { RowWith, Tables } from '../storage/tables.ts'

const ProjectName = z.string().regex(PROJECT_NAME, PROJECT_NAME_RULE)

const limit = (most: number) => z.int().min(1).max(most).nullable()

const Limits = z
  .strictObject({
    requests_per_minute: limit(10_000_000).describe("For all of the project's callers together. null: no limit"),
    concurrent_runs: limit(10_000).describe(
      'Concurrent runs of all its agents, on all nodes. Above it, requests get 429 and background runs wait. null: no limit',
    ),
    stored_bytes: limit(2 ** 50).describe(
      'Bytes of receipts, logs, memories and files, measured about once per minute. Above it, the project accepts no new messages, memories or files (409), and its schedules skip their runs. null: no limit',
    ),
    file_bytes: limit(2 ** 50).describe(
      'Total bytes of its files. An upload that would exceed it gets 409. null: no limit',
    ),
    retention_days: limit(36_500).describe(
      "Receipts, approvals, logs, memories, deliveries, replays and files are deleted after this many days. null: the service's retention applies",
    ),
  })
  .meta({ id: 'ProjectLimits' })

/** Limits that are not named stay as they are. */
const SetLimits = Limits.partial().meta({ id: 'SetProjectLimits' })

const NO_LIMITS: z.output<typeof Limits> = {
  requests_per_minute: null,
  concurrent_runs: null,
  stored_bytes: null,
  file_bytes: null,
  retention_days: null,
}

export const ProjectParams = z.strictObject({ project_id: z.string().describe("The project's ID or name") })

export const CreateProjectBody = z
  .strictObject({
    name: ProjectName,
    description: Label(500, 0).nullable().default(null),
    limits: SetLimits.default({}),
  })
  .meta({ id: 'CreateProject' })

/** There are no defaults here: fields that a PATCH does not name stay as they are. */
export const UpdateProjectBody = z
  .strictObject({
    name: ProjectName,
    description: Label(500, 0).nullable(),
    limits: SetLimits,
  })
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .meta({ id: 'UpdateProject' })

export const ProjectReply = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    limits: Limits,
    stored_bytes: z
      .int()
      .nullable()
      .describe('What it stores, as last measured; null if it has no limit or was not measured yet'),
    is_default: z.boolean().describe('Whether requests that name no project use this one'),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Project' })

export type Project = RowWith<Tables['projects'], { limits: z.output<typeof Limits> }>

/** The limits with the given ones changed. A limit that was never set doesn't exist. */
export function withLimits(limits: Partial<Project['limits']>, changes: z.output<typeof SetLimits>): Project['limits'] {
  return { ...NO_LIMITS, ...limits, ...withoutUndefined(changes) }
}

/** Whether the project has stored as much as it may. */
export function isFull({ limits, stored_bytes }: Pick<Project, 'limits' | 'stored_bytes'>): boolean {
  return limits.stored_bytes !== null && (stored_bytes ?? 0) >= limits.stored_bytes
}

export const FULL_MESSAGE =
  'The project has reached its storage limit (limits.stored_bytes). Delete some of its data, or raise the limit.'

/** Call this before more is stored in the project. */
export function requireRoom(project: Parameters<typeof isFull>[0]): void {
  if (isFull(project)) throw conflict(FULL_MESSAGE)
}

export function presentProject(project: Project): z.input<typeof ProjectReply> {
  const stored_bytes = project.limits.stored_bytes === null ? null : project.stored_bytes
  return { ...project, stored_bytes, is_default: project.id === DEFAULT_PROJECT }
}
