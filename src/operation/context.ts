import type { ApiError } from '../errors.ts'
import type { GivenInput } from '../runtime/given.ts'
import type { Upload } from '../storage/bytes/upload.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Actor } from './actor.ts'
import type { CommitReply } from './committed-reply.ts'
import type { Door } from './door.ts'
import type { Parts } from './parts.ts'
import type { ReplyChannel } from './reply-channel.ts'

/** A request that was perhaps sent before. */
export type RepeatableRequest = {
  /** The same request, sent before, whose process died while it ran. */
  readonly earlier: string | undefined
  /**
   * Called when nothing of the earlier request is stored: this request starts over, and later ones look for it. Returns
   * false when another request has taken over.
   */
  beginAnew(): Promise<boolean>
}

/** Bytes that came with the input of an operation. They are durable when `run` begins. */
export type Uploads = {
  /** By the part of the input that asks for them. The error is what the client hears, unless its request is a repeated one. */
  readonly taken: ReadonlyMap<object, Upload | ApiError>
  /** Removes what was not kept. */
  release(): Promise<void>
}

/** All that operations may use while they run. Each takes what it uses out of it by name. */
export type Context = Parts &
  ReplyChannel & {
    /**
     * The operation's transaction. For reads, and for calls that are not one transaction, it is the database.
     */
    db: Database
    actor: Actor
    /** What the agent was known by when the request was let in: see `agents/agent-snapshot.ts`. */
    entered: object | undefined
    door: Door
    /** What the caller gives besides the input, if it came through a door that has words for it. */
    given: GivenInput | undefined
    /** Bytes that came with the input. */
    uploads: Uploads | undefined
    request_id: string
    /** There when the request carries an Idempotency-Key. */
    repeatable: RepeatableRequest | undefined
    commitReply: CommitReply
    /** The work on the request in its trace, if there is one. */
    span: Span | undefined
    /** The agents whose data a list may show: those in the actor's scope whose own gates this request passes. */
    shownAgents(): Promise<ShownAgents>
  }

/** What a step of an operation uses: `function keepRun(run: Run, { db, now }: Needs<'db' | 'now'>)`. */
export type Needs<K extends keyof Context> = Pick<Context, K>
