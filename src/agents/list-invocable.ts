import { sql } from 'kysely'
import { z } from 'zod'
import { KnownAnswer } from '../operation/known-answer.ts'
import { operation } from '../operation.ts'
import type { WantedOutput } from '../runtime/output/wanted-output.ts'
import { listQuery } from '../shapes.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import type { Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import { isShown, type ShownAgents } from '../storage/queries/shown-agents.ts'
import { type Agent, InvocableAgent } from './agent.ts'
import type { ListedAgent } from './store.ts'

export const listInvocable = operation({
  id: 'listInvocable',
  method: 'GET',
  path: '/v1/keys/self/agents',
  summary: 'List agents you can invoke',
  description:
    'Returns each agent with its description. Agents whose own `security` refuses this request are left out; paused agents are included. A page can contain fewer agents than `limit` if their output schemas are large.',
  access: { permission: 'invoke', userTokens: true },
  input: {
    // Clients that don't support pages need all of them at once.
    query: listQuery(['created_at', 'name', 'id'], {
      limit: z.int().min(1).max(1000).default(10),
      agent_id: z.string().optional().describe('Only the agent with this ID or name'),
    }),
  },
  answer: { list: InvocableAgent },

  async run({ query }, { memo, newId, now, shownAgents, storage }) {
    const shown = await shownAgents()
    const read = () => listDescribed(storage.db, query, { shown, ref: query.agent_id })
    // Clients request the first page again and again. The actor's scope is part of the key.
    if (query.offset > 0 || query.agent_id !== undefined || shown.except.length > 0) return read()
    // What an agent answers with changes with its deployments, too.
    const since = await memo('deployments', '#any', async () => newId('req', now()))
    const key = `#described ${since} ${JSON.stringify([query, shown.project_id, shown.only])}`
    return (await memo('agents', key, async () => new KnownAnswer(await read()))) ?? read()
  },
})

type DescribedAgent = ListedAgent & Pick<Agent, 'description'> & { output_schema: WantedOutput['schema'] | null }

/** A page ends early if its agents are larger than this together, because a reply is written as a whole. */
const PAGE_BYTES = 1024 * 1024

/** The output schema of what an agent serves to clients that name no environment. */
const SERVED_SCHEMA = sql<string>`coalesce(
  (select versions.output_schema from deployments
    join versions on versions.agent_id = deployments.agent_id and versions.version = deployments.version
    where deployments.agent_id = agents.id and environment = 'production' and deployments.status = 'active'),
  agents.output_schema)`

/** The agents with their descriptions and output schemas: as many as one page can contain, and at least one. */
async function listDescribed(
  db: Database,
  query: PageQuery,
  { shown, ref }: { shown: ShownAgents; ref?: string | undefined },
): Promise<Page<DescribedAgent>> {
  const select = db
    .selectFrom('agents')
    .select(['id', 'name', 'status', 'created_at', 'description'])
    .select(sql<number>`octet_length(${SERVED_SCHEMA}) + coalesce(octet_length(description), 0)`.as('bytes'))
    .where('project_id', '=', shown.project_id)
    .where(isShown(db, sql.ref('id'), shown))
    .$if(ref !== undefined, (all) =>
      all.where(({ eb, or }) => or([eb('id', '=', ref ?? ''), eb('name', '=', ref ?? '')])),
    )
  const { items, total } = await page(db, select, query)
  let bytes = 0
  const end = items.findIndex((agent, i) => (bytes += agent.bytes) > PAGE_BYTES && i > 0)
  const first = end < 0 ? items : items.slice(0, end)
  const ids = first.map(({ id }) => id)
  const schemas = db.selectFrom('agents').select(['id', SERVED_SCHEMA.as('output_schema')])
  const rows = ids.length === 0 ? [] : await schemas.where('id', 'in', ids).execute()
  const found = new Map(rows.map((row) => [row.id, row]))
  const described = readable(db, first, ({ bytes: _bytes, ...agent }) => {
    const row = found.get(agent.id)
    return { ...agent, output_schema: row ? jsonOf('agent', row)('output_schema') : null }
  })
  return { items: described as DescribedAgent[], total }
}
