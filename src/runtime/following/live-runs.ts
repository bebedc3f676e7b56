import { Cancellation } from '../deadline.ts'
import type { RunEvent } from '../outcome.ts'
import { isSame, type Position, type StreamEvent, Transcript, type TranscriptLength } from './transcript.ts'

type Follower = { told: TranscriptLength; emit: (event: StreamEvent) => void }

/** A session's turn, which the run has. */
type SessionTurn = {
  readonly key: string
  /** The lane of its agent. */
  readonly lane: string
  /** Whether other runs are known to wait for the turn. */
  isAwaited?: boolean
  /** Whether the first run in line got the turn in the commit that ended this run. */
  isPassed?: boolean
}

/** A run on this node, from its start until its effects are committed. */
export class LiveRun {
  readonly request_id: string
  readonly agent_id: string
  readonly cancellation = new Cancellation()
  readonly #runs: LiveRuns
  /**
   * Resolves when the run is on disk, and rejects if it couldn't be stored. Until then, the run sends nothing outside
   * the service except requests to its models.
   */
  stored: Promise<void> = Promise.resolve()
  /** The journal's entry that stores the run, if its work began before that. */
  insertedBy: object | undefined
  /** Whether the run has a place in the journal. */
  hasPlace = false
  /** The lane of the run's agent, if a limit of the agent or the project applies to the run. */
  limited_lane: string | undefined
  /** The session whose turn the run has. */
  session: SessionTurn | undefined
  /** Resolves when the run is stored with its turn or its place in line, or was refused. */
  admission: Promise<unknown> = Promise.resolve()
  /** The run that called this one, and waits for it. */
  parent_request_id: string | undefined
  /** The lanes of the runs that it called when it began to wait, and the sessions in which those runs take turns. */
  begun_lanes: readonly string[] = []
  begun_sessions: readonly string[] = []
  /**
   * Which attempt this is, where it continues, for which user it runs, and who started it. Undefined until the run is
   * stored, because no client can follow it before.
   */
  began:
    | { attempt: number; milestones: readonly Position[]; user_id: string | undefined; created_by: string }
    | undefined
  /** This node's lease on the stored run. Undefined until the run is stored. */
  lease: { readonly key: readonly string[]; readonly owner: string; until: number } | undefined
  readonly #ending = Promise.withResolvers<void>()
  #transcript: Transcript | undefined
  readonly #followers = new Set<Follower>()

  constructor(request_id: string, agent_id: string, runs: LiveRuns) {
    this.request_id = request_id
    this.agent_id = agent_id
    this.#runs = runs
  }

  /** Marks that the run has started. Followers that wait for this can continue. */
  begin(began: NonNullable<LiveRun['began']>): void {
    this.began = began
    this.#runs.hasBegun(this)
  }

  /** Whether this node has given up the run. The node that takes it next continues it. */
  get abandoned(): boolean {
    return this.cancellation.isGivenUp
  }

  /** How much of the answer has been recorded so far. */
  get told(): TranscriptLength {
    return this.#transcript?.told ?? { characters: 0, tools: 0 }
  }

  /** Resolves when the run has ended and its record is written. */
  get ended(): Promise<void> {
    return this.#ending.promise
  }

  /** Passes the event to the followers, and stores it for those who join later. */
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

  /** Sends the listener everything after the position `told`, then each new event. Returns a function that stops it. */
  follow(told: TranscriptLength, emit: (event: StreamEvent) => void): () => void {
    for (const event of this.#transcript?.after(told) ?? []) emit(event)
    const follower = { told: this.#transcript ? further(told, this.#transcript.told) : told, emit }
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  cancel(): void {
    this.cancellation.cancel()
  }

  /** Stops the work on this node. No client has cancelled the run, so its end isn't recorded. */
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
  /** Contains runs, not IDs, because this node may start the next attempt while an earlier one is still ending. */
  readonly #runs = new Set<LiveRun>()
  readonly #onEnded: ((run: LiveRun) => void)[] = []
  readonly #ofSession = new Map<string, readonly LiveRun[]>()
  /** The IDs of runs that this node has taken but not begun, and for whose turn other runs wait. */
  readonly #awaitedEarly = new Set<string>()
  /** The callbacks for when a run starts here, by run ID. Most runs have no entry. */
  readonly #awaited = new Map<string, Set<(run: LiveRun) => void>>()

  start(request_id: string, agent_id: string): LiveRun {
    const run = new LiveRun(request_id, agent_id, this)
    this.#runs.add(run)
    return run
  }

  /**
   * Assigns the run to the session whose turn it has or wants. Returns the run of this session that came before it
   * here.
   */
  joinSession(run: LiveRun, session: SessionTurn): LiveRun | undefined {
    run.session = session
    if (this.#awaitedEarly.delete(run.request_id)) session.isAwaited = true
    const others = this.#ofSession.get(session.key)
    this.#ofSession.set(session.key, [...(others ?? []), run])
    return others?.at(-1)
  }

  /**
   * Notes that other runs wait for the turn, so the run passes it on when it ends. Returns false if the run isn't on
   * this node now, because it has just ended or is about to begin.
   */
  tellAwaited(session_key: string, request_id: string): boolean {
    const here = this.#ofSession.get(session_key)?.findLast((run) => run.request_id === request_id)
    if (here?.session) here.session.isAwaited = true
    else this.#awaitedEarly.add(request_id)
    return here !== undefined
  }

  /** Drops the note about a run that has ended. */
  forgetAwaited(request_id: string): void {
    this.#awaitedEarly.delete(request_id)
  }

  /** The latest attempt with this ID. */
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

  /** Calls back each time an attempt of the run starts here. Returns a function that stops it. */
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

  /** Resolves when no run is active any more. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.all().map(({ ended }) => ended))
  }
}

function further(a: TranscriptLength, b: TranscriptLength): TranscriptLength {
  return { characters: Math.max(a.characters, b.characters), tools: Math.max(a.tools, b.tools) }
}
