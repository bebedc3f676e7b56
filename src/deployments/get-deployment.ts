import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { DeploymentParams, DeploymentWithDefinition } from './deployment.ts'
import { withRollout } from './rollouts/with-rollout.ts'
import * as deployments from './store.ts'

export const getDeployment = operation({
  id: 'getDeployment',
  method: 'GET',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}',
  summary: 'Get a deployment',
  description: "Returns the deployment with the agent's definition in that version.",
  access: { permission: 'read', userTokens: true },
  input: { params: DeploymentParams },
  answer: { data: DeploymentWithDefinition },

  async run({ params: { agent_id, deployment_id } }, { db, actor, now }) {
    const found = await deployments.get(db, agent_id, deployment_id)
    const { definition } = await deployments.getVersion(db, agent_id, found.version)
    return {
      ...(await withKeyName(db, actor, await withRollout(found, { actor, db, now }), ['created_by'])),
      definition,
    }
  },
})
