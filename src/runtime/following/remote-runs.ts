import type { Logger } from '../../lib/log.ts'
import type { RunEvent } from '../outcome.ts'
import { LiveRun, type LiveRuns } from './live-runs.ts'
import type { Position, StreamEvent, Told } from './transcript.ts'

/** Carries messages to every node, in the order in which one node sends them. Some may be lost. */
export type NodeWire = {
  publish(message: string): Promise<void>
  onMessage(listener: (message: string) => void): void
}

/** Which attempt of a run speaks, and whose it is. */
type Speaking = NonNullable<LiveRun['began']> & { agent_id: string }

/** A run that a node follows, and how far it has heard of it. */
type Followed = { id: string; known: Position | null }

type NodeMessage = { by: string } /** A node follows these runs. */ & (
  | { kind: 'follow'; runs: Followed[] }
  /** Everything that a run has said so far, for the node that asked, or for all when it begins. */
  | { kind: 'all'; to: string | null; id: string; speaking: Speaking; events: StreamEvent[] }
  /** What a run has said since `from`. */
  | { kind: 'more'; id: string; attempt: number; from: Told; events: StreamEvent[] }
  | { kind: 'ended'; id: string }
)

/** A run of another node that somebody here follows. */
type Watched = { followers: number; copy: LiveRun | undefined; change: PromiseWithResolvers<void> }

/**
 * A run of this node that another node follows: what is to be sent, from where on, and when something was sent last.
 */
type Spoken = { run: LiveRun; pending: StreamEvent[]; from: Told; timer: NodeJS.Timeout | undefined; sentAt: number }

const BATCH_MS = 20
/** A node says this often what it follows, and is believed this long. */
const FOLLOW_MS = 5_000
const BELIEVED_MS = 15_000
/** What was sent so long ago has arrived, or was lost. */
const ARRIVAL_MS = 2_000
/** How often the store is asked which of the followed runs have ended: one question for all of them. */
const CHECK_MS = 1_000
const START: Told = { characters: 0, tools: 0 }

type Options = {
  node: string
  live: LiveRuns
  /** Undefined when there is only one node. */
  wire: NodeWire | undefined
  /** Which of these runs nobody works on any more. */
  findEnded(ids: string[]): Promise<string[]>
  log: Logger
}

export type Watch = {
  /** The copy of the run here, once its node has spoken. */
  copy(): LiveRun | undefined
  /** Resolves when the run has begun to speak, here or elsewhere, or may have ended. */
  changed(): Promise<void>
  close(): void
}

/**
 * Lets clients follow runs of other nodes. The node that runs one sends what it says to the others, in small batches
 * and only while somebody follows it; there it is told to any number of followers.
 */
export class RemoteRuns {
  readonly #options: Options
  readonly #watched = new Map<string, Watched>()
  readonly #spoken = new Map<string, Spoken>()
  /** Until when other nodes follow a run, by their word. It may not run here, or not yet. */
  readonly #wanted = new Map<string, number>()
  #publishing: Promise<unknown> = Promise.resolve()
  #timers: NodeJS.Timeout[] = []

  constructor(options: Options) {
    this.#options = options
    options.wire?.onMessage((message) => this.#hearIfReadable(message))
    options.live.onBegun((run) => {
      // Mostly nobody follows anything, and each run would have its id looked up.
      if (this.#watched.size === 0 && this.#wanted.size === 0) return
      const watched = this.#watched.get(run.request_id)
      // The node of the copy has died, and this node has taken the run over.
      if (watched) this.#lookAgain(watched)
      if ((this.#wanted.get(run.request_id) ?? 0) > performance.now()) this.#speak(run, null)
    })
  }

  /** Somebody here follows a run that is not here. */
  watch(request_id: string): Watch {
    const known = this.#watched.get(request_id)
    const watched = known ?? { followers: 0, copy: undefined, change: Promise.withResolvers<void>() }
    watched.followers++
    this.#watched.set(request_id, watched)
    if (this.#timers.length === 0) this.#startTimers()
    if (!known) this.#ask([request_id])
    return {
      copy: () => watched.copy,
      changed: () => watched.change.promise,
      close: () => {
        watched.followers--
        if (watched.followers > 0) return
        this.#watched.delete(request_id)
        if (this.#watched.size === 0) this.#stopTimers()
      },
    }
  }

  /** Ends all following of runs on other nodes. The followers look again, and find that the service stops. */
  close(): void {
    this.#stopTimers()
    for (const watched of this.#watched.values()) this.#lookAgain(watched)
    for (const { timer } of this.#spoken.values()) clearTimeout(timer)
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
    this.#publish({ kind: 'follow', runs })
  }

  async #check(): Promise<void> {
    const ended = await this.#options.findEnded([...this.#watched.keys()]).catch(() => [])
    for (const id of ended) {
      const watched = this.#watched.get(id)
      if (watched) this.#lookAgain(watched)
    }
  }

  /** Ends the copy, so that its followers look for the run again. */
  #lookAgain(watched: Watched): void {
    watched.copy?.end()
    watched.copy = undefined
    this.#tellChange(watched)
  }

  #tellChange(watched: Watched): void {
    watched.change.resolve()
    watched.change = Promise.withResolvers()
  }

  /** A message that cannot be read must not end this process. */
  #hearIfReadable(text: string): void {
    try {
      this.#hear(JSON.parse(text))
    } catch (err) {
      this.#options.log.debug({ err }, 'a message between nodes cannot be read')
    }
  }

  #hear(message: NodeMessage): void {
    if (message.by === this.#options.node) return
    if (message.kind === 'follow') return this.#hearFollower(message.runs, message.by)
    const watched = this.#watched.get(message.id)
    if (!watched) return
    if (message.kind === 'ended') this.#lookAgain(watched)
    const isForUs = message.kind === 'all' && (message.to === null || message.to === this.#options.node)
    if (isForUs) this.#copy(watched, message)
    if (message.kind === 'more' && watched.copy) this.#add(watched.copy, watched, message)
  }

  #copy(watched: Watched, { id, speaking, events }: Extract<NodeMessage, { kind: 'all' }>): void {
    const { agent_id, ...began } = speaking
    const known = watched.copy
    const attempt = known?.began?.attempt ?? 0
    // A node that has lost the run may still speak of it.
    if (began.attempt < attempt) return
    const copy = new LiveRun(id, agent_id, this.#options.live)
    copy.began = began
    for (const event of events) copy.record(runEvent(event))
    // The copy is of the same attempt: only what it lacks is added.
    if (known && began.attempt === attempt) return copy.follow(known.told, (event) => known.record(runEvent(event)))()
    this.#lookAgain(watched)
    watched.copy = copy
  }

  #add(copy: LiveRun, watched: Watched, { id, attempt, from, events }: Extract<NodeMessage, { kind: 'more' }>): void {
    const isNext = copy.began?.attempt === attempt && isSame(copy.told, from)
    if (isNext) return events.forEach((event) => copy.record(runEvent(event)))
    // Something was lost, or the run has begun anew.
    this.#lookAgain(watched)
    this.#ask([id])
  }

  #hearFollower(runs: Followed[], by: string): void {
    const now = performance.now()
    for (const [id, until] of this.#wanted) if (until <= now) this.#wanted.delete(id)
    for (const { id, known } of runs) {
      this.#wanted.set(id, now + BELIEVED_MS)
      const run = this.#options.live.find(id)
      if (run?.began && this.#hasMissed(run, known)) this.#speak(run, by)
    }
  }

  /** Whether a node that follows the run lacks something that is not on its way to it. */
  #hasMissed({ request_id, began }: LiveRun, known: Position | null): boolean {
    const attempt = began?.attempt ?? 1
    if (known?.attempt !== attempt) return (known?.attempt ?? 0) < attempt
    const spoken = this.#spoken.get(request_id)
    if (!spoken) return true
    return !isSame(known, spoken.from) && spoken.sentAt + ARRIVAL_MS < performance.now()
  }

  /** Tells one node, or all, what the run has said, and from now on all of them what it says. */
  #speak(run: LiveRun, to: string | null): void {
    const { request_id: id, agent_id, began } = run
    if (!began) return
    this.#flush(id)
    const events: StreamEvent[] = []
    run.follow(START, (event) => events.push(event))()
    this.#publish({ kind: 'all', to, id, speaking: { ...began, agent_id }, events })
    if (this.#spoken.get(id)?.run === run) return
    const spoken: Spoken = { run, pending: [], from: run.told, timer: undefined, sentAt: performance.now() }
    this.#spoken.set(id, spoken)
    const unfollow = run.follow(run.told, (event) => {
      spoken.pending.push(event)
      spoken.timer ??= setTimeout(() => this.#flush(id), BATCH_MS)
    })
    run.ended.then(() => {
      unfollow()
      this.#flush(id)
      if (this.#spoken.get(id) === spoken) this.#spoken.delete(id)
      this.#publish({ kind: 'ended', id })
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
    spoken.sentAt = performance.now()
    const isWanted = (this.#wanted.get(id) ?? 0) > performance.now()
    if (isWanted) this.#publish({ kind: 'more', id, attempt: run.began?.attempt ?? 1, from, events })
  }

  #publish(message: DistributiveOmit<NodeMessage, 'by'>): void {
    const { wire, node, log } = this.#options
    if (!wire) return
    const text = JSON.stringify({ by: node, ...message })
    this.#publishing = this.#publishing
      .then(() => wire.publish(text))
      .catch((err) => log.debug({ err }, 'what a run says did not reach the other nodes'))
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

function runEvent({ event, data }: StreamEvent): RunEvent {
  return { type: event, ...(data as object) } as RunEvent
}

function knownOf(copy: LiveRun | undefined): Position | null {
  return copy?.began ? { attempt: copy.began.attempt, ...copy.told } : null
}

function isSame(a: Told, b: Told): boolean {
  return a.characters === b.characters && a.tools === b.tools
}
