import type { Given } from '../runtime/given.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import type { Span } from '../telemetry/tracing.ts'
import type { Actor } from './actor.ts'
import type { Door } from './door.ts'
import type { Parts } from './parts.ts'
import type { ReplyChannel } from './reply-channel.ts'

/** What an operation may use while it runs. */
export type Context = Parts &
  ReplyChannel & {
    /**
     * The operation's transaction. For reads, and for operations that declare `transaction: false`, it is the database.
     */
    db: Database
    actor: Actor
    door: Door
    /** What the caller gives besides the input, if it came through a door that has words for it. */
    given: Given | undefined
    request_id: string
    /**
     * There when the request carries an Idempotency-Key. `earlier` is the same request, sent before, whose process died
     * while it ran. If nothing of it is stored, call `beginAnew` before the work: it returns false when the work is
     * another request's by now. If the key is not claimed yet, the run must stay inside, or throw `GoesOutside`.
     */
    repeatable:
      | { readonly earlier: string | undefined; readonly claimed: boolean; beginAnew(): Promise<boolean> }
      | undefined
    /** The work on the request in its trace, if there is one. */
    span: Span | undefined
    /** The agents whose data a list may show: those in the actor's scope whose own gates this request passes. */
    shownAgents(): Promise<ShownAgents>
  }
