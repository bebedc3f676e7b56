import { LiveRun, type LiveRuns } from './live-runs.ts'
import { type AllMessage, type MoreMessage, type RunMessage, runEvent, type Send } from './node-message.ts'
import { isSame, type Position } from './transcript.ts'

/** A run of another node that clients of this node follow. */
type WatchedRun = {
  followers: number
  copy: LiveRun | undefined
  change: PromiseWithResolvers<void>
  /** Stops waiting for the run to start here. */
  stop(): void
}

/** How often a node says which runs it follows. Other nodes remember this for longer. */
const FOLLOW_MS = 5_000
/** How often one query asks the store which of the followed runs have ended. */
const CHECK_MS = 1_000

export type Watch = {
  /** This node's copy of the run, once the run's node has sent something. */
  copy(): LiveRun | undefined
  /** Resolves when the run has produced output, here or elsewhere, or may have ended. */
  changed(): Promise<void>
  close(): void
}

type Options = {
  live: LiveRuns
  send: Send
  /** Which of these runs no node works on any more. */
  findEnded(ids: string[]): Promise<string[]>
}

/**
 * Other nodes' runs that clients of this node follow. It keeps one copy of what each run has said, for any number of
 * followers.
 */
export class WatchedRuns {
  readonly #options: Options
  readonly #watched = new Map<string, WatchedRun>()
  #timers: NodeJS.Timeout[] = []

  constructor(options: Options) {
    this.#options = options
  }

  watch(request_id: string): Watch {
    const watched = this.#watched.get(request_id) ?? this.#begin(request_id)
    watched.followers++
    return {
      copy: () => watched.copy,
      changed: () => watched.change.promise,
      close: () => {
        watched.followers--
        if (watched.followers > 0) return
        this.#watched.delete(request_id)
        watched.stop()
        if (this.#watched.size === 0) this.#stopTimers()
      },
    }
  }

  hear(message: RunMessage): void {
    const watched = this.#watched.get(message.id)
    if (!watched) return
    if (message.kind === 'ended') this.#lookAgain(watched)
    if (message.kind === 'all') this.#copy(watched, message)
    if (message.kind === 'more' && watched.copy) this.#add(watched.copy, watched, message)
  }

  /** Makes all followers check again and find that the service is stopping. */
  close(): void {
    this.#stopTimers()
    for (const watched of this.#watched.values()) this.#lookAgain(watched)
  }

  #begin(request_id: string): WatchedRun {
    const watched: WatchedRun = { followers: 0, copy: undefined, change: Promise.withResolvers(), stop: () => {} }
    // If a copy already exists when the run starts here, the run's node has died and this node has taken the run over.
    watched.stop = this.#options.live.onBegun(request_id, () => this.#lookAgain(watched))
    this.#watched.set(request_id, watched)
    if (this.#timers.length === 0) this.#startTimers()
    this.#ask([request_id])
    return watched
  }

  #startTimers(): void {
    const follow = setInterval(() => this.#ask(this.#watched.keys()), FOLLOW_MS)
    const check = setInterval(() => this.#check(), CHECK_MS)
    this.#timers = [follow.unref(), check.unref()]
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
  }

  #ask(ids: Iterable<string>): void {
    const runs = Array.from(ids, (id) => ({ id, known: knownOf(this.#watched.get(id)?.copy) }))
    this.#options.send({ kind: 'follow', runs })
  }

  async #check(): Promise<void> {
    const ended = await this.#options.findEnded([...this.#watched.keys()]).catch(() => [])
    for (const id of ended) {
      const watched = this.#watched.get(id)
      if (watched) this.#lookAgain(watched)
    }
  }

  /** Ends the copy of the run, so that its followers look it up again. */
  #lookAgain(watched: WatchedRun): void {
    watched.copy?.end()
    watched.copy = undefined
    watched.change.resolve()
    watched.change = Promise.withResolvers()
  }

  #copy(watched: WatchedRun, { id, speaking, events }: AllMessage): void {
    const { agent_id, ...began } = speaking
    const known = watched.copy
    const attempt = known?.began?.attempt ?? 0
    // A node that has lost the run may still send output of an earlier attempt.
    if (began.attempt < attempt) return
    const copy = new LiveRun(id, agent_id, this.#options.live)
    copy.began = began
    for (const event of events) copy.record(runEvent(event))
    // It is the same attempt, so only what the copy lacks is added.
    if (known && began.attempt === attempt) return copy.follow(known.told, (event) => known.record(runEvent(event)))()
    this.#lookAgain(watched)
    watched.copy = copy
  }

  #add(copy: LiveRun, watched: WatchedRun, { id, attempt, from, events }: MoreMessage): void {
    const isNext = copy.began?.attempt === attempt && isSame(copy.told, from)
    if (isNext) return events.forEach((event) => copy.record(runEvent(event)))
    // A message was lost, or the run has started over.
    this.#lookAgain(watched)
    this.#ask([id])
  }
}

function knownOf(copy: LiveRun | undefined): Position | null {
  return copy?.began ? { attempt: copy.began.attempt, ...copy.told } : null
}
