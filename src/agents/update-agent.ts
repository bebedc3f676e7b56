import { withoutUndefined } from '../lib/without-undefined.ts'
import { requireEveryUser } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { type Agent, AgentParams, AgentReply, presentAgent, requireDigest, sealAuth, UpdateAgentBody } from './agent.ts'
import { checkAccess } from './check-access.ts'
import { checkDefinition, checkKind, checkOutputSchema } from './check-definition.ts'
import * as agents from './store.ts'
import { agentsCalled, checkAgentTools } from './tools/check-agent-tools.ts'

/**
 * What a token for one user may change. Any other field decides who sees other users' data, acts for them or answers
 * them; so does a new field until it is listed here.
 */
const OF_ONE_USER: ReadonlySet<string> = new Set(['description', 'temperature', 'metadata'])

export const updateAgent = operation({
  id: 'updateAgent',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  summary: 'Update an agent',
  description:
    'Changes only the fields you send; an object such as `limits` is replaced as a whole. With `digest`, the request fails with 409 if the agent has changed since you read it. `status: paused` cancels active runs and refuses new invocations. Changing `security` or `auth` requires the permission `manage`.',
  access: { permission: 'write', userTokens: true },
  mfa: {
    accessFields: ['security', 'auth'],
    calls: async ({ body }) => agentsCalled(body.tools),
  },
  audit: { target: 'agent_id' },
  idempotent: true,
  input: {
    params: AgentParams,
    body: UpdateAgentBody,
    check: ({ body }, parts, actor) => checkOutputSchema(body, parts, actor),
  },
  answer: { data: AgentReply, errors: ['conflict'] },

  async run({ params, body }, { db, actor, config, keyring, now, shownAgents }) {
    const agent = await agents.lock(db, params.agent_id)
    const { auth, digest, ...changes } = body
    requireDigest(agent, digest)
    const shared = Object.keys({ ...changes, ...(auth !== undefined && { auth }) }).find(
      (field) => !OF_ONE_USER.has(field),
    )
    if (shared !== undefined) requireEveryUser(actor, `${shared} affects all users`)
    checkAccess(body, actor, config)
    await checkDefinition(changes, { db, config, project_id: agent.project_id })

    const updated: Agent = {
      ...agent,
      ...withoutUndefined(changes),
      auth: auth === undefined ? agent.auth : sealAuth(auth, keyring),
      updated_at: Math.max(now(), agent.updated_at),
    }
    checkKind(updated)
    if (changes.tools) await checkAgentTools(changes.tools, updated, db, await shownAgents())
    await agents.update(db, updated)
    return presentAgent(updated, keyring)
  },
})
