import * as agents from '../agents/store.ts'
import { listCases } from '../invocations/cases/case-store.ts'
import { MOST_CASES } from '../invocations/cases/choose-runs.ts'
import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { presentCase, presentSet, SetParams, SetWithCases } from './set.ts'
import * as sets from './store.ts'

export const getSet = operation({
  id: 'getSet',
  method: 'GET',
  path: '/v1/agents/{agent_id}/sets/{name}',
  summary: 'Get a set',
  description: 'Returns the set with its cases.',
  access: { permission: 'read' },
  input: { params: SetParams },
  answer: { data: SetWithCases },

  async run({ params }, { actor, db }) {
    const agent = await agents.get(db, params.agent_id)
    const set = await sets.get(db, agent.seq, params.name)
    const cases = await listCases(db, set.id, { limit: MOST_CASES, offset: 0 })
    const shown = await withKeyName(db, actor, presentSet(set, agent.id), ['created_by'])
    return { ...shown, cases: cases.map(presentCase) }
  },
})
