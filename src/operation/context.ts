import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Actor } from './actor.ts'
import type { Parts } from './parts.ts'
import type { ReplyChannel } from './reply-channel.ts'

/** What an operation may touch while it runs. */
export type Context = Parts &
  ReplyChannel & {
    /** The operation's transaction; for reads, and operations that declare `transaction: false`, the database. */
    db: Database
    actor: Actor
    request_id: string
    /** Whose things a list may show: of the agents in the actor's scope those whose own gate this request passes. */
    shownAgents(): Promise<ShownAgents>
  }
