import { operation } from '../operation.ts'
import { PauseReply, presentPauses } from './pause.ts'
import * as pauses from './store.ts'

export const getPause = operation({
  id: 'getPause',
  method: 'GET',
  path: '/v1/pause',
  summary: 'Get the pause status',
  description: '`project` and `service` are the current pauses, or null.',
  access: { permission: 'read' },
  answer: { data: PauseReply },

  async run(_input, { actor, db }) {
    return presentPauses(await pauses.list(db), actor)
  },
})
