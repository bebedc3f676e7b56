import { checkAgentTools } from '../../agents/tools/check-agent-tools.ts'
import { conflict } from '../../errors.ts'
import { withKeyName } from '../../keys/key-names.ts'
import { operation } from '../../operation.ts'
import { DeploymentParams, DeploymentReply } from '../deployment.ts'
import * as deployments from '../store.ts'
import { promoteCandidate } from './end-rollout.ts'
import { changedMeanwhile, getInProgress } from './rollout-in-progress.ts'
import { withRollout } from './with-rollout.ts'

export const promoteDeployment = operation({
  id: 'promoteDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/promote',
  summary: 'Promote a gradual deployment',
  description:
    'Serves the version for all messages now, without the remaining steps. The request fails with 409 while the deployment waits for its replay, and once it has ended.',
  access: { permission: 'write' },
  mfa: { policy: 'deploy' },
  audit: { target: 'deployment_id' },
  idempotent: true,
  input: { params: DeploymentParams },
  answer: { data: DeploymentReply, errors: ['conflict'] },

  async run({ params }, { db, actor, now, shownAgents }) {
    const { agent, deployment, rollout } = await getInProgress(db, params)
    if (rollout.step === 0) {
      throw conflict(`Deployment ${deployment.id} waits for its replay. To skip it, abort it and deploy without it.`)
    }
    const { definition } = await deployments.getVersion(db, agent.id, deployment.version)
    await checkAgentTools(definition.tools, agent, db, { ...(await shownAgents()), only: null })
    const time = now()
    if (!(await promoteCandidate(db, rollout, time))) throw changedMeanwhile()
    const promoted = await deployments.get(db, agent.id, deployment.id)
    return withKeyName(db, actor, await withRollout(promoted, { actor, db, now }), ['created_by'])
  },
})
