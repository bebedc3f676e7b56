import { z } from 'zod'
import { changesBetween } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { agentsCalled, checkAgentTools } from '../agents/tools/check-agent-tools.ts'
import { conflict } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import { countOfDeployment } from '../memory/upkeep-store.ts'
import { requirePermission } from '../operation/actor.ts'
import { operation } from '../operation.ts'
import { Label } from '../shapes.ts'
import type { Database } from '../storage/database.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { DeploymentParams, DeploymentReply, RollbackPreview, type StoredDeployment } from './deployment.ts'
import * as rollouts from './rollouts/rollout-store.ts'
import * as deployments from './store.ts'

export const rollbackDeployment = operation({
  id: 'rollbackDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments/{deployment_id}/rollback',
  summary: 'Roll back a deployment',
  description:
    'With the ID of the active deployment, the environment returns to the version it served before. Versions that were rolled back since are skipped, even where an earlier deployment served them, so rolling back again goes further back. With the ID of an earlier deployment, the environment returns to that deployment. The request fails with 409 if there is nothing to return to. A rollback appends a new active deployment, and the reply is 200. `forget: true` also removes the memories that runs of the undone deployment have written, in the background; it requires the permission `delete`. `dry_run: true` changes nothing and shows what would change, with the number of those memories.',
  access: { permission: 'write' },
  mfa: {
    policy: 'rollback',
    fields: { forget: 'clear_memory' },
    async calls({ params }, db) {
      const { to } = await findTarget(db, params.agent_id, params.deployment_id)
      return agentsCalled(to.definition.tools)
    },
  },
  audit: { target: ({ body }) => (body.dry_run ? 'deployment_id' : 'reply') },
  idempotent: true,
  input: {
    params: DeploymentParams,
    body: z.strictObject({
      message: Label(1000, 0).nullable().default(null),
      forget: z
        .boolean()
        .default(false)
        .describe('Also removes the memories that runs of the undone deployment have written'),
      dry_run: z.boolean().default(false),
    }),
    bodyOptional: true,
  },
  answer: { data: z.union([DeploymentReply, RollbackPreview]), errors: ['conflict'] },

  async run({ params, body }, { db, actor, events, newId, now, shownAgents }) {
    if (body.forget) requirePermission(actor, 'delete')
    const agent = await agents.lock(db, params.agent_id)
    const { active, target, to } = await findTarget(db, agent.id, params.deployment_id)
    // The agents that it calls may now lead back to it.
    await checkAgentTools(to.definition.tools, agent, db, { ...(await shownAgents()), only: null })
    if (body.dry_run) {
      const from = await deployments.getVersion(db, agent.id, active.version)
      return {
        dry_run: true as const,
        from: { deployment_id: active.id, version: active.version },
        to: { deployment_id: target.id, version: target.version },
        diff: changesBetween(from.definition, to.definition),
        memories: await countOfDeployment(db, active.id),
      }
    }

    const time = now()
    const deployment = {
      ...target,
      id: newId('dep', time),
      status: 'active' as const,
      message: body.message,
      created_by: actor.id,
      created_at: time,
      replaces: active.id,
      rollback_of: active.id,
      forgotten: null,
    }
    await deployments.activate(db, deployment, 'rolled_back')
    if (body.forget) {
      await deployments.startForgetting(db, active.id, time)
      await enqueue(db, { id: newId('job', time), kind: 'purge', run_at: time })
    }
    const data = () => ({ ...DeploymentReply.parse(deployment), reason: 'manual' as const })
    const { id: agent_id, project_id } = agent
    await events.emit(db, { type: 'deployment.rolled_back', project_id, agent_id, data, time })
    return withKeyName(db, actor, deployment, ['created_by'])
  },
})

/** What is served now, and what the environment returns to. */
async function findTarget(db: Database, agent_id: string, deployment_id: string) {
  const named = await deployments.get(db, agent_id, deployment_id)
  if (named.status === 'rolling_out' || named.status === 'paused') {
    throw conflict(`Deployment ${named.id} is still in progress. To end it, abort it.`)
  }
  if (named.status === 'aborted') {
    throw conflict(`Deployment ${named.id} was aborted. To serve version "${named.version}", deploy it again.`)
  }
  await rollouts.requireNone(db, agent_id, named.environment)
  const active = (await deployments.findActive(db, agent_id, named.environment)) as StoredDeployment
  // If two people roll back the same bad version, the second rollback must not restore it.
  if (active.rollback_of === named.id) throw conflict(`Deployment ${named.id} has already been rolled back.`)
  const target = named.id === active.id ? await servedBefore(db, active) : named
  if (target.version === active.version) {
    throw conflict(`${named.environment} already serves version "${active.version}".`)
  }
  return { active, target, to: await deployments.getVersion(db, agent_id, target.version) }
}

/**
 * The latest version that was served before and wasn't rolled back. A rollback that is rolled back in turn shows that
 * its version is bad as well, so earlier deployments of that version aren't restored either.
 */
async function servedBefore(db: Database, active: StoredDeployment): Promise<StoredDeployment> {
  const bad = new Set([active.version])
  for (const earlier of await deployments.listBefore(db, active)) {
    if (earlier.status === 'rolled_back') bad.add(earlier.version)
    if (!bad.has(earlier.version)) return earlier
  }
  throw conflict(
    `There is nothing to return to: ${active.environment} has served no other version that was not rolled back.`,
  )
}
