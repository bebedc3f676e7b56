import { AgentParams, requireDigest } from '../agents/agent.ts'
import { digestOf } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { agentsCalled, checkAgentTools } from '../agents/tools/check-agent-tools.ts'
import { conflict } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import { operation } from '../operation.ts'
import type { Secrets } from '../runtime/tools/fill-secrets.ts'
import { toolWarnings } from '../runtime/tools/review-tools.ts'
import * as secrets from '../secrets/store.ts'
import { checkUrl } from '../security/outgoing/guarded-url.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import type { Database } from '../storage/database.ts'
import { CreateDeploymentBody, DeploymentReply, NewDeployment, snapshot } from './deployment.ts'
import * as deployments from './store.ts'

export const createDeployment = operation({
  id: 'createDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments',
  summary: 'Deploy a version to an environment',
  description:
    'Saves a snapshot of the agent as `version` and serves it in `environment`. A version never changes: if the label exists, its snapshot is deployed again. Active invocations finish on the version they started with. With `digest`, the request fails with 409 if the agent has changed since you read it. `warnings` lists what will fail in this version, such as a tool whose secret is not configured.',
  access: { permission: 'write' },
  mfa: {
    policy: 'deploy',
    async calls({ params, body }, db) {
      const existing = await deployments.findVersion(db, params.agent_id, body.version)
      return agentsCalled((existing?.definition ?? (await agents.get(db, params.agent_id))).tools)
    },
  },
  audit: { target: 'reply' },
  idempotent: true,
  input: { params: AgentParams, body: CreateDeploymentBody },
  answer: { status: 201, data: NewDeployment, errors: ['conflict'] },

  async run({ params, body }, { db, actor, config, events, newId, now, shownAgents }) {
    const agent = await agents.lock(db, params.agent_id)
    const time = now()
    const { environment, version, message, digest } = body

    const existing = await deployments.findVersion(db, agent.id, version)
    if (digest !== undefined) {
      requireDigest(agent, digest)
      // The digest is computed again, because the definition may have gained a field since the version was made.
      if (existing && digestOf(existing.definition) !== digest) {
        throw conflict(`Version "${version}" already exists with different content. Use another label.`)
      }
    }
    const label = existing ?? snapshot(agent, version)
    await checkAgentTools(label.definition.tools, agent, db, { ...(await shownAgents()), only: null })
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
      forgotten: null,
    }
    await deployments.activate(db, deployment, 'superseded')
    await events.emit(db, {
      type: 'deployment.created',
      project_id: agent.project_id,
      agent_id: agent.id,
      data: () => DeploymentReply.parse(deployment),
      time,
    })
    const { outgoing } = policiesOf(config)
    const warnings = toolWarnings(label.definition.tools, {
      secrets: { ...(await storedSecrets(db, agent.project_id)), ...config.secrets },
      whyRefused: (url) => {
        const problem = checkUrl(url, outgoing)
        return problem && `its URL ${problem.message}`
      },
    })
    const named = await withKeyName(db, actor, deployment, ['created_by'])
    return warnings.length > 0 ? { ...named, warnings } : named
  },
})

/** Uses the transaction's own connection, because waiting for another could cause a deadlock. */
async function storedSecrets(db: Database, project_id: string): Promise<Secrets> {
  const stored = await secrets.listAll(db, project_id)
  return Object.fromEntries(stored.map(({ name, hosts }) => [name, { value: '', hosts }]))
}
