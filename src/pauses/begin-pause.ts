import { operation } from '../operation.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import { BeginPauseBody, PauseReply, presentPauses, projectToPause } from './pause.ts'
import * as pauses from './store.ts'

export const beginPause = operation({
  id: 'beginPause',
  method: 'POST',
  path: '/v1/pause',
  summary: 'Pause everything',
  description:
    "Pauses all work in this project, or in the whole service, within a second and on every node. Active runs wait: their model calls are interrupted, and tool calls in progress can finish. Background runs, schedules and work on memory wait too. New messages get 409 `agent_paused` with the reason. `POST /v1/resume` continues all of it; scheduled runs that are more than a minute late are missed, unless their schedule catches up. Pausing again changes the reason. The event `project.paused` is sent to the project's webhooks, `service.paused` to those of the default project.",
  access: { permission: 'manage' },
  audit: { target: null },
  idempotent: true,
  input: { body: BeginPauseBody },
  answer: { data: PauseReply },

  async run({ body }, { db, actor, events, now }) {
    const project_id = projectToPause(actor, body.scope)
    const time = now()
    const isNew = await pauses.insert(db, { project_id, reason: body.reason, paused_by: actor.id, paused_at: time })
    if (isNew) {
      const told = { project_id: project_id ?? DEFAULT_PROJECT, agent_id: null, time }
      const data = () => ({ reason: body.reason, ...(project_id !== null && { project_id }) })
      await events.emit(db, { type: project_id === null ? 'service.paused' : 'project.paused', ...told, data })
    }
    return presentPauses(await pauses.list(db), actor)
  },
})
