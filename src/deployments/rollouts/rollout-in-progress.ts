import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import { conflict } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import type { StoredDeployment } from '../deployment.ts'
import * as deployments from '../store.ts'
import type { Rollout } from './rollout.ts'
import * as rollouts from './rollout-store.ts'

type InProgress = { agent: Agent; deployment: StoredDeployment; rollout: Rollout }

/**
 * A gradual deployment that an actor changes. Other changes to the agent wait for the transaction, and so does the guard:
 * what it counts in the meantime would be overwritten.
 */
export async function getInProgress(
  db: Database,
  { agent_id, deployment_id }: { agent_id: string; deployment_id: string },
): Promise<InProgress> {
  const agent = await agents.lock(db, agent_id)
  const deployment = await deployments.get(db, agent.id, deployment_id)
  const found = await rollouts.find(db, deployment.id)
  if (!found) throw conflict(`Deployment ${deployment.id} is not a gradual deployment.`)
  if (found.ended_at !== null) throw conflict(`Deployment ${deployment.id} is no longer in progress.`)
  const rollout = await rollouts.lockUnchanged(db, found)
  if (!rollout) throw changedMeanwhile()
  return { agent, deployment, rollout }
}

/** The guard has changed the deployment at the same moment. */
export function changedMeanwhile(): Error {
  return conflict('The deployment has just changed. Read it again and retry.')
}
