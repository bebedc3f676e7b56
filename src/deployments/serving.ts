import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import type { Needs } from '../operation/context.ts'
import type { Database } from '../storage/database.ts'
import * as deployments from './store.ts'

/** What an environment serves. The version and the deployment are null while it serves the working copy. */
export type Serving = { version: string | null; deployment_id: string | null; definition: Definition }

type Active = { version: string; deployment_id: string; definition: Definition }

/** An environment that was never deployed serves the agent's working copy. */
export async function serving(
  agent: Agent,
  environment: string,
  { memo, storage }: Needs<'memo' | 'storage'>,
): Promise<Serving> {
  const load = () => findActive(storage.db, agent.id, environment)
  return (await memo('deployments', `${agent.id} ${environment}`, load, agentOf)) ?? workingCopy(agent)
}

/** What an environment serves at this moment, for a caller's transaction. */
export async function servedNow(db: Database, agent: Agent, environment: string): Promise<Serving> {
  return (await findActive(db, agent.id, environment)) ?? workingCopy(agent)
}

/** The definition of a version, or of the working copy where the version is null. */
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

/** The agent's id is the first word of the key. */
function agentOf(_active: Active | null, key: string): string[] {
  return [key.slice(0, key.indexOf(' '))]
}

function workingCopy(agent: Agent): Serving {
  return { version: null, deployment_id: null, definition: agent }
}

/** Null is remembered too, because most environments are never deployed. */
async function findActive(db: Database, agent_id: string, environment: string): Promise<Active | null> {
  const deployment = await deployments.findActive(db, agent_id, environment)
  if (!deployment) return null
  const { definition } = await deployments.getVersion(db, agent_id, deployment.version)
  return { version: deployment.version, deployment_id: deployment.id, definition }
}
