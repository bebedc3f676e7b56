import { conflict } from '../errors.ts'
import { operation } from '../operation.ts'
import { BY_IMPORT } from '../storage/queries/paused-projects.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import { EndPauseBody, PauseReply, presentPauses, projectToPause } from './pause.ts'
import * as pauses from './store.ts'

export const endPause = operation({
  id: 'endPause',
  method: 'POST',
  path: '/v1/resume',
  summary: 'Resume',
  description:
    'Ends the pause of this project, or of the whole service. Waiting runs resume after their last step, on any node. A project with a pause of its own stays paused when the service resumes.',
  access: { permission: 'manage' },
  audit: { target: null },
  idempotent: true,
  input: { body: EndPauseBody, bodyOptional: true },
  answer: { data: PauseReply, errors: ['conflict'] },

  async run({ body }, { db, actor, events, now }) {
    const project_id = projectToPause(actor, body.scope)
    const ended = await pauses.remove(db, project_id)
    if (ended?.paused_by === BY_IMPORT) {
      throw conflict(
        "The import of this project isn't complete. Run `moorage import` with the same file again, or remove what was imported with `moorage import --discard`.",
      )
    }
    if (ended) {
      const time = now()
      const told = { project_id: project_id ?? DEFAULT_PROJECT, agent_id: null, time }
      const paused_ms = time - ended.paused_at
      const data = () => ({ reason: ended.reason, paused_ms, ...(project_id !== null && { project_id }) })
      await events.emit(db, { type: project_id === null ? 'service.resumed' : 'project.resumed', ...told, data })
    }
    return presentPauses(await pauses.list(db), actor)
  },
})
