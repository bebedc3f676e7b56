import { invalid } from '../../errors.ts'
import type { Tool } from '../../runtime/spec.ts'
import type { AgentTool } from '../../runtime/tools/called-agent.ts'
import { jsonOf } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import type { ShownAgents } from '../../storage/queries/shown-agents.ts'
import { readDefinition } from '../definition.ts'
import * as agents from '../store.ts'

/** The agent that has the tools. One that is being created has no id yet. */
type Caller = { id?: string; name: string; project_id: string }

/** The agents that tools call, by id or name as they name them. */
export function agentsCalled(tools: readonly Tool[] | undefined): string[] {
  return (tools ?? []).flatMap((tool) => (tool.type === 'agent' ? tool.agent : []))
}

/**
 * Refuses tools that call an agent which is not in the project, and those through which the agent would call itself,
 * however far around. The answer for an agent that is not shown to the request is the same as for one that does not exist.
 */
export async function checkAgentTools(
  tools: readonly Tool[],
  caller: Caller,
  db: Database,
  shown: Pick<ShownAgents, 'only' | 'except'>,
): Promise<void> {
  const problems: { field: string; error: string }[] = []
  const seen = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'agent') continue
    const field = `tools.${index}.agent`
    const called = await findCalled(db, tool, caller)
    if (!called || !isVisible(called, shown)) {
      problems.push({ field, error: `is no agent of this project: ${tool.agent}` })
      continue
    }
    const walk: Walk = { called, environment: tool.environment, caller, seen, path: [caller.name], shown }
    const circle = await findCircle(db, walk)
    if (circle) problems.push({ field, error: `is a circle: ${circle.join(' → ')}` })
  }
  if (problems.length > 0) throw invalid(...problems)
}

type Called = NonNullable<Awaited<ReturnType<typeof findCalled>>>

/** Where the walk from the caller has come to, and the way there. */
type Walk = {
  called: Called
  environment: string
  caller: Caller
  seen: Set<string>
  path: readonly string[]
  shown: Pick<ShownAgents, 'only' | 'except'>
}

function isVisible(called: Called, { only, except }: Walk['shown']): boolean {
  return called === CALLER || (only === null && !except.includes(called.id))
}

/** The names from the caller back to itself, if the tools of those that are called lead there. */
async function findCircle(db: Database, walk: Walk): Promise<readonly string[] | undefined> {
  const { called, environment, caller, seen, path, shown } = walk
  if (called === CALLER) return [...path, caller.name]
  const place = `${called.id} ${environment}`
  if (seen.has(place)) return undefined
  seen.add(place)
  for (const tool of await listServedTools(db, called, environment)) {
    if (tool.type !== 'agent') continue
    const next = await findCalled(db, tool, caller)
    const further = {
      ...walk,
      environment: tool.environment,
      path: [...path, isVisible(called, shown) ? called.name : '…'],
    }
    const circle = next && (await findCircle(db, { ...further, called: next }))
    if (circle) return circle
  }
  return undefined
}

const CALLER = 'the caller'

/** The caller is not stored yet as it will be, so it is known by its name too. */
async function findCalled(db: Database, { agent: ref }: AgentTool, { id, name, project_id }: Caller) {
  if (ref === name || ref === id) return CALLER
  const found = await agents.findIn(db, project_id, ref)
  return found && found.id === id ? CALLER : found
}

/** The tools of what an environment serves: of the version that is deployed there, else of the working copy. */
async function listServedTools(
  db: Database,
  agent: Exclude<Called, typeof CALLER>,
  environment: string,
): Promise<readonly Tool[]> {
  const served = await db
    .selectFrom('deployments')
    .innerJoin('versions', (on) =>
      on.onRef('versions.agent_id', '=', 'deployments.agent_id').onRef('versions.version', '=', 'deployments.version'),
    )
    .select(['deployments.id', 'versions.definition'])
    .where('deployments.agent_id', '=', agent.id)
    .where('deployments.environment', '=', environment)
    .where('deployments.status', '=', 'active')
    .executeTakeFirst()
  return served ? readDefinition(jsonOf('version', served)('definition')).tools : agent.tools
}
