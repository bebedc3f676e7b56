import { z } from 'zod'
import { withKeyName } from '../../keys/key-names.ts'
import { requirePermission } from '../../operation/actor.ts'
import { operation } from '../../operation.ts'
import { enqueue } from '../../storage/jobs/jobs.ts'
import { DeploymentParams, DeploymentReply } from '../deployment.ts'
import * as deployments from '../store.ts'
import { abortCandidate } from './end-rollout.ts'
import { changedMeanwhile, getInProgress } from './rollout-in-progress.ts'
import { withRollout } from './with-rollout.ts'

export const abortDeployment = operation({
  id: 'abortDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/abort',
  summary: 'Abort a gradual deployment',
  description:
    'Serves the previous version for all messages again. Active invocations finish on the version they started with. `forget: true` also removes the memories that runs of the version have written, in the background; it requires the permission `delete`.',
  access: { permission: 'write' },
  mfa: { policy: 'rollback', fields: { forget: 'clear_memory' } },
  audit: { target: 'deployment_id' },
  idempotent: true,
  input: {
    params: DeploymentParams,
    body: z.strictObject({
      forget: z.boolean().default(false).describe('Also removes the memories that runs of the deployment have written'),
    }),
    bodyOptional: true,
  },
  answer: { data: DeploymentReply, errors: ['conflict'] },

  async run({ params, body }, { db, actor, events, newId, now }) {
    if (body.forget) requirePermission(actor, 'delete')
    const { agent, deployment, rollout } = await getInProgress(db, params)
    const time = now()
    const way = { reason: 'manual' as const, project_id: agent.project_id, now: time, events }
    if (!(await abortCandidate(db, rollout, rollout.evidence, way))) throw changedMeanwhile()
    if (body.forget) {
      await deployments.startForgetting(db, deployment.id, time)
      await enqueue(db, { id: newId('job', time), kind: 'purge', run_at: time })
    }
    const aborted = await deployments.get(db, agent.id, deployment.id)
    return withKeyName(db, actor, await withRollout(aborted, { actor, db, now }), ['created_by'])
  },
})
