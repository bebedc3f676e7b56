import type { Agent } from '../../agents/agent.ts'
import { checkAgentTools } from '../../agents/tools/check-agent-tools.ts'
import type { Events } from '../../events.ts'
import type { Database } from '../../storage/database.ts'
import { DeploymentReply, type StoredDeployment } from '../deployment.ts'
import * as deployments from '../store.ts'
import type { Rollout } from './rollout.ts'
import * as rollouts from './rollout-store.ts'
import { presentRollout } from './with-rollout.ts'

/** Refuses a candidate whose agents have begun to call it, or are gone, since the deployment began. */
export async function checkCandidateTools(db: Database, { agent_id, version }: Rollout, agent: Agent): Promise<void> {
  const { definition } = await deployments.getVersion(db, agent_id, version)
  await checkAgentTools(definition.tools, agent, db, { only: null, except: [] })
}

/** Makes the candidate the active deployment. Returns false if the rollout has changed in the meantime. */
export async function promoteCandidate(db: Database, rollout: Rollout, now: number): Promise<boolean> {
  const ended = { ...rollout, share: 10_000, clock_at: null, ended_at: now }
  if (!(await rollouts.change(db, rollout, ended))) return false
  const { deployment_id: id, agent_id, environment } = rollout
  await deployments.promote(db, { id, agent_id, environment })
  return true
}

type Abortion = { reason: 'guard' | 'manual'; project_id: string; now: number; events: Pick<Events, 'emit'> }

/**
 * Takes the candidate's messages away, with the event. The previous version never stopped serving, so no deployment is
 * added. Returns the aborted deployment, or undefined if the rollout has changed in the meantime.
 */
export async function abortCandidate(
  db: Database,
  rollout: Rollout,
  evidence: Rollout['evidence'],
  { reason, project_id, now, events }: Abortion,
): Promise<StoredDeployment | undefined> {
  const ended = { ...rollout, evidence, share: 0, clock_at: null, ended_at: now }
  if (!(await rollouts.change(db, rollout, ended))) return undefined
  const { deployment_id, agent_id } = rollout
  await deployments.setStatus(db, { id: deployment_id, agent_id }, 'aborted')
  if (rollout.replay_id !== null) await rollouts.cancelReplay(db, rollout.replay_id, now)
  const deployment = await deployments.get(db, agent_id, deployment_id)
  await events.emit(db, {
    type: 'deployment.rolled_back',
    project_id,
    agent_id,
    data: () => ({ ...DeploymentReply.parse({ ...deployment, ...presentRollout(ended, now) }), reason }),
    time: now,
  })
  return deployment
}
