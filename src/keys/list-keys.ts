import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { KeyReply, KeyStatus, presentKey } from './key.ts'
import { withOwners } from './key-names.ts'
import * as keys from './store.ts'

export const listKeys = operation({
  id: 'listKeys',
  method: 'GET',
  path: '/v1/keys',
  summary: 'List API keys',
  description: "Secrets are never returned. A key limited to one agent sees only that agent's keys.",
  access: {
    permission: 'manage',
    concerns: async ({ query }) => query.agent_id ?? null,
  },
  input: {
    query: listQuery(['created_at', 'name', 'expires_at', 'last_used_at', 'id'], {
      agent_id: z.string().optional(),
      status: KeyStatus.optional(),
      person_id: z.string().optional().describe("Only this person's keys"),
    }),
  },
  answer: { list: KeyReply },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { agent_id: ref, status, person_id, ...page } = query
    const agent_id = ref === undefined ? undefined : ((await agents.findIn(db, actor.scope.project_id, ref))?.id ?? ref)
    const { items, total } = await keys.list(
      db,
      page,
      { shown: await shownAgents(), reach: actor.reach, agent_id, person_id, status },
      now(),
    )
    const shown = items.map((key) => presentKey(key, now()))
    return { items: await withOwners(db, actor, shown), total }
  },
})
