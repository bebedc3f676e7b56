import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { invalid } from '../../errors.ts'
import type { Tool } from '../../runtime/spec.ts'
import { jsonOf } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import type { ShownAgents } from '../../storage/queries/shown-agents.ts'

/** Runs call each other at most four levels deep, so a longer chain is a mistake. Writers wait while it is followed. */
const MOST_DEEP = 8
const MOST_CALLED = 500

/** The agent that has the tools. A new agent has no ID yet. */
type Caller = { id?: string; name: string; project_id: string }

/** The agents that tools call, by the ID or name that the tools use. */
export function agentsCalled(tools: readonly Tool[] | undefined): string[] {
  return (tools ?? []).flatMap((tool) => (tool.type === 'agent' ? tool.agent : []))
}

/** A call on the way from the caller: the called agent, the caller's field that led here, and the names in between. */
type CallEdge = { ref: string; environment: string; field: string; path: readonly string[] }

/**
 * Refuses tools that call an agent which isn't in the project, and tools through which the agent would call itself, at
 * any distance. The reply for an agent hidden from the request is the same as for a missing one.
 */
export async function checkAgentTools(
  tools: readonly Tool[],
  caller: Caller,
  db: Database,
  { only, except }: Pick<ShownAgents, 'only' | 'except'>,
): Promise<void> {
  const isVisible = (id: string) => only === null && !except.includes(id)
  const problems = new Map<string, string>()
  const seen = new Set<string>()
  let level = tools.flatMap((tool, index): CallEdge[] => {
    const field = `tools.${index}.agent`
    return tool.type === 'agent' ? [{ ref: tool.agent, environment: tool.environment, field, path: [caller.name] }] : []
  })
  for (let depth = 1; level.length > 0; depth++) {
    const found = await listCalled(db, caller.project_id, level)
    const next: CallEdge[] = []
    for (const { ref, environment, field, path } of level) {
      const agent = found.get(placeOf(ref, environment))
      // The caller isn't stored yet as it will be, so it is also known by its name.
      if (ref === caller.name || ref === caller.id || (agent && agent.id === caller.id)) {
        problems.set(field, `creates a loop: ${[...path, caller.name].join(' → ')}`)
      } else if (depth === 1 && !(agent && isVisible(agent.id))) {
        problems.set(field, `no agent "${ref}" exists in this project`)
      } else if (agent) {
        const way = [...path, isVisible(agent.id) ? agent.name : '…']
        for (const [further, where] of agent.calls) {
          const place = placeOf(further, where)
          if (seen.has(place)) continue
          seen.add(place)
          next.push({ ref: further, environment: where, field, path: way })
        }
      }
    }
    const [first] = next
    if (first && depth === MOST_DEEP) {
      problems.set(first.field, `leads to a chain of more than ${MOST_DEEP} agents: ${first.path.join(' → ')} → …`)
      break
    }
    if (first && seen.size > MOST_CALLED) {
      problems.set(first.field, `can lead to more than ${MOST_CALLED} agent calls`)
      break
    }
    level = next
  }
  if (problems.size > 0) throw invalid(...[...problems].map(([field, error]) => ({ field, error })))
}

function placeOf(ref: string, environment: string): string {
  return `${ref} ${environment}`
}

type CallNode = { id: string; name: string; calls: [ref: string, environment: string][] }

/**
 * The called agents, each with the calls of what the environment serves: a version, or else the draft, and the version
 * of a gradual deployment in progress.
 */
async function listCalled(
  db: Database,
  project_id: string,
  level: readonly CallEdge[],
): Promise<Map<string, CallNode>> {
  const called = JSON.stringify(level.map(({ ref, environment }) => [ref, environment]))
  const each = engineOf(db) === 'postgres' ? sql`jsonb_array_elements(${called}::jsonb)` : sql`json_each(${called})`
  const callsOf = (status: RawBuilder<SqlBool>) => sql`(select versions.calls from deployments
    join versions on versions.agent_id = deployments.agent_id and versions.version = deployments.version
    where deployments.agent_id = agents.id and deployments.environment = called.environment and ${status})`
  const { rows } = await sql<{
    ref: string
    environment: string
    id: string
    name: string
    calls: string
    candidate_calls: string
  }>`
    select called.ref, called.environment, agents.id, agents.name,
      coalesce(${callsOf(sql`deployments.status = 'active'`)}, agents.calls) as calls,
      coalesce(${callsOf(sql`deployments.status in ('rolling_out', 'paused')`)}, '[]') as candidate_calls
    from (select distinct value ->> 0 as ref, value ->> 1 as environment from ${each}) as called
    join agents on agents.project_id = ${project_id} and (agents.id = called.ref or agents.name = called.ref)`.execute(
    db,
  )
  return new Map(
    rows.map((row) => {
      const { id, name, ref, environment } = row
      const json = jsonOf('agent', row)
      const calls = [...json<CallNode['calls']>('calls'), ...json<CallNode['calls']>('candidate_calls')]
      return [placeOf(ref, environment), { id, name, calls }]
    }),
  )
}
