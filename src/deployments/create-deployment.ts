import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { invalid } from '../errors.ts'
import { operation } from '../operation.ts'
import { toolProblems } from '../runtime/tools/review-tools.ts'
import { CreateDeploymentBody, DeploymentReply, snapshot } from './deployment.ts'
import * as deployments from './store.ts'

export const createDeployment = operation({
  id: 'createDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments',
  summary: 'Deploy a version to an environment',
  description:
    'Takes a snapshot of the agent under the label `version` and makes it what `environment` serves. A label never changes: one that exists is deployed as it was. Invocations under way finish on the version they started with.',
  permission: 'write',
  mfa: 'deploy',
  idempotent: true,
  success: 201,
  params: AgentParams,
  body: CreateDeploymentBody,
  data: DeploymentReply,

  async run({ params, body }, { db, actor, events, newId, now }) {
    const agent = await agents.lock(db, params.agent_id)
    const time = now()
    const { environment, version, message } = body

    const existing = await deployments.findVersion(db, agent.id, version)
    const label = existing ?? snapshot(agent, version)
    // Agents made by an older release may hold what is refused today.
    const problems = existing ? [] : toolProblems(agent.tools)
    if (problems.length > 0) throw invalid(...problems)
    if (!existing) await deployments.insertVersion(db, agent.id, label, time)

    const active = await deployments.findActive(db, agent.id, environment)
    const deployment = {
      id: newId('dep', time),
      agent_id: agent.id,
      environment,
      version,
      status: 'active' as const,
      digest: label.digest,
      message,
      created_by: actor.id,
      created_at: time,
      replaces: active?.id ?? null,
      rollback_of: null,
    }
    await deployments.activate(db, deployment, 'superseded')
    await events.emit(db, {
      type: 'deployment.created',
      agent_id: agent.id,
      data: () => DeploymentReply.parse(deployment),
      time,
    })
    return deployment
  },
})
