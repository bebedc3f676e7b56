import { requireScope } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { AgentReply, CreateAgentBody, presentAgent, sealAuth } from './agent.ts'
import { checkAccess } from './check-access.ts'
import { checkDefinition, checkKind, checkOutputSchema } from './check-definition.ts'
import * as agents from './store.ts'
import { agentsCalled, checkAgentTools } from './tools/check-agent-tools.ts'

export const createAgent = operation({
  id: 'createAgent',
  method: 'POST',
  path: '/v1/agents',
  summary: 'Create an agent',
  description:
    'Only `name` is required: a new agent uses the built-in echo model. Setting `security` or `auth` requires the permission `manage`. If the name is taken, the request fails with 409.',
  access: { permission: 'write' },
  mfa: {
    calls: async ({ body }) => agentsCalled(body.tools),
  },
  audit: { target: 'reply', isAgent: true },
  idempotent: true,
  input: {
    body: CreateAgentBody,
    check: ({ body }, parts, actor) => checkOutputSchema(body, parts, actor),
  },
  answer: { status: 201, data: AgentReply, errors: ['conflict'] },

  async run({ body }, { db, actor, config, keyring, newId, now, shownAgents }) {
    requireScope(actor, null)
    checkAccess({ security: body.security ?? undefined, auth: body.auth ?? undefined }, actor, config)
    const { project_id } = actor.scope
    checkKind(body)
    await checkDefinition(body, { db, config, project_id })
    await checkAgentTools(body.tools, { name: body.name, project_id }, db, await shownAgents())

    const time = now()
    const agent = await agents.insert(db, {
      ...body,
      id: newId('agt', time),
      project_id,
      status: 'running',
      auth: sealAuth(body.auth, keyring),
      created_at: time,
      updated_at: time,
    })
    return presentAgent(agent, keyring)
  },
})
