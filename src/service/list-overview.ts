import { z } from 'zod'
import { AgentReply, AgentSummary } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import * as deployments from '../deployments/store.ts'
import * as metrics from '../metrics/store.ts'
import { operation } from '../operation.ts'
import { DEFAULT_ENVIRONMENT } from '../runtime/tools/called-agent.ts'
import { listQuery } from '../shapes.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** An agent is failing if at least one in this many of its invocations failed. */
const FAILING_ONE_IN = 10

const AgentOverview = z
  .object({
    ...AgentSummary.shape,
    kind: AgentReply.shape.kind,
    version: z.string().nullable().describe('The version in `production`; null for the draft'),
    requests: z.int().describe('Invocations that completed or failed in the last 24 hours, including this hour'),
    errors: z.int().describe('Invocations that failed'),
    p95_ms: z
      .number()
      .nullable()
      .describe('The response time that 95% of them did not exceed; null if there were none'),
    hours: z.array(z.int()).describe('Requests per hour in UTC: 24 numbers, the last one is this hour'),
  })
  .meta({ id: 'AgentOverview' })

export const listOverview = operation({
  id: 'listOverview',
  method: 'GET',
  path: '/v1/overview',
  summary: 'List agents with their activity in the last 24 hours',
  description:
    "Lists the agents of `GET /v1/agents` with the version they serve and their activity in the last 24 hours, in one request, for a dashboard's first page. With a user token, only that user's invocations are counted.",
  access: { permission: 'read', userTokens: true },
  input: {
    query: listQuery(['created_at', 'updated_at', 'name', 'status', 'id'], {
      failing: z
        .enum(['true'])
        .optional()
        .describe('`true`: only agents with an error rate of at least 10% in the last 24 hours'),
    }),
  },
  answer: { list: AgentOverview },

  async run({ query }, { db, actor, shownAgents, now }) {
    const { failing, ...page } = query
    const shown = await shownAgents()
    const thisHour = Math.floor(now() / HOUR_MS)
    const range = { from: (thisHour - HOURS + 1) * 60, to: (thisHour + 1) * 60, step: 60 }
    const isFailing: Parameters<typeof agents.list>[3] = (seqs) =>
      metrics.failingAgents(db, seqs, range, actor.scope, FAILING_ONE_IN)
    const { items, total } = await agents.list(db, page, shown, failing && isFailing)
    const ids = items.map(({ id }) => id)
    const known = new Map((await agents.listKinds(db, ids)).map((agent) => [agent.id, agent]))
    const seqs = [...known.values()].map(({ seq }) => seq)
    const [serving, totals, percentiles] = await Promise.all([
      deployments.listActive(db, ids, DEFAULT_ENVIRONMENT),
      metrics.totalsOfAgents(db, seqs, range, actor.scope),
      metrics.percentilesOfAgents(db, seqs, range, actor.scope),
    ])
    const versions = new Map(serving.map(({ agent_id, version }) => [agent_id, version]))
    const overview = items.map((agent) => {
      const { seq = 0, kind = 'model' } = known.get(agent.id) ?? {}
      const day = totals.get(seq) ?? []
      const byHour = new Map(day.map(({ from, count }) => [from, count]))
      const longest = Math.max(0, ...day.map(({ max_ms }) => max_ms))
      const ranks = percentiles.get(seq)
      return {
        ...agent,
        kind,
        version: versions.get(agent.id) ?? null,
        requests: day.reduce((sum, { count }) => sum + count, 0),
        errors: day.reduce((sum, { errors }) => sum + errors, 0),
        // The middle of the last bucket may lie above the longest duration.
        p95_ms: ranks ? Math.min(ranks.p95, longest) : null,
        hours: Array.from({ length: HOURS }, (_, hour) => byHour.get(range.from + hour * 60) ?? 0),
      }
    })
    return { items: overview, total }
  },
})
