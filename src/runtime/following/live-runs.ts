import { Cancellation } from '../deadline.ts'
import type { RunEvent } from '../outcome.ts'
import { isSame, type Position, type StreamEvent, Transcript, type TranscriptLength } from './transcript.ts'

type Follower = { told: TranscriptLength; emit: (event: StreamEvent) => void }

/** The turn of a session, which a run has. */
type SessionTurn = {
  readonly key: string
  /** The lane of its agent. */
  readonly lane: string
  /** Others are known to wait for it. */
  isAwaited?: boolean
  /** The first of them got it in the commit that ended this run. */
  isPassed?: boolean
}

/** A run on this node, from its start until what it left is committed. */
export class LiveRun {
  readonly request_id: string
  readonly agent_id: string
  readonly cancellation = new Cancellation()
  readonly #runs: LiveRuns
  /**
   * Resolves when the run is on disk, and rejects if it could not be stored. Until then nothing of it leaves the service
   * except what its models are asked.
   */
  stored: Promise<void> = Promise.resolve()
  /** Whether the run has a place in the journal. */
  hasPlace = false
  /** The lane of its agent, if the run counts against a limit of the agent or the project. */
  limited_lane: string | undefined
  /** The session whose turn it has. */
  session: SessionTurn | undefined
  /** Resolves when the run is stored with its turn or its place in line, or was refused. */
  admission: Promise<unknown> = Promise.resolve()
  /** The run that has called this one, and waits for it. */
  parent_request_id: string | undefined
  /** The lanes of the runs that it has called when it began to wait, and the sessions in which those take turns. */
  begun_lanes: readonly string[] = []
  begun_sessions: readonly string[] = []
  /**
   * Which attempt this is, what it goes on from, for which user, and who started it. Undefined until the run is stored:
   * no client can follow it before.
   */
  began:
    | { attempt: number; milestones: readonly Position[]; user_id: string | undefined; created_by: string }
    | undefined
  /** The lease of this node on the stored run. Undefined while the run is not stored. */
  lease: { readonly key: readonly string[]; readonly owner: string; until: number } | undefined
  readonly #ending = Promise.withResolvers<void>()
  #transcript: Transcript | undefined
  readonly #followers = new Set<Follower>()

  constructor(request_id: string, agent_id: string, runs: LiveRuns) {
    this.request_id = request_id
    this.agent_id = agent_id
    this.#runs = runs
  }

  /** The run begins here. Followers that wait for this can continue. */
  begin(began: NonNullable<LiveRun['began']>): void {
    this.began = began
    this.#runs.hasBegun(this)
  }

  /** Whether this node has given the run up. The node that takes it next continues with it. */
  get abandoned(): boolean {
    return this.cancellation.isGivenUp
  }

  /** How much it has told so far. */
  get told(): TranscriptLength {
    return this.#transcript?.told ?? { characters: 0, tools: 0 }
  }

  /** Resolves when the run has ended and its record is written. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** Passes the event to the followers, and keeps it for those who join later. */
  record(event: RunEvent): void {
    const transcript = (this.#transcript ??= new Transcript(this.began?.attempt ?? 1))
    const before = transcript.told
    const streamed = transcript.add(event)
    for (const follower of this.#followers) {
      if (isSame(follower.told, before)) follower.emit(streamed)
      else for (const missed of transcript.after(follower.told)) follower.emit(missed)
      follower.told = further(follower.told, transcript.told)
    }
  }

  /** Passes on everything after `told`, and then each new event. Returns a function that stops it. */
  follow(told: TranscriptLength, emit: (event: StreamEvent) => void): () => void {
    for (const event of this.#transcript?.after(told) ?? []) emit(event)
    const follower = { told: this.#transcript ? further(told, this.#transcript.told) : told, emit }
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  cancel(): void {
    this.cancellation.cancel()
  }

  /** Stops the work here. No client has cancelled the run, so no end of it is written. */
  abandon(): void {
    this.cancellation.giveUp()
  }

  end(): void {
    this.#runs.forget(this)
    this.#ending.resolve()
  }
}

/** The runs on this node. */
export class LiveRuns {
  /** Not by id: while an attempt ends here, this node may have begun the next one. */
  readonly #runs = new Set<LiveRun>()
  readonly #onEnded: ((run: LiveRun) => void)[] = []
  readonly #ofSession = new Map<string, readonly LiveRun[]>()
  /** What is called when a run begins here, by its id. Most runs have no entry. */
  readonly #awaited = new Map<string, Set<(run: LiveRun) => void>>()

  start(request_id: string, agent_id: string): LiveRun {
    const run = new LiveRun(request_id, agent_id, this)
    this.#runs.add(run)
    return run
  }

  /** Names the session whose turn the run has or wants. Returns the run of the session that came before it here. */
  joinSession(run: LiveRun, session: SessionTurn): LiveRun | undefined {
    run.session = session
    const others = this.#ofSession.get(session.key)
    this.#ofSession.set(session.key, [...(others ?? []), run])
    return others?.at(-1)
  }

  /** The latest attempt under this id. */
  find(request_id: string): LiveRun | undefined {
    return this.all().findLast((run) => run.request_id === request_id)
  }

  all(): LiveRun[] {
    return [...this.#runs]
  }

  ofAgent(agent_id: string): LiveRun[] {
    return this.all().filter((run) => run.agent_id === agent_id)
  }

  agents(): string[] {
    return [...new Set(this.all().map(({ agent_id }) => agent_id))]
  }

  /** Calls back each time that an attempt of the run begins here. Returns a function that stops it. */
  onBegun(request_id: string, listener: (run: LiveRun) => void): () => void {
    const waiting = this.#awaited.get(request_id) ?? new Set()
    this.#awaited.set(request_id, waiting.add(listener))
    return () => {
      waiting.delete(listener)
      if (waiting.size === 0 && this.#awaited.get(request_id) === waiting) this.#awaited.delete(request_id)
    }
  }

  hasBegun(run: LiveRun): void {
    for (const listener of this.#awaited.get(run.request_id) ?? []) listener(run)
  }

  /** Calls back when a run has ended and its record is written. */
  onEnded(listener: (run: LiveRun) => void): void {
    this.#onEnded.push(listener)
  }

  forget(run: LiveRun): void {
    if (!this.#runs.delete(run)) return
    if (run.session) this.#leaveSession(run, run.session.key)
    for (const listener of this.#onEnded) listener(run)
  }

  #leaveSession(run: LiveRun, key: string): void {
    const others = (this.#ofSession.get(key) ?? []).filter((other) => other !== run)
    if (others.length > 0) this.#ofSession.set(key, others)
    else this.#ofSession.delete(key)
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.all().map(({ ended }) => ended))
  }
}

function further(a: TranscriptLength, b: TranscriptLength): TranscriptLength {
  return { characters: Math.max(a.characters, b.characters), tools: Math.max(a.tools, b.tools) }
}
