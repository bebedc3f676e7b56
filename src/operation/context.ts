import type { ApiError } from '../errors.ts'
import type { GivenInput } from '../runtime/given.ts'
import type { Upload } from '../storage/bytes/upload.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Actor } from './actor.ts'
import type { Door } from './door.ts'
import type { Parts } from './parts.ts'
import type { CommitReply, ReplyChannel } from './reply-channel.ts'

/** A request that may be a repeated one. */
export type RepeatableRequest = {
  /** The same request, sent earlier, whose process died while it ran, or whose run had to wait. */
  readonly earlier: string | undefined
  /**
   * Called if nothing of the earlier request is stored: this request starts over, and later ones look for it. Returns
   * false if another request has taken over. Undefined if the earlier request was answered, because then it isn't run
   * again.
   */
  beginAnew?(): Promise<boolean>
}

/** Bytes that came with the input of an operation. They are durable when `run` starts. */
export type Uploads = {
  /**
   * By the part of the input that needs them. The error is returned to the client, unless its request is a repeated
   * one.
   */
  readonly taken: ReadonlyMap<object, Upload | ApiError>
  /** Removes received bytes that no file has kept. */
  release(): Promise<void>
}

/**
 * Counts a run that has a limit of its own, in the transaction that stores the run. Throws if the limit is reached; then
 * the run isn't stored either.
 */
export type CountRun = (db: Database) => Promise<void>

/** Everything that operations can use while they run. Each takes what it uses by name. */
export type Context = Parts &
  ReplyChannel & {
    /** The operation's transaction. For reads, and for calls that aren't one transaction, it is the database. */
    db: Database
    actor: Actor
    /** What was known about the agent when the request was admitted: see `agents/agent-snapshot.ts`. */
    entered: object | undefined
    door: Door
    /** What the caller sends besides the input, through a channel that supports it. */
    given: GivenInput | undefined
    /** Bytes that came with the input. */
    uploads: Uploads | undefined
    countRun: CountRun | undefined
    request_id: string
    /** Present if the request has an Idempotency-Key. */
    repeatable: RepeatableRequest | undefined
    commitReply: CommitReply
    /** The request's work in its trace, if it has one. */
    span: Span | undefined
    /** The agents whose data a list may show: those in the actor's scope whose own gates this request passes. */
    shownAgents(): Promise<ShownAgents>
  }

/** The parts that a step of an operation uses: `function keepRun(run: Run, { db, now }: Needs<'db' | 'now'>)`. */
export type Needs<K extends keyof Context> = Pick<Context, K>
