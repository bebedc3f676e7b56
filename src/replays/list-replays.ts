import { z } from 'zod'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { withKeyNames } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { SetName } from '../sets/set.ts'
import { listQuery } from '../shapes.ts'
import { presentReplay, ReplayReply, ReplayStatus } from './replay-record.ts'
import * as replays from './store.ts'

export const listReplays = operation({
  id: 'listReplays',
  method: 'GET',
  path: '/v1/agents/{agent_id}/replays',
  summary: 'List replays',
  description: "Lists the agent's replays with their verdicts.",
  access: { permission: 'read' },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'finished_at'], {
      status: ReplayStatus.optional(),
      set: SetName.optional().describe('Only replays of this set'),
      version: z.string().max(64).optional().describe('Only replays that tested this version'),
    }),
  },
  answer: { list: ReplayReply },

  async run({ params, query: { status, set, version, ...page } }, { actor, db }) {
    const agent = await agents.get(db, params.agent_id)
    const { items, total } = await replays.list(db, agent.seq, page, { status, set, version })
    const shown = items.map((replay) => presentReplay(replay, agent.id))
    return { items: await withKeyNames(db, actor, shown, ['created_by']), total }
  },
})
