import type { Agent } from '../agents/agent.ts'
import {
  type AgentSnapshot,
  findSnapshot,
  type ServedAgent,
  type ServedVersions,
  type SnapshotParts,
} from '../agents/agent-snapshot.ts'
import type { Definition } from '../agents/definition.ts'
import type { Needs } from '../operation/context.ts'
import type { Database } from '../storage/database.ts'
import type { Write } from '../storage/journal/rows.ts'
import * as rollouts from './rollouts/rollout-store.ts'
import { chooseVersion, type Sender } from './rollouts/split.ts'
import * as deployments from './store.ts'

/** Clients choose the names of environments. Beyond this number, all are read again. */
const MAX_SERVED = 100

/**
 * What an environment serves to a sender. If it was never deployed, it serves the agent's draft. Without a sender, it's
 * the version that a gradual deployment may replace.
 */
export function serving(
  snapshot: AgentSnapshot,
  environment: string,
  sender: Sender | null,
  { storage }: Needs<'storage'>,
): ServedAgent | Promise<ServedAgent> {
  const known = snapshot.served.get(environment)
  if (!known) return loadServed(snapshot, environment, storage.db).then((found) => chooseVersion(found, sender))
  return known.candidate ? chooseVersion(known, sender) : known.stable
}

async function loadServed(
  { agent, served }: AgentSnapshot,
  environment: string,
  db: Database,
): Promise<ServedVersions> {
  const found = await servedVersions(db, agent, environment)
  if (served.size >= MAX_SERVED) served.clear()
  served.set(environment, found)
  return found
}

/** All that an environment serves. */
export async function allServed(
  snapshot: AgentSnapshot,
  environment: string,
  { storage }: Needs<'storage'>,
): Promise<ServedVersions> {
  return snapshot.served.get(environment) ?? loadServed(snapshot, environment, storage.db)
}

/**
 * What the end of a deployed version's run adds for the guard, if the version is being compared with another. A run must
 * be able to end even if its agent can't be read, so its answer isn't counted then.
 */
export async function comparedWrites(
  { request_id, environment, deployment_id }: { request_id: string; environment: string; deployment_id: string },
  agent_id: string,
  parts: SnapshotParts,
): Promise<Write[]> {
  try {
    const snapshot = await findSnapshot(agent_id, parts)
    if (!snapshot) return []
    const { stable, candidate } = await allServed(snapshot, environment, parts)
    const isCompared = candidate && [candidate.deployment_id, stable.deployment_id].includes(deployment_id)
    return isCompared ? [rollouts.answerWrite(candidate.deployment_id, request_id)] : []
  } catch {
    return []
  }
}

/** What an environment serves now, for a caller's transaction. */
export async function servedNow(
  db: Database,
  agent: Agent,
  environment: string,
  sender: Sender | null,
): Promise<ServedAgent> {
  return chooseVersion(await servedVersions(db, agent, environment), sender)
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

async function servedVersions(db: Database, agent: Agent, environment: string): Promise<ServedVersions> {
  const found = await deployments.findServed(db, agent.id, environment)
  if (!found) return { stable: { version: null, deployment_id: null, definition: agent }, candidate: undefined }
  const { candidate } = found
  const stable = await withDefinition(db, agent.id, found)
  if (!candidate || candidate.share === 0) return { stable, candidate: undefined }
  const { deployment_id, share, split_key } = candidate
  const served = await withDefinition(db, agent.id, candidate)
  return { stable, candidate: { served, deployment_id, share, split_key } }
}

async function withDefinition(
  db: Database,
  agent_id: string,
  { version, deployment_id }: { version: string; deployment_id: string },
): Promise<ServedAgent> {
  const { definition } = await deployments.getVersion(db, agent_id, version)
  return { version, deployment_id, definition }
}
