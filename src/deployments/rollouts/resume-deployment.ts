import { conflict } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import { DeploymentParams, DeploymentReply } from '../deployment.ts'
import * as deployments from '../store.ts'
import { changedMeanwhile, getInProgress } from './rollout-in-progress.ts'
import * as rollouts from './rollout-store.ts'
import { withRollout } from './with-rollout.ts'

export const resumeDeployment = operation({
  id: 'resumeDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/resume',
  summary: 'Resume a gradual deployment',
  description:
    "Starts the step's clock again. If the guard has paused the deployment, the comparison starts over with new answers.",
  access: { permission: 'write' },
  mfa: { policy: 'deploy' },
  audit: { target: 'deployment_id' },
  idempotent: true,
  input: { params: DeploymentParams },
  answer: { data: DeploymentReply, errors: ['conflict'] },

  async run({ params }, { db, actor, now }) {
    const { agent, deployment, rollout } = await getInProgress(db, params)
    if (deployment.status !== 'paused') throw conflict(`Deployment ${deployment.id} is not paused.`)
    const time = now()
    // What the guard has found stays found, so it would pause the deployment again at once.
    const anew = rollout.evidence && { evidence: null, statistics: null, step_at: time }
    if (!(await rollouts.change(db, rollout, { ...rollout, ...anew, clock_at: time }))) throw changedMeanwhile()
    await deployments.setStatus(db, deployment, 'rolling_out')
    const resumed = await deployments.get(db, agent.id, deployment.id)
    return withKeyName(db, actor, await withRollout(resumed, { actor, db, now }), ['created_by'])
  },
})
