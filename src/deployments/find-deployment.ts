import { z } from 'zod'
import { withKeyName } from '../keys/key-names.ts'
import { requireFound } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { DeploymentWithDefinition } from './deployment.ts'
import { withRollout } from './rollouts/with-rollout.ts'
import * as deployments from './store.ts'

export const findDeployment = operation({
  id: 'findDeployment',
  method: 'GET',
  path: '/v1/deployments/{deployment_id}',
  summary: 'Get a deployment by ID',
  description: "Use this if you know the deployment's ID but not its agent.",
  access: {
    permission: 'read',
    concerns: async ({ params }, db) => (await deployments.findById(db, params.deployment_id))?.agent_id ?? null,
  },
  input: { params: z.strictObject({ deployment_id: z.string() }) },
  answer: { data: DeploymentWithDefinition },

  async run({ params: { deployment_id: id } }, { db, actor, now }) {
    const found = requireFound(actor, await deployments.findById(db, id), { kind: 'Deployment', id })
    const { definition } = await deployments.getVersion(db, found.agent_id, found.version)
    return {
      ...(await withKeyName(db, actor, await withRollout(found, { actor, db, now }), ['created_by'])),
      definition,
    }
  },
})
