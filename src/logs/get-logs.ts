import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { followLog } from './follow-log.ts'
import { LogEntryReply, LogsQuery, withOwnId } from './log-entry.ts'
import * as logs from './store.ts'

export const getLogs = operation({
  id: 'getLogs',
  method: 'GET',
  path: '/v1/agents/{agent_id}/logs',
  summary: "Get an agent's log entries",
  description:
    'Lists entries of the runtime and the tools, newest first. Secrets are redacted before an entry is stored. With `search`, the service looks through up to 10,000 entries that match the other filters. If there are more, the reply has `pagination.searched_to`: send it as `end_time`, or as `start_time` with `sort=timestamp`. To follow a log, request `after=latest` first. Then send each `pagination.next_after` as `after`. Every entry is returned once, including entries stored late.',
  access: { permission: 'read' },
  input: { params: AgentParams, query: LogsQuery },
  answer: { list: LogEntryReply },

  async run({ params, query }, { db, keyring }) {
    const { seq } = await agents.get(db, params.agent_id)
    const { after } = query
    const page =
      after === undefined ? await logs.list(db, seq, query) : await followLog(db, seq, { ...query, after }, keyring)
    return { ...page, items: page.items.map((entry) => withOwnId(entry, keyring)) }
  },
})
