import * as agents from '../agents/store.ts'
import { ApiError, invalid, unavailable } from '../errors.ts'
import { operation } from '../operation.ts'
import type { LiveRun } from '../runtime/live-runs.ts'
import { type Position, readEventId, type StreamEvent } from '../runtime/transcript.ts'
import { isPassing } from '../storage/failures.ts'
import {
  failureOf,
  type Invocation,
  InvocationParams,
  InvocationResult,
  isFinal,
  openingEvent,
  resultOf,
} from './invocation.ts'
import { getInScope, requireReach } from './invocation-in-scope.ts'
import { receiptMilestones, transcriptOf } from './steps/receipt-steps.ts'

const LOOK_AGAIN_MS = 100

export const streamInvocation = operation({
  id: 'streamInvocation',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/stream',
  summary: 'Follow an invocation',
  description:
    'The events of an invocation, from the beginning or after `Last-Event-ID`, until it ends. One that has ended is told from its receipt.',
  permission: 'read',
  ownPermission: 'invoke',
  userTokens: true,
  errors: ['timeout', 'conflict'],
  params: InvocationParams,
  data: InvocationResult,
  streams: { always: true },

  async run({ params }, context) {
    const { db, actor, emit, live, onHangUp, openStream, stopping } = context
    const { request_id } = params
    const agent = await agents.get(db, params.agent_id)
    let told = positionOf(context.last_event_id)
    let isOpen = false
    let gone = false
    const hungUp = new Promise<void>((resolve) => onHangUp?.(resolve)).then(() => {
      gone = true
    })

    // The run may be on this node, may begin here at any moment, or may be on another node. In the last case the
    // receipt says when it has ended.
    for (;;) {
      const here = findHere()
      const invocation = here ? undefined : await look()
      openStream?.()
      isOpen = true
      if (invocation && isFinal(invocation)) return tellEnd(invocation)
      if (gone) throw new ApiError('conflict', 'Nobody follows this invocation any more')
      if (here) await follow(here)
      else if (stopping.aborted) throw unavailable('The service is stopping, follow the invocation again')
      else await Promise.race([hungUp, new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))])
    }

    /** A run that has begun on this node. It may not be stored yet. */
    function findHere(): LiveRun | undefined {
      const run = live.find(request_id)
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

    function tellEnd(invocation: Invocation) {
      const from = begin(invocation.attempt, receiptMilestones(invocation.steps))
      for (const event of transcriptOf(invocation).after(from)) tell(event)
      if (invocation.status !== 'completed') throw failureOf(invocation)
      return resultOf(invocation)
    }

    /** How much of this attempt the client has read. */
    function begin(attempt: number, milestones: readonly Position[]): Position {
      const opening = openingEvent(request_id, attempt, told, milestones)
      if (opening) tell(opening)
      return told as Position
    }

    function tell(event: StreamEvent): void {
      told = readEventId(event.id)
      emit?.(event)
    }
  },
})

function positionOf(last_event_id: string | undefined): Position | undefined {
  if (!last_event_id) return undefined
  const position = readEventId(last_event_id)
  if (!position) throw invalid({ field: 'Last-Event-ID', error: 'must be the id of an event of this invocation' })
  return position
}
