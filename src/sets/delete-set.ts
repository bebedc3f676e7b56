import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { removeCases } from '../invocations/cases/case-store.ts'
import { operation } from '../operation.ts'
import { SetParams } from './set.ts'
import * as sets from './store.ts'

export const deleteSet = operation({
  id: 'deleteSet',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/sets/{name}',
  summary: 'Delete a set',
  description: 'Deletes the set with its cases. Replays of the set keep their own copies.',
  access: { permission: 'delete' },
  audit: { target: ['agent_id', 'name'] },
  input: { params: SetParams },
  answer: { data: z.object({ name: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db }) {
    const agent = await agents.lock(db, params.agent_id)
    const set = await sets.get(db, agent.seq, params.name)
    await removeCases(db, set.id)
    await sets.remove(db, set.id)
    return { name: set.name, deleted: true as const }
  },
})
