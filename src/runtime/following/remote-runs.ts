import type { Logger } from '../../lib/log.ts'
import type { RunEvent } from '../outcome.ts'
import { LiveRun, type LiveRuns } from './live-runs.ts'
import type { StreamEvent, Told } from './transcript.ts'

/** Carries messages to every node, in the order in which one node sends them. Some may be lost. */
export type NodeWire = {
  publish(message: string): Promise<void>
  onMessage(listener: (message: string) => void): void
}

/** Which attempt of a run speaks, and whose it is. */
type Speaking = NonNullable<LiveRun['began']> & { agent_id: string }

type NodeMessage = { by: string } /** A node follows these runs. */ & (
  | { kind: 'follow'; ids: string[] }
  /** Everything that a run has said so far, for the node that asked, or for all when it begins. */
  | { kind: 'all'; to: string | null; id: string; speaking: Speaking; events: StreamEvent[] }
  /** What a run has said since `from`. */
  | { kind: 'more'; id: string; attempt: number; from: Told; events: StreamEvent[] }
  | { kind: 'ended'; id: string }
)

/** A run of another node that somebody here follows. */
type Watched = { followers: number; copy: LiveRun | undefined; change: PromiseWithResolvers<void> }

/** A run of this node that another node follows. */
type Spoken = { run: LiveRun; pending: StreamEvent[]; from: Told; timer: NodeJS.Timeout | undefined }

const BATCH_MS = 20
/** A node says this often what it follows, and is believed this long. */
const FOLLOW_MS = 5_000
const BELIEVED_MS = 15_000
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
 * Lets clients follow runs of other nodes. The node that runs one sends what it says to the others, in small batches and
 * only while somebody follows it; there it is told to any number of followers.
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
    options.wire?.onMessage((message) => this.#hear(JSON.parse(message)))
    options.live.onBegun((run) => {
      const watched = this.#watched.get(run.request_id)
      if (watched) this.#tellChange(watched)
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
    if (!known) this.#publish({ kind: 'follow', ids: [request_id] })
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

  /** Nobody follows a run of another node any more: who does looks again, and finds that the service stops. */
  close(): void {
    this.#stopTimers()
    for (const watched of this.#watched.values()) this.#lookAgain(watched)
    for (const { timer } of this.#spoken.values()) clearTimeout(timer)
  }

  #startTimers(): void {
    const follow = setInterval(() => this.#publish({ kind: 'follow', ids: [...this.#watched.keys()] }), FOLLOW_MS)
    const check = setInterval(() => this.#check(), CHECK_MS)
    this.#timers = [follow.unref(), check.unref()]
  }

  #stopTimers(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
  }

  async #check(): Promise<void> {
    const ended = await this.#options.findEnded([...this.#watched.keys()]).catch(() => [])
    for (const id of ended) {
      const watched = this.#watched.get(id)
      if (watched) this.#lookAgain(watched)
    }
  }

  /** The copy is over: whoever follows it looks for the run anew. */
  #lookAgain(watched: Watched): void {
    watched.copy?.end()
    watched.copy = undefined
    this.#tellChange(watched)
  }

  #tellChange(watched: Watched): void {
    watched.change.resolve()
    watched.change = Promise.withResolvers()
  }

  #hear(message: NodeMessage): void {
    if (message.by === this.#options.node) return
    if (message.kind === 'follow') return this.#hearFollower(message.ids, message.by)
    const watched = this.#watched.get(message.id)
    if (!watched) return
    if (message.kind === 'ended') this.#lookAgain(watched)
    const isForUs = message.kind === 'all' && (message.to === null || message.to === this.#options.node)
    if (isForUs) this.#copy(watched, message)
    if (message.kind === 'more' && watched.copy) this.#add(watched.copy, watched, message)
  }

  #copy(watched: Watched, { id, speaking, events }: Extract<NodeMessage, { kind: 'all' }>): void {
    const { agent_id, ...began } = speaking
    // It may be another copy of what is known: only more of the same attempt, or another attempt, is news.
    if (watched.copy?.began?.attempt === began.attempt) return
    const copy = new LiveRun(id, agent_id, this.#options.live)
    copy.began = began
    for (const event of events) copy.record(runEvent(event))
    this.#lookAgain(watched)
    watched.copy = copy
  }

  #add(copy: LiveRun, watched: Watched, { id, attempt, from, events }: Extract<NodeMessage, { kind: 'more' }>): void {
    const isNext = copy.began?.attempt === attempt && isSame(copy.told, from)
    if (isNext) return events.forEach((event) => copy.record(runEvent(event)))
    // Something was lost, or the run has begun anew.
    this.#lookAgain(watched)
    this.#publish({ kind: 'follow', ids: [id] })
  }

  #hearFollower(ids: string[], by: string): void {
    const now = performance.now()
    for (const [id, until] of this.#wanted) if (until <= now) this.#wanted.delete(id)
    for (const id of ids) {
      this.#wanted.set(id, now + BELIEVED_MS)
      const run = this.#options.live.find(id)
      if (run?.began) this.#speak(run, by)
    }
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
    const spoken: Spoken = { run, pending: [], from: run.told, timer: undefined }
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

function isSame(a: Told, b: Told): boolean {
  return a.characters === b.characters && a.tools === b.tools
}
