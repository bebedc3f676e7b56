import type { Agent } from '../../agents/agent.ts'
import { ApiError, unavailable } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { pausedMessage } from '../../operation/pauses.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { type Position, readEventId, type StreamEvent, Transcript } from '../../runtime/following/transcript.ts'
import type { Watch } from '../../runtime/following/watched-runs.ts'
import { eventsOf, milestonesOf } from '../../runtime/told-steps.ts'
import { isPassing } from '../../storage/failures.ts'
import { withSignInLinks } from '../approvals/sign-in-links.ts'
import { listAwaited } from '../children/awaited-approvals.ts'
import { type Invocation, isFinal } from '../invocation.ts'
import { getInScope, requireReach } from '../invocation-in-scope.ts'
import { handedCalls } from '../receipt.ts'
import { receiptMilestones, transcriptOf } from '../steps/receipt-steps.ts'
import { listKept } from '../steps/step-store.ts'
import { listPositions } from '../turns/turn-store.ts'
import { openingEvent, queuedEvent, waitingEvent } from './stream-events.ts'

export type FollowNeeds = ClientNeeds & Needs<'actor' | 'live' | 'openStream' | 'remote' | 'stopping'>

/**
 * Streams an invocation to the client from the position `told`, no matter on which node it runs, and returns it when it
 * has ended. If `endless` is false, it also returns an invocation that waits for people, which may take days.
 */
export async function followInvocation(
  agent: Agent,
  request_id: string,
  { told, endless }: { told: Position | undefined; endless: boolean },
  context: FollowNeeds,
): Promise<Invocation> {
  const { openStream, remote, stopping } = context
  const client = new FollowingClient(request_id, told, context)
  // The run may be on this node, start here at any moment, or be on another node. Once it has ended, its receipt has
  // the answer.
  let watch: Watch | undefined
  try {
    for (let isOpen = false; ; isOpen = true) {
      const changed = watch?.changed()
      const run = findRun(agent, request_id, watch, context)
      const invocation = run ? undefined : await look(agent, request_id, isOpen, context)
      openStream?.()
      if (invocation && isFinal(invocation)) return client.tellEnd(invocation)
      if (invocation?.status === 'queued') await client.tellQueued(invocation)
      if (invocation?.status === 'waiting' && (await client.tellWaiting(invocation, agent)) && !endless)
        return invocation
      if (client.isGone) throw new ApiError('conflict', 'This invocation has no followers any more.')
      if (run) await client.follow(run)
      else if (stopping.aborted) throw unavailable('The service is shutting down. Follow the invocation again.')
      else if (changed) await Promise.race([client.hungUp, changed])
      else watch = remote.watch(request_id)
    }
  } finally {
    watch?.close()
  }
}

/** A run that has started on this node, or the copy of one that runs on another. */
function findRun(
  agent: Agent,
  request_id: string,
  watch: Watch | undefined,
  { actor, live }: Needs<'actor' | 'live'>,
): LiveRun | undefined {
  const run = live.find(request_id) ?? watch?.copy()
  if (run?.agent_id !== agent.id || !run.began) return undefined
  requireReach(actor, 'read', request_id, run.began)
  return run
}

/**
 * Undefined if the database doesn't answer while the stream is open: the run continues anyway, and so does the stream.
 */
async function look(
  agent: Agent,
  request_id: string,
  isOpen: boolean,
  { db, actor }: Needs<'db' | 'actor'>,
): Promise<Invocation | undefined> {
  try {
    return await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: request_id })
  } catch (error) {
    if (isOpen && isPassing(error)) return undefined
    throw error
  }
}

type ClientNeeds = Needs<'connections' | 'db' | 'emit' | 'onHangUp' | 'pauses' | 'storage'>

/** A client that follows an invocation, and how much of the answer it has received. */
class FollowingClient {
  readonly hungUp: Promise<void>
  isGone = false
  readonly #request_id: string
  readonly #context: ClientNeeds
  #told: Position | undefined
  /** The last attempt for which the client got the event `waiting`. */
  #toldWaiting = 0
  #toldPosition: number | undefined

  constructor(request_id: string, told: Position | undefined, context: ClientNeeds) {
    this.#request_id = request_id
    this.#told = told
    this.#context = context
    this.hungUp = new Promise<void>((resolve) => context.onHangUp?.(resolve)).then(() => {
      this.isGone = true
    })
  }

  /** Sends the run's output until the run ends or the client disconnects. */
  async follow(run: LiveRun): Promise<void> {
    const from = this.#begin(run.began?.attempt ?? 1, run.began?.milestones ?? [])
    const unfollow = run.follow(from, (event) => this.#tell(event))
    await Promise.race([run.ended, this.hungUp]).finally(unfollow)
  }

  /**
   * Tells the client once per attempt what the run waits for. Returns false if it waits neither for people nor for a
   * resume.
   */
  async tellWaiting({ id, attempt }: Invocation, { project_id }: Agent): Promise<boolean> {
    const { db, pauses, connections, storage } = this.#context
    if (this.#toldWaiting === attempt) return true
    const approvals = await withSignInLinks(await listAwaited(db, id), { connections, storage })
    const pause = approvals.length === 0 ? await pauses.find(project_id) : undefined
    if (approvals.length === 0 && !pause) return false
    this.#toldWaiting = attempt
    const reason = pause && { reason: pausedMessage(pause) }
    const { steps } = await listKept(db, id)
    const from = this.#begin(attempt, milestonesOf(steps))
    const transcript = new Transcript(attempt)
    for (const event of eventsOf(steps)) transcript.add(event)
    for (const event of transcript.after(from)) this.#tell(event)
    this.#tell(waitingEvent(this.#told as Position, { request_id: id, status: 'waiting', approvals, ...reason }))
    return true
  }

  /** Tells the client, whenever it changes, how many runs of the session come before this one. */
  async tellQueued({ id, attempt }: Invocation): Promise<void> {
    const { db, emit } = this.#context
    if (!emit) return
    const position = (await listPositions(db, [id])).get(id)
    if (position === undefined || position === this.#toldPosition) return
    this.#toldPosition = position
    if (!this.#told) this.#begin(Math.max(1, attempt), [])
    this.#tell(queuedEvent(this.#told as Position, position))
  }

  tellEnd(invocation: Invocation): Invocation {
    const from = this.#begin(invocation.attempt, receiptMilestones(invocation.steps))
    for (const event of transcriptOf(invocation, handedCalls(invocation)).after(from)) this.#tell(event)
    return invocation
  }

  /** Returns how much of this attempt the client has received. */
  #begin(attempt: number, milestones: readonly Position[]): Position {
    const opening = openingEvent(this.#request_id, attempt, this.#told, milestones)
    if (opening) this.#tell(opening)
    return this.#told as Position
  }

  #tell(event: StreamEvent): void {
    this.#told = readEventId(event.id)
    this.#context.emit?.(event)
  }
}
