import * as agents from '../agents/store.ts'
import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { presentReplay, ReplayParams, ReplayReply } from './replay-record.ts'
import * as replays from './store.ts'

export const getReplay = operation({
  id: 'getReplay',
  method: 'GET',
  path: '/v1/agents/{agent_id}/replays/{replay_id}',
  summary: 'Get a replay',
  description: 'Returns the progress, and when it has completed, the verdict and the report.',
  access: { permission: 'read' },
  input: { params: ReplayParams },
  answer: { data: ReplayReply },

  async run({ params }, { actor, db }) {
    const agent = await agents.get(db, params.agent_id)
    const replay = await replays.get(db, agent.seq, params.replay_id)
    return withKeyName(db, actor, presentReplay(replay, agent.id), ['created_by'])
  },
})
