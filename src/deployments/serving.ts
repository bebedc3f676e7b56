import type { Agent } from '../agents/agent.ts'
import type { AgentSnapshot, ServedAgent } from '../agents/agent-snapshot.ts'
import type { Definition } from '../agents/definition.ts'
import type { Needs } from '../operation/context.ts'
import type { Database } from '../storage/database.ts'
import * as deployments from './store.ts'

type Active = { version: string; deployment_id: string; definition: Definition }

/** Clients choose the names of environments. Beyond this number, all are read again. */
const MAX_SERVED = 100

/** What an environment serves. If it was never deployed, it serves the agent's draft. */
export function serving(
  snapshot: AgentSnapshot,
  environment: string,
  { storage }: Needs<'storage'>,
): ServedAgent | Promise<ServedAgent> {
  return snapshot.served.get(environment) ?? loadServed(snapshot, environment, storage.db)
}

async function loadServed({ agent, served }: AgentSnapshot, environment: string, db: Database): Promise<ServedAgent> {
  const found = await servedNow(db, agent, environment)
  if (served.size >= MAX_SERVED) served.clear()
  served.set(environment, found)
  return found
}

/** What an environment serves now, for a caller's transaction. */
export async function servedNow(db: Database, agent: Agent, environment: string): Promise<ServedAgent> {
  return (await findActive(db, agent.id, environment)) ?? workingCopy(agent)
}

/** The definition of a version, or of the draft if the version is null. */
export async function getDefinition(
  agent: Agent,
  version: string | null,
  { memo, storage }: Needs<'memo' | 'storage'>,
): Promise<Definition> {
  if (version === null) return agent
  const load = async () => (await deployments.getVersion(storage.db, agent.id, version)).definition
  // It is always there: loading a version that does not exist throws.
  return (await memo('deployments', `version ${agent.id} ${version}`, load, () => [agent.id])) as Definition
}

function workingCopy(agent: Agent): ServedAgent {
  return { version: null, deployment_id: null, definition: agent }
}

async function findActive(db: Database, agent_id: string, environment: string): Promise<Active | undefined> {
  const deployment = await deployments.findActive(db, agent_id, environment)
  if (!deployment) return undefined
  const { definition } = await deployments.getVersion(db, agent_id, deployment.version)
  return { version: deployment.version, deployment_id: deployment.id, definition }
}
