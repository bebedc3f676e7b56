import type { StreamEvent } from '../runtime/transcript.ts'

/** How the client wants its answer. */
export type Mode = 'reply' | 'stream' | 'background'

/** How the answer reaches the client. */
export type ReplyChannel = {
  mode: Mode
  /** Calls back when nobody waits for the answer any more; undefined when the work is to go on regardless. */
  onHangUp: ((listener: () => void) => void) | undefined
  /** There when the client reads a stream; the last event, `done`, is the reply itself. */
  emit: ((event: StreamEvent) => void) | undefined
  /** Tells the client that its stream begins, before there is anything to say. */
  openStream: (() => void) | undefined
  last_event_id: string | undefined
}

export const PLAIN_REPLY: ReplyChannel = {
  mode: 'reply',
  onHangUp: undefined,
  emit: undefined,
  openStream: undefined,
  last_event_id: undefined,
}

/** A reply of 202: the work goes on after it. */
export class Accepted {
  readonly data: unknown
  readonly location: string

  constructor(data: unknown, location: string) {
    this.data = data
    this.location = location
  }
}
