import type { LiveRun, LiveRuns } from './live-runs.ts'
import type { FollowedRun, Send } from './node-message.ts'
import type { Position, StreamEvent, TranscriptLength } from './transcript.ts'

/** A run of this node that another node follows. */
type SpokenRun = {
  run: LiveRun
  /** Events that aren't sent yet, and how much of the answer was sent before them. */
  pending: StreamEvent[]
  from: TranscriptLength
  /**
   * How much had been sent when a node last asked. If a node that asks again knows less than this, it has missed
   * something.
   */
  arrived: TranscriptLength
  timer: NodeJS.Timeout | undefined
}

const BATCH_MS = 20
/** A request to follow expires after this time. Nodes repeat it more often than that. */
const FOLLOW_TTL_MS = 15_000
const START: TranscriptLength = { characters: 0, tools: 0 }

/** This node's runs that other nodes follow. Their output is sent in small batches. */
export class SpokenRuns {
  readonly #live: LiveRuns
  readonly #send: Send
  readonly #spoken = new Map<string, SpokenRun>()
  /** The runs that other nodes want to follow, and until when. Such a run may not be on this node, or not yet. */
  readonly #wanted = new Map<string, { until: number; stop(): void }>()

  constructor({ live, send }: { live: LiveRuns; send: Send }) {
    this.#live = live
    this.#send = send
  }

  /** Handles a message in which another node says which runs it follows. */
  hearFollower(runs: FollowedRun[], by: string): void {
    const now = performance.now()
    for (const [id, { until, stop }] of this.#wanted) {
      if (until > now) continue
      this.#wanted.delete(id)
      stop()
    }
    for (const { id, known } of runs) {
      const stop = this.#wanted.get(id)?.stop ?? this.#live.onBegun(id, (run) => this.#hearBegun(run))
      this.#wanted.set(id, { until: now + FOLLOW_TTL_MS, stop })
      const run = this.#live.find(id)
      if (run?.began && this.#hasMissed(run, known)) this.#speak(run, by)
      const spoken = this.#spoken.get(id)
      if (spoken) spoken.arrived = spoken.from
    }
  }

  /** Sends the output of a run that has just started here, if other nodes wait for it. */
  #hearBegun(run: LiveRun): void {
    if (this.#isWanted(run.request_id)) this.#speak(run, null)
  }

  close(): void {
    for (const { timer } of this.#spoken.values()) clearTimeout(timer)
  }

  #isWanted(id: string): boolean {
    return (this.#wanted.get(id)?.until ?? 0) > performance.now()
  }

  /** Whether a node that follows the run lacks something that isn't already being sent to it. */
  #hasMissed({ request_id, began }: LiveRun, known: Position | null): boolean {
    const attempt = began?.attempt ?? 1
    if (known?.attempt !== attempt) return (known?.attempt ?? 0) < attempt
    const arrived = this.#spoken.get(request_id)?.arrived
    return !arrived || known.characters < arrived.characters || known.tools < arrived.tools
  }

  /**
   * Sends one node, or all nodes, what the run has said so far, and from now on sends its new output to all of them.
   */
  #speak(run: LiveRun, to: string | null): void {
    const { request_id: id, agent_id, began } = run
    if (!began) return
    this.#flush(id)
    const events: StreamEvent[] = []
    run.follow(START, (event) => events.push(event))()
    this.#send({ kind: 'all', to, id, speaking: { ...began, agent_id }, events })
    if (this.#spoken.get(id)?.run === run) return
    const spoken: SpokenRun = { run, pending: [], from: run.told, arrived: START, timer: undefined }
    this.#spoken.set(id, spoken)
    const unfollow = run.follow(run.told, (event) => {
      spoken.pending.push(event)
      spoken.timer ??= setTimeout(() => this.#flush(id), BATCH_MS)
    })
    run.ended.then(() => {
      unfollow()
      this.#flush(id)
      if (this.#spoken.get(id) === spoken) this.#spoken.delete(id)
      this.#send({ kind: 'ended', id })
    })
  }

  #flush(id: string): void {
    const spoken = this.#spoken.get(id)
    if (!spoken) return
    clearTimeout(spoken.timer)
    spoken.timer = undefined
    const { run, pending: events, from } = spoken
    if (events.length === 0) return
    spoken.pending = []
    spoken.from = run.told
    if (this.#isWanted(id)) this.#send({ kind: 'more', id, attempt: run.began?.attempt ?? 1, from, events })
  }
}
