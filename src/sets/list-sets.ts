import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { withKeyNames } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { presentSet, SetReply } from './set.ts'
import * as sets from './store.ts'

export const listSets = operation({
  id: 'listSets',
  method: 'GET',
  path: '/v1/agents/{agent_id}/sets',
  summary: 'List sets',
  description: "Lists the agent's sets, without their cases.",
  access: { permission: 'read' },
  input: { params: AgentParams, query: listQuery(['created_at', 'updated_at', 'name'], {}) },
  answer: { list: SetReply },

  async run({ params, query }, { actor, db }) {
    const agent = await agents.get(db, params.agent_id)
    const { items, total } = await sets.list(db, agent.seq, query)
    const shown = items.map((set) => presentSet(set, agent.id))
    return { items: await withKeyNames(db, actor, shown, ['created_by']), total }
  },
})
