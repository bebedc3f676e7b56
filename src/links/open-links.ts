import { type AgentSnapshot, findSnapshot } from '../agents/agent-snapshot.ts'
import { chooseVersion } from '../deployments/rollouts/split.ts'
import { allServed, serving } from '../deployments/serving.ts'
import * as deployments from '../deployments/store.ts'
import { ApiError, conflict, notFound } from '../errors.ts'
import type { Key } from '../keys/key.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { covers } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import { type ChatLink, linkStatus, tokenHash } from './chat-link.ts'
import * as links from './store.ts'

type LinkParts = Pick<Parts, 'findProject' | 'limiter' | 'memo' | 'now' | 'storage'>

/** A valid key, by its hash. */
type LinkKeys = { verify(hash: string): Promise<{ key: Key; actor: Actor; until: number } | undefined> }

/** Of one visitor. */
const MESSAGES = { perMinute: 20, burst: 10 }
/** From one IP address. Deleting the cookie makes another visitor of the same person. */
const NEW_VISITORS = { perMinute: 120, burst: 120 }

type Chat = { link: ChatLink; origins: ReadonlySet<string> }

/** The visitor of a chat, and what its link names. */
type ChatVisitor = { link_id: string; user_id: string; agent_id: string; environment: string }

/** What the edge needs to know about links: whom a token lets in, and what visitors can send. */
export function openLinks(keys: LinkKeys, parts: LinkParts) {
  const { memo, now, storage } = parts
  const findChat = (id: string) => {
    const load = async (): Promise<Chat | undefined> => {
      const link = await links.find(storage.db, id)
      return link && { link, origins: new Set(link.origins) }
    }
    // It ends with its key, which is announced.
    return memo('keys', `link ${id}`, load, () => [id])
  }
  return {
    async find(token: string) {
      const hash = tokenHash(token)
      const verified = await keys.verify(hash)
      const chat = verified && (await findChat(verified.key.id))
      if (!chat) return undefined
      const { id, agent_id, environment } = chat.link
      const snapshot = await findSnapshot(agent_id, parts)
      if (!snapshot) return undefined
      const served = await allServed(snapshot, environment, parts)
      const canApprove = covers(verified.actor.permissions, 'approve')
      // Visitors decide if the version that answers the session lets them.
      const mayDecide = (user_id: string, session_id: string) =>
        canApprove && chooseVersion(served, { user_id, session_id, request_id: '' }).definition.approvals.self
      return { id, key: { hash, verified }, origins: chat.origins, agent_id, environment, mayDecide }
    },

    async hasExpired(token: string): Promise<boolean> {
      const link = await links.findByHash(storage.db, tokenHash(token))
      return link !== undefined && linkStatus(link, now()) === 'expired'
    },

    async show({ id, agent_id }: { id: string; agent_id: string }) {
      const chat = await findChat(id)
      const snapshot = await findSnapshot(agent_id, parts)
      if (!chat || !snapshot) throw notFound('Link', id)
      const { name, welcome, starters } = chat.link
      return { title: name ?? snapshot.agent.name, welcome, starters }
    },

    checkMessage: (visitor: ChatVisitor, address: string) => checkMessage(visitor, address, parts),

    runCounter:
      ({ link_id, user_id }: ChatVisitor, request_id: string) =>
      async (db: Database) => {
        const counted = await links.countRun(db, { link_id, user_id, request_id, now: now() })
        if (counted === 'no_link') throw notFound('Link', link_id)
        if (counted === 'too_many') {
          throw new ApiError('budget_exceeded', 'This visitor has sent as many messages as the link allows.')
        }
      },
  }
}

async function checkMessage(visitor: ChatVisitor, address: string, parts: LinkParts): Promise<void> {
  const { link_id, user_id, agent_id, environment } = visitor
  const snapshot = await findSnapshot(agent_id, parts)
  if (!snapshot) throw notFound('Agent', agent_id)
  await requirePublished(snapshot, environment, parts)
  await take(`visitor:${user_id}`, MESSAGES, parts)
  const isKnown = await links.isKnownVisitor(parts.storage.db, link_id, user_id)
  if (!isKnown) await take(`visitors:${address}`, NEW_VISITORS, parts)
}

/** Visitors get what was deployed. Only an agent without any deployment answers them with its draft. */
async function requirePublished(snapshot: AgentSnapshot, environment: string, parts: LinkParts): Promise<void> {
  const { version } = await serving(snapshot, environment, null, parts)
  if (version !== null || !(await deployments.isDeployed(parts.storage.db, snapshot.agent.id))) return
  throw conflict(`The agent has deployments, but none in the environment "${environment}".`)
}

async function take(
  bucket: string,
  rate: { perMinute: number; burst: number },
  { limiter }: Pick<Parts, 'limiter'>,
): Promise<void> {
  const { allowed, retry_after_ms } = await limiter.take(bucket, rate)
  if (allowed) return
  const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ApiError('rate_limited', 'This visitor sends too many messages.', { retry_after })
}
