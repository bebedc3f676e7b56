import type { Agent } from '../agents/agent.ts'
import { ApiError, unavailable } from '../errors.ts'
import type { Context } from '../operation/context.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import type { Watch } from '../runtime/following/remote-runs.ts'
import { type Position, readEventId, type StreamEvent, Transcript } from '../runtime/following/transcript.ts'
import { eventsOf, milestonesOf, tellingOf } from '../runtime/told-steps.ts'
import { isPassing } from '../storage/failures.ts'
import { listPending } from './approvals/approval-store.ts'
import { waitingEvent } from './approvals/waiting-event.ts'
import { handedCalls, type Invocation, isFinal, openingEvent } from './invocation.ts'
import { getInScope, requireReach } from './invocation-in-scope.ts'
import { receiptMilestones, transcriptOf } from './steps/receipt-steps.ts'
import { listKept } from './steps/step-store.ts'

/**
 * Tells the client what an invocation says after `told`, wherever it runs, and returns it when it has ended. If
 * `endless` is false, it also returns an invocation that waits for people, which may take days.
 */
export async function followInvocation(
  agent: Agent,
  request_id: string,
  { told, endless }: { told: Position | undefined; endless: boolean },
  context: Context,
): Promise<Invocation> {
  const { db, actor, emit, live, onHangUp, openStream, remote, stopping } = context
  let isOpen = false
  let gone = false
  let toldWaiting = 0
  const hungUp = new Promise<void>((resolve) => onHangUp?.(resolve)).then(() => {
    gone = true
  })

  // It may run here, begin here at any moment, or run on another node. When it has ended, its receipt tells.
  let watch: Watch | undefined
  try {
    for (;;) {
      const changed = watch?.changed()
      const run = findRun()
      const invocation = run ? undefined : await look()
      openStream?.()
      isOpen = true
      if (invocation && isFinal(invocation)) return tellEnd(invocation)
      if (invocation?.status === 'waiting' && (await tellWaiting(invocation)) && !endless) return invocation
      if (gone) throw new ApiError('conflict', 'Nobody follows this invocation any more')
      if (run) await follow(run)
      else if (stopping.aborted) throw unavailable('The service is stopping, follow the invocation again')
      else if (changed) await Promise.race([hungUp, changed])
      else watch = remote.watch(request_id)
    }
  } finally {
    watch?.close()
  }

  /** A run that has begun on this node, where it may not be stored yet; or the copy of one that speaks on another. */
  function findRun(): LiveRun | undefined {
    const run = live.find(request_id) ?? watch?.copy()
    if (run?.agent_id !== agent.id || !run.began) return undefined
    requireReach(actor, 'read', request_id, run.began)
    return run
  }

  /** Undefined while the store does not answer: the run goes on without it, and so does the stream. */
  async function look(): Promise<Invocation | undefined> {
    try {
      return await getInScope(db, actor, 'read', { agent_seq: agent.seq, id: request_id })
    } catch (error) {
      if (isOpen && isPassing(error)) return undefined
      throw error
    }
  }

  async function follow(run: LiveRun): Promise<void> {
    const from = begin(run.began?.attempt ?? 1, run.began?.milestones ?? [])
    const unfollow = run.follow(from, tell)
    await Promise.race([run.ended, hungUp]).finally(unfollow)
  }

  /** What it waits for is told once in each attempt. Returns false if it waits for nobody. */
  async function tellWaiting({ id, attempt }: Invocation): Promise<boolean> {
    if (toldWaiting === attempt) return true
    const approvals = await listPending(db, [id])
    if (approvals.length === 0) return false
    toldWaiting = attempt
    const { steps } = await listKept(db, id)
    const from = begin(attempt, milestonesOf(steps.map(tellingOf)))
    const transcript = new Transcript(attempt)
    for (const event of eventsOf(steps)) transcript.add(event)
    for (const event of transcript.after(from)) tell(event)
    tell(waitingEvent(told as Position, { request_id: id, status: 'waiting', approvals }))
    return true
  }

  function tellEnd(invocation: Invocation): Invocation {
    const from = begin(invocation.attempt, receiptMilestones(invocation.steps))
    for (const event of transcriptOf(invocation, handedCalls(invocation)).after(from)) tell(event)
    return invocation
  }

  /** How much of this attempt the client has heard. */
  function begin(attempt: number, milestones: readonly Position[]): Position {
    const opening = openingEvent(request_id, attempt, told, milestones)
    if (opening) tell(opening)
    return told as Position
  }

  function tell(event: StreamEvent): void {
    told = readEventId(event.id)
    emit?.(event)
  }
}
