import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { presentColumn, ReplayCase } from './case-column.ts'
import { CaseOutcome, ReplayParams } from './replay-record.ts'
import * as replays from './store.ts'

export const listReplayCases = operation({
  id: 'listReplayCases',
  method: 'GET',
  path: '/v1/agents/{agent_id}/replays/{replay_id}/cases',
  summary: "List a replay's cases",
  description: 'Lists the cases with their answers in three columns: recorded, by the baseline, and by the candidate.',
  access: { permission: 'read' },
  input: {
    params: ReplayParams,
    query: listQuery(['position'], { outcome: CaseOutcome.optional() }, 'position' as '-position'),
  },
  answer: { list: ReplayCase },

  async run({ params, query: { outcome, ...page } }, { db }) {
    const agent = await agents.get(db, params.agent_id)
    const { id } = await replays.get(db, agent.seq, params.replay_id)
    const { items, total } = await replays.listAnswered(db, id, page, outcome)
    const shown = items.map(({ position, name, request_id, content, outcome: found, ...columns }) => ({
      position,
      name,
      request_id,
      erased: content === undefined,
      message: content?.message ?? '',
      outcome: found,
      recorded: presentColumn(columns.recorded),
      baseline: presentColumn(columns.baseline),
      candidate: presentColumn(columns.candidate),
    }))
    return { items: shown, total }
  },
})
