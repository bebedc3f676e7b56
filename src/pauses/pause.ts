import { z } from 'zod'
import type { Actor } from '../operation/actor.ts'
import type { Pause } from '../operation/pauses.ts'
import { requireScope, requireService } from '../operation/scope.ts'
import { Label, Time } from '../shapes.ts'

const PauseScope = z
  .enum(['project', 'service'])
  .default('project')
  .describe('`service`: every project; requires access to all projects')

export const BeginPauseBody = z
  .strictObject({
    reason: Label(500).describe('Shown to clients whose messages are refused'),
    scope: PauseScope,
  })
  .meta({ id: 'BeginPause' })

export const EndPauseBody = z.strictObject({ scope: PauseScope }).meta({ id: 'EndPause' })

const PauseShape = z.object({
  reason: z.string(),
  paused_by: z
    .string()
    .nullable()
    .describe(
      'A key, a person or another actor. For a pause of the service, only returned to keys with access to all projects',
    ),
  paused_at: Time,
})

export const PauseReply = z
  .object({
    paused: z.boolean().describe("Whether this project is paused, by its own pause or by the service's"),
    project: PauseShape.nullable().describe("This project's pause"),
    service: PauseShape.nullable().describe("The whole service's pause"),
  })
  .meta({ id: 'Pause' })

/** The project whose work the actor may stop and start. Null is the whole service. */
export function projectToPause(actor: Actor, scope: z.output<typeof PauseScope>): string | null {
  requireScope(actor, null)
  if (scope === 'project') return actor.scope.project_id
  requireService(actor)
  return null
}

/** What is paused, of what the actor may see. */
export function presentPauses(pauses: readonly Pause[], { scope, reach }: Actor): z.input<typeof PauseReply> {
  const project = pauses.find(({ project_id }) => project_id === scope.project_id) ?? null
  const service = pauses.find(({ project_id }) => project_id === null) ?? null
  return {
    paused: project !== null || service !== null,
    project,
    service: service && { ...service, paused_by: reach === 'service' ? service.paused_by : null },
  }
}
