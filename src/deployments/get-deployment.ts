import { operation } from '../operation.ts'
import { DeploymentParams, DeploymentReply } from './deployment.ts'
import * as deployments from './store.ts'

export const getDeployment = operation({
  id: 'getDeployment',
  method: 'GET',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}',
  summary: 'Get a deployment',
  permission: 'read',
  userTokens: true,
  params: DeploymentParams,
  data: DeploymentReply,

  run({ params }, { db }) {
    return deployments.get(db, params.agent_id, params.deployment_id)
  },
})
