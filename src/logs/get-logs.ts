import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import type { Needs } from '../operation/context.ts'
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
    'What the runtime and the tools reported, newest first. Secrets are redacted before an entry is stored. A `search` looks through 10,000 entries that pass the other filters. When there are more, `pagination.searched_to` says how far it came: go on with that time as `end_time`, or as `start_time` with `sort=timestamp`. To follow a log, ask `after=latest` and then again and again after `pagination.next_after`: every entry comes once, also one that was stored late.',
  permission: 'read',
  params: AgentParams,
  query: LogsQuery,
  list: LogEntryReply,

  async run({ params, query }, { db, keyring }: Needs<'db' | 'keyring'>) {
    const { seq } = await agents.get(db, params.agent_id)
    const { after } = query
    const page =
      after === undefined ? await logs.list(db, seq, query) : await followLog(db, seq, { ...query, after }, keyring)
    return { ...page, items: page.items.map((entry) => withOwnId(entry, keyring)) }
  },
})
