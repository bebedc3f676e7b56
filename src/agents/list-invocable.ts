import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { KnownAnswer } from '../operation/known-answer.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { InvocableAgent } from './agent.ts'
import * as agents from './store.ts'

export const listInvocable = operation({
  id: 'listInvocable',
  method: 'GET',
  path: '/v1/keys/self/agents',
  summary: 'List the agents that this key may invoke',
  description:
    'With what each is for. Agents whose own `security` the request does not pass are left out. Paused agents are shown.',
  permission: 'invoke',
  userTokens: true,
  // Clients that know no pages want all of them at once.
  query: listQuery(['created_at', 'name', 'id'], {
    limit: z.int().min(1).max(1000).default(10),
    agent_id: z.string().optional().describe('Only this one: id or name'),
  }),
  list: InvocableAgent,

  async run(
    { query },
    { memo, newId, now, shownAgents, storage }: Needs<'memo' | 'newId' | 'now' | 'shownAgents' | 'storage'>,
  ) {
    const shown = await shownAgents()
    const read = () => agents.listDescribed(storage.db, query, { shown, ref: query.agent_id })
    // Clients ask for the first page again and again. The actor's scope is part of the key.
    if (query.offset > 0 || query.agent_id !== undefined || shown.except.length > 0) return read()
    // What an agent answers with changes with its deployments, too.
    const since = await memo('deployments', '#any', async () => newId('req', now()))
    const key = `#described ${since} ${JSON.stringify([query, shown.project_id, shown.only])}`
    return (await memo('agents', key, async () => new KnownAnswer(await read()))) ?? read()
  },
})
