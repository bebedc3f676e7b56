import { randomBytes } from 'node:crypto'
import { type Agent, AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { type Budget, limitOf } from '../budgets/budget.ts'
import { warningsOf } from '../budgets/budget-warnings.ts'
import { insertBudget } from '../budgets/insert-budget.ts'
import { conflict, invalid } from '../errors.ts'
import { requireNoEscalation } from '../keys/escalation.ts'
import { NEW_KEY } from '../keys/key.ts'
import { defaultTierFor } from '../keys/key-tiers.ts'
import * as keys from '../keys/store.ts'
import { type Actor, requireLasting } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { covers, type Permission } from '../security/permissions.ts'
import { type ChatLink, CreateLinkBody, LINK_KEY, LinkReply, sealToken, tokenHash } from './chat-link.ts'
import { presentLink } from './present-link.ts'
import * as links from './store.ts'

const MOST_OF_AN_AGENT = 100
/** 192 random bits. */
const TOKEN_BYTES = 24

type CreateLinkNeeds = Needs<'actor' | 'config' | 'db' | 'keyring' | 'newId' | 'now' | 'prices' | 'shownAgents'>

export const createLink = operation({
  id: 'createLink',
  method: 'POST',
  path: '/v1/agents/{agent_id}/links',
  summary: 'Create a link',
  description:
    "Creates a URL at which everyone who has it can chat with the agent, without a key. Each visitor is a separate user and sees only their own conversation. If the agent has deployments, the environment's version answers, never the draft. Visitors can decide what their own runs ask only if the agent sets `approvals.self` and the link's creator has the permission `approve`.",
  access: { permission: 'write' },
  mfa: { policy: 'keys' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { params: AgentParams, body: CreateLinkBody },
  answer: { status: 201, data: LinkReply, secret: true, errors: ['conflict'] },

  async run({ params, body: { limits, ...asked } }, context: CreateLinkNeeds) {
    const { actor, config, db, keyring, newId, now } = context
    const time = now()
    if (asked.expires_at !== null && asked.expires_at <= time)
      throw invalid({ field: 'expires_at', error: 'must be in the future' })
    requireLasting(actor, 'A link')
    const agent = await agents.lock(db, params.agent_id)
    if ((await links.count(db, agent.id)) >= MOST_OF_AN_AGENT)
      throw conflict(`An agent can have at most ${MOST_OF_AN_AGENT} links. Delete one first.`)
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const id = newId('lnk', time)
    const budget =
      limits.cost_usd === null ? undefined : await limitCost({ id, agent, cost_usd: limits.cost_usd }, context)
    const link: ChatLink = {
      ...asked,
      id,
      agent_id: agent.id,
      token: sealToken(token, id, keyring),
      messages_per_visitor: limits.messages_per_visitor,
      budget_id: budget?.id ?? null,
      created_by: actor.id,
      created_at: time,
    }
    const key = keyOf(link, agent, actor, defaultTierFor(actor, config.limits))
    requireNoEscalation(actor, key, config)
    await keys.insert(db, { ...key, hash: tokenHash(token) })
    await links.insert(db, link)
    const warnings = budget && (await warningsOf(budget, context))
    return { ...(await presentLink(link, context)), ...(warnings && { warnings }) }
  },
})

/** Visitors act with this key. It ends with the link, and so do their runs and streams. */
function keyOf({ id, name, created_at, expires_at }: ChatLink, agent: Agent, actor: Actor, tier: string) {
  const permissions: Permission[] = covers(actor.permissions, 'approve') ? ['invoke', 'approve'] : ['invoke']
  return {
    ...NEW_KEY,
    id,
    name: name ?? agent.name,
    project_id: agent.project_id,
    agent_id: agent.id,
    permissions,
    tier,
    created_at,
    created_by: actor.id,
    expires_at,
    role_source: LINK_KEY,
  }
}

/** Limits what a link's visitors spend together, as any budget does: each call first reserves the most it could cost. */
async function limitCost(
  { id, agent, cost_usd }: { id: string; agent: Agent; cost_usd: number },
  { actor, db, newId, now }: CreateLinkNeeds,
): Promise<Budget> {
  const { project_id } = agent
  const time = now()
  const budget: Budget = {
    ...limitOf({ cost_usd }),
    id: newId('bud', time),
    name: `Link of ${agent.name}`,
    project_id,
    agent_id: agent.id,
    scope_type: 'key',
    scope_id: id,
    per: 'ever',
    timezone: 'UTC',
    thresholds: [50, 80, 100],
    action: 'refuse',
    created_by: actor.id,
    created_at: time,
    updated_at: time,
  }
  await insertBudget(db, budget)
  return budget
}
