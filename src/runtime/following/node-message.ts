import type { RunEvent } from '../outcome.ts'
import type { LiveRun } from './live-runs.ts'
import type { Position, StreamEvent, TranscriptLength } from './transcript.ts'

/** Carries messages to every node, keeping the order of each sender. Some may be lost. */
export type NodeWire = {
  publish(message: string): Promise<void>
  onMessage(listener: (message: string) => void): void
}

/** The run and its attempt that a message is about, with the run's agent. */
type SpeakingRun = NonNullable<LiveRun['began']> & { agent_id: string }

/** A run that a node follows, and how much of it the node has received. */
export type FollowedRun = { id: string; known: Position | null }

/** A node follows these runs. */
type FollowMessage = { kind: 'follow'; runs: FollowedRun[] }

/** Everything that a run has said so far: for the node that asked, or for all nodes when the run starts. */
export type AllMessage = { kind: 'all'; to: string | null; id: string; speaking: SpeakingRun; events: StreamEvent[] }

/** What a run has said since `from`. */
export type MoreMessage = { kind: 'more'; id: string; attempt: number; from: TranscriptLength; events: StreamEvent[] }

type EndedMessage = { kind: 'ended'; id: string }

/** What a node says about one run. */
export type RunMessage = AllMessage | MoreMessage | EndedMessage

/** What nodes tell each other about runs. */
export type NodeMessage = FollowMessage | RunMessage

/** Sends a message to all other nodes. */
export type Send = (message: NodeMessage) => void

/** A stream event as the run recorded it. */
export function runEvent({ event, data }: StreamEvent): RunEvent {
  return { type: event, ...(data as object) } as RunEvent
}
