import { KnownAnswer } from '../operation/known-answer.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { AgentSummary } from './agent.ts'
import * as agents from './store.ts'

export const listAgents = operation({
  id: 'listAgents',
  method: 'GET',
  path: '/v1/agents',
  summary: 'List agents',
  description:
    'A key limited to one agent sees only that agent. Agents whose own `security` refuses this request are left out.',
  access: { permission: 'read', userTokens: true },
  input: { query: listQuery(['created_at', 'updated_at', 'name', 'status', 'id'], {}) },
  answer: { list: AgentSummary },

  async run({ query }, { memo, shownAgents, storage }) {
    const shown = await shownAgents()
    const read = () => agents.list(storage.db, query, shown)
    // First pages are few and often requested. The actor's scope is part of the key.
    if (query.offset > 0 || shown.except.length > 0) return read()
    const key = `#page ${JSON.stringify([query, shown.project_id, shown.only])}`
    return (await memo('agents', key, async () => new KnownAnswer(await read()))) ?? read()
  },
})
