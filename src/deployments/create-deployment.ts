import { randomBytes } from 'node:crypto'
import type { z } from 'zod'
import { type Agent, AgentParams, requireDigest } from '../agents/agent.ts'
import { digestOf, hasModel } from '../agents/definition.ts'
import * as agents from '../agents/store.ts'
import { agentsCalled, checkAgentTools } from '../agents/tools/check-agent-tools.ts'
import { conflict, invalid } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import type { Secrets } from '../runtime/tools/fill-secrets.ts'
import { toolWarnings } from '../runtime/tools/review-tools.ts'
import * as secrets from '../secrets/store.ts'
import { checkUrl } from '../security/outgoing/guarded-url.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import type { Database } from '../storage/database.ts'
import {
  CreateDeploymentBody,
  DeploymentReply,
  NewDeployment,
  type Snapshot,
  type StoredDeployment,
  snapshot,
} from './deployment.ts'
import { newRollout } from './rollouts/rollout.ts'
import * as rollouts from './rollouts/rollout-store.ts'
import { withRollout } from './rollouts/with-rollout.ts'
import * as deployments from './store.ts'

export const createDeployment = operation({
  id: 'createDeployment',
  method: 'POST',
  path: '/v1/agents/{agent_id}/deployments',
  summary: 'Deploy a version to an environment',
  description:
    'Saves a snapshot of the agent as `version` and serves it in `environment`. A version never changes: if the label exists, its snapshot is deployed again. Active invocations finish on the version they started with. With `digest`, the request fails with 409 if the agent has changed since you read it. `warnings` lists what will fail in this version, such as a tool whose secret is not configured. With `strategy`, the version gets a growing share of the messages. With `require_replay`, nothing is served before the replay has passed. While such a deployment is in progress, others to the environment fail with 409.',
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

  async run({ params, body }, context: CreateNeeds) {
    const { db, actor, events, newId, now } = context
    const agent = await agents.lock(db, params.agent_id)
    const time = now()
    const { environment, version, message, strategy, require_replay } = body
    await rollouts.requireNone(db, agent.id, environment)
    const label = await takeLabel(agent, body, context)
    const active = await deployments.findActive(db, agent.id, environment)
    const isGradual = strategy !== undefined || require_replay !== undefined
    const deployment = {
      id: newId('dep', time),
      agent_id: agent.id,
      environment,
      version,
      status: isGradual ? ('rolling_out' as const) : ('active' as const),
      digest: label.digest,
      message,
      created_by: actor.id,
      created_at: time,
      replaces: active?.id ?? null,
      rollback_of: null,
      forgotten: null,
    }
    if (isGradual) {
      await checkGradual(db, { agent, active, label, body })
      const secret = { now: time, split_key: randomBytes(16).toString('base64url') }
      const of = { deployment_id: deployment.id, agent_id: agent.id, environment, version }
      const rollout = newRollout({ ...of, serving_id: active?.id ?? null }, strategy, require_replay, secret)
      await deployments.insert(db, deployment)
      await rollouts.insert(db, rollout, { job_id: newId('job', time), run_at: time })
    } else {
      await deployments.activate(db, deployment, 'superseded')
    }
    const made = await withRollout(deployment, context)
    await events.emit(db, {
      type: 'deployment.created',
      project_id: agent.project_id,
      agent_id: agent.id,
      data: () => DeploymentReply.parse(made),
      time,
    })
    const warnings = await warningsOf(agent, label, context)
    const named = await withKeyName(db, actor, made, ['created_by'])
    return warnings.length > 0 ? { ...named, warnings } : named
  },
})

type CreateNeeds = Needs<'actor' | 'config' | 'db' | 'events' | 'newId' | 'now' | 'shownAgents'>

type Body = z.output<typeof CreateDeploymentBody>

/** The snapshot with this label, made now if there is none. */
async function takeLabel(
  agent: Agent,
  { version, digest }: Body,
  { db, now, shownAgents }: Pick<CreateNeeds, 'db' | 'now' | 'shownAgents'>,
): Promise<Snapshot> {
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
  if (!existing) await deployments.insertVersion(db, agent.id, label, now())
  return label
}

type Gradual = { agent: Agent; active: StoredDeployment | undefined; label: Snapshot; body: Body }

/** Refuses what could never be compared. */
async function checkGradual(
  db: Database,
  { agent, active, label, body: { environment, version, strategy, require_replay } }: Gradual,
): Promise<void> {
  if (strategy && !active) {
    throw conflict(
      `Nothing is deployed to ${environment} yet, so there is no version to compare with. Deploy one without \`strategy\` first.`,
    )
  }
  if (active?.version === version) throw conflict(`${environment} already serves version "${version}".`)
  if (!require_replay) return
  if (!hasModel(label.definition)) {
    throw invalid({ field: 'require_replay', error: "isn't possible for an agent that runs on another server" })
  }
  if (active && !hasModel((await deployments.getVersion(db, agent.id, active.version)).definition)) {
    throw invalid({
      field: 'require_replay',
      error: `can't compare with version "${active.version}", which runs on another server`,
    })
  }
  if (!(await rollouts.hasSet(db, agent.seq, require_replay.set))) {
    throw invalid({ field: 'require_replay.set', error: 'is not the name of a set of this agent' })
  }
}

async function warningsOf(
  agent: Agent,
  { definition }: Snapshot,
  { config, db }: Pick<CreateNeeds, 'config' | 'db'>,
): Promise<string[]> {
  const { outgoing } = policiesOf(config)
  return toolWarnings(definition.tools, {
    secrets: { ...(await storedSecrets(db, agent.project_id)), ...config.secrets },
    whyRefused: (url) => {
      const problem = checkUrl(url, outgoing)
      return problem && `its URL ${problem.message}`
    },
  })
}

/** Uses the transaction's own connection, because waiting for another could cause a deadlock. */
async function storedSecrets(db: Database, project_id: string): Promise<Secrets> {
  const stored = await secrets.listAll(db, project_id)
  return Object.fromEntries(stored.map(({ name, hosts }) => [name, { value: '', hosts }]))
}
