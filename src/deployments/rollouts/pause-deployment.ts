import { conflict } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import { DeploymentParams, DeploymentReply } from '../deployment.ts'
import * as deployments from '../store.ts'
import { ranFor } from './rollout.ts'
import { changedMeanwhile, getInProgress } from './rollout-in-progress.ts'
import * as rollouts from './rollout-store.ts'
import { withRollout } from './with-rollout.ts'

export const pauseDeployment = operation({
  id: 'pauseDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/pause',
  summary: 'Pause a gradual deployment',
  description:
    "Stops the step's clock. The version keeps its share of the messages, and the guard still aborts the deployment if the version is worse.",
  access: { permission: 'write' },
  mfa: { policy: 'deploy' },
  audit: { target: 'deployment_id' },
  idempotent: true,
  input: { params: DeploymentParams },
  answer: { data: DeploymentReply, errors: ['conflict'] },

  async run({ params }, { db, actor, now }) {
    const { agent, deployment, rollout } = await getInProgress(db, params)
    if (deployment.status === 'paused') throw conflict(`Deployment ${deployment.id} is already paused.`)
    if (rollout.step === 0) throw conflict(`Deployment ${deployment.id} waits for its replay and can't be paused.`)
    const time = now()
    const stopped = { ...rollout, clock_ms: ranFor(rollout, time), clock_at: null }
    if (!(await rollouts.change(db, rollout, stopped))) throw changedMeanwhile()
    await deployments.setStatus(db, deployment, 'paused')
    const paused = await deployments.get(db, agent.id, deployment.id)
    return withKeyName(db, actor, await withRollout(paused, { actor, db, now }), ['created_by'])
  },
})
