import { AgentParams } from '../agents/agent.ts'
import { withKeyNames } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import { Environment } from '../runtime/tools/called-agent.ts'
import { listQuery } from '../shapes.ts'
import { DeploymentReply, DeploymentStatus, Version } from './deployment.ts'
import { withRollouts } from './rollouts/with-rollout.ts'
import * as deployments from './store.ts'

export const listDeployments = operation({
  id: 'listDeployments',
  method: 'GET',
  path: '/v1/agents/{agent_id}/deployments',
  summary: 'List deployments',
  description: 'Lists what each environment serves, and what it served before.',
  access: { permission: 'read', userTokens: true },
  input: {
    params: AgentParams,
    query: listQuery(['created_at', 'environment', 'version', 'status', 'id'], {
      environment: Environment.optional(),
      version: Version.optional(),
      status: DeploymentStatus.optional(),
    }),
  },
  answer: { list: DeploymentReply },

  async run({ params, query }, { db, actor, now }) {
    const { environment, version, status, ...page } = query
    const { items, total } = await deployments.list(db, params.agent_id, page, { environment, version, status })
    const shown = await withRollouts(items, { actor, db, now })
    return { items: await withKeyNames(db, actor, shown, ['created_by']), total }
  },
})
