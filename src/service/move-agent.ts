import { z } from 'zod'
import { type Agent, AgentParams } from '../agents/agent.ts'
import { checkDefinition } from '../agents/check-definition.ts'
import * as agents from '../agents/store.ts'
import { checkAgentTools } from '../agents/tools/check-agent-tools.ts'
import * as budgets from '../budgets/store.ts'
import { conflict, invalid } from '../errors.ts'
import * as files from '../files/store.ts'
import { moveRuns } from '../invocations/runs.ts'
import * as roleKeys from '../keys/personal/role-store.ts'
import * as keys from '../keys/store.ts'
import type { Needs } from '../operation/context.ts'
import { requireScope } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import * as projects from '../projects/store.ts'
import { Label } from '../shapes.ts'
import { holdName } from '../storage/queries/hold-name.ts'
import * as webhooks from '../webhooks/store.ts'

type MoveNeeds = Needs<'db' | 'actor' | 'audit' | 'config' | 'now' | 'request_id'>

export const moveAgent = operation({
  id: 'moveAgent',
  method: 'POST',
  path: '/v1/agents/{agent_id}/move',
  summary: 'Move an agent to another project',
  description:
    "Moves the agent with its versions, history, memory and schedules, the files of its runs and schedules, and the keys, webhooks and budgets limited to it. Personal keys that were created with a role in the old project stop working. From its next run on, the agent uses the new project's secrets and providers. Requires a key with access to all projects. If the other project has an agent with the same name, the request fails with 409; if it lacks the model's provider, with 400.",
  access: { permission: 'manage', reach: 'service' },
  mfa: { policy: 'update' },
  audit: { target: 'agent_id' },
  idempotent: true,
  input: {
    params: AgentParams,
    body: z.strictObject({ project: Label(100).describe('ID or name') }).meta({ id: 'MoveAgent' }),
  },
  answer: {
    data: z
      .object({
        id: z.string(),
        project_id: z.string(),
        revoked_keys: z.array(z.string()).describe('The personal keys that stopped working with the move'),
      })
      .meta({ id: 'MovedAgent' }),
    errors: ['conflict'],
  },

  async run({ params: { agent_id: id }, body }, needs: MoveNeeds) {
    const { db, actor, config } = needs
    requireScope(actor, null)
    const agent = await agents.lock(db, id)
    const project = await projects.find(db, body.project)
    if (!project) throw invalid({ field: 'project', error: 'no project with this ID or name exists' })
    const { id: project_id } = project
    await holdName(db, { project_id, name: agent.name })
    const holder = await agents.findIn(db, project_id, agent.name)
    if (holder && holder.id !== id) throw conflict(`The project already has an agent named "${agent.name}".`)
    await checkDefinition(agent, { db, config, project_id })
    // The gates of the agents in the new project are checked when it calls them.
    await checkAgentTools(agent.tools, { ...agent, project_id }, db, { only: null, except: [] })
    const revoked_keys = agent.project_id === project_id ? [] : await revokePersonal(agent, needs)
    await keys.moveOfAgent(db, id, project_id)
    await webhooks.moveOfAgent(db, id, project_id)
    await budgets.moveOfAgent(db, id, project_id)
    await files.moveOfAgent(db, agent, project_id)
    await agents.move(db, agent, project_id)
    await moveRuns(db, { ...agent, project_id })
    if (agent.project_id !== project_id) await tellNewProject(id, project_id, needs)
    return { id, project_id, revoked_keys }
  },
})

/**
 * The pipeline writes the audit entry of the project in which the move was requested. This writes the new project's.
 */
async function tellNewProject(id: string, project_id: string, { db, actor, audit, request_id }: MoveNeeds) {
  const event = { actor, action: 'moveAgent', project_id, agent_id: id, target: id, request_id, address: null }
  await audit.record(db, { ...event, fields: ['project'], outcome: 'success' })
}

/**
 * A person can have no role in the new project, or a different one. The entry of the move itself says where it came
 * from.
 */
async function revokePersonal(
  { id: agent_id, project_id }: Pick<Agent, 'id' | 'project_id'>,
  { db, actor, audit, request_id, now }: MoveNeeds,
): Promise<string[]> {
  const tied = await roleKeys.listTiedTo(db, agent_id)
  for (const target of tied) {
    await keys.revoke(db, target, now())
    const event = { actor, action: 'revokeKey', project_id, agent_id, target, request_id, address: null, fields: [] }
    await audit.record(db, { ...event, outcome: 'success' })
  }
  return tied
}
