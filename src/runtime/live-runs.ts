import { Cancellation } from './deadline.ts'
import type { RunEvent } from './outcome.ts'

export type StreamEvent = { id: string; event: string; data: unknown }

/**
 * A run on this node, from its start until what it left is committed. Most are neither followed nor waited for: what
 * serves that is made when it is first needed.
 */
export class LiveRun {
  readonly request_id: string
  readonly agent_id: string
  readonly cancellation = new Cancellation()
  readonly #runs: LiveRuns
  /** One of the places that its agent has. */
  hasPlace = false
  #over = false
  #ending: PromiseWithResolvers<void> | undefined
  #transcript: Transcript | undefined
  #followers: Set<(event: StreamEvent) => void> | undefined

  constructor(request_id: string, agent_id: string, runs: LiveRuns) {
    this.request_id = request_id
    this.agent_id = agent_id
    this.#runs = runs
  }

  /** Resolves when the run has ended and its record is written. */
  get ended(): Promise<void> {
    this.#ending ??= Promise.withResolvers()
    if (this.#over) this.#ending.resolve()
    return this.#ending.promise
  }

  /** What has been said so far, for whoever joins later. */
  record(event: RunEvent): void {
    this.#transcript ??= newTranscript()
    const streamed = this.#transcript.add(event)
    for (const emit of this.#followers ?? []) emit(streamed)
  }

  /** Hands over everything after `last_event_id`, then whatever comes; returns the way out. */
  follow(last_event_id: string | undefined, emit: (event: StreamEvent) => void): () => void {
    for (const event of this.#transcript?.after(last_event_id) ?? []) emit(event)
    const followers = (this.#followers ??= new Set())
    followers.add(emit)
    return () => followers.delete(emit)
  }

  cancel(): void {
    this.cancellation.cancel()
  }

  end(): void {
    this.#runs.forget(this)
    this.#over = true
    this.#ending?.resolve()
  }
}

/** What runs on this node. */
export class LiveRuns {
  readonly #runs = new Map<string, LiveRun>()
  /** How many places each agent's runs have taken. */
  readonly #taken = new Map<string, number>()
  readonly #onFreed: ((agent_id: string) => void)[] = []

  start(request_id: string, agent_id: string): LiveRun {
    const run = new LiveRun(request_id, agent_id, this)
    this.#runs.set(request_id, run)
    return run
  }

  find(request_id: string): LiveRun | undefined {
    return this.#runs.get(request_id)
  }

  all(): LiveRun[] {
    return [...this.#runs.values()]
  }

  ofAgent(agent_id: string): LiveRun[] {
    return this.all().filter((run) => run.agent_id === agent_id)
  }

  agents(): string[] {
    return [...new Set(this.all().map(({ agent_id }) => agent_id))]
  }

  /** Gives the run one of its agent's places, unless `limit` of them are taken. It has the place until it ends. */
  takePlace(run: LiveRun, limit: number | null): boolean {
    const taken = this.taken(run.agent_id)
    if (limit !== null && taken >= limit) return false
    this.#taken.set(run.agent_id, taken + 1)
    run.hasPlace = true
    return true
  }

  /** How many places the agent's runs have taken. */
  taken(agent_id: string): number {
    return this.#taken.get(agent_id) ?? 0
  }

  /** Calls back when a place of an agent becomes free. */
  onFreed(listener: (agent_id: string) => void): void {
    this.#onFreed.push(listener)
  }

  forget(run: LiveRun): void {
    const { request_id, agent_id } = run
    // Another run may have begun under the same id: one that this node took over from itself.
    if (this.#runs.get(request_id) === run) this.#runs.delete(request_id)
    if (!run.hasPlace) return
    run.hasPlace = false
    const taken = this.taken(agent_id) - 1
    if (taken > 0) this.#taken.set(agent_id, taken)
    else this.#taken.delete(agent_id)
    for (const listener of this.#onFreed) listener(agent_id)
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.all(this.all().map(({ ended }) => ended))
  }
}

/**
 * An event's id says how far the answer has come: characters of text, tool events. So a stream can be taken up again
 * from any point, by this node while it runs or by any node from the receipt.
 */
export function eventId(characters: number, tools: number): string {
  return `${characters}.${tools}`
}

export function readEventId(id: string | undefined): { characters: number; tools: number } {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(id ?? '')
  return { characters: Number(match?.[1] ?? 0), tools: Number(match?.[2] ?? 0) }
}

type Transcript = ReturnType<typeof newTranscript>

function newTranscript() {
  let text = ''
  /** Tool events, each with the length of the text before it. */
  const tools: { at: number; event: RunEvent }[] = []

  return {
    add(event: RunEvent): StreamEvent {
      if (event.type === 'delta') text += event.text
      else tools.push({ at: text.length, event })
      const { type, ...data } = event
      return { id: eventId(text.length, tools.length), event: type, data }
    },
    after(last_event_id: string | undefined): StreamEvent[] {
      const from = readEventId(last_event_id)
      const events: StreamEvent[] = []
      let said = Math.min(from.characters, text.length)
      const say = (until: number, toolsSoFar: number) => {
        if (until <= said) return
        events.push({ id: eventId(until, toolsSoFar), event: 'delta', data: { text: text.slice(said, until) } })
        said = until
      }
      for (const [index, { at, event }] of tools.entries()) {
        if (index < from.tools) continue
        say(at, index)
        const { type, ...data } = event
        events.push({ id: eventId(said, index + 1), event: type, data })
      }
      say(text.length, tools.length)
      return events
    },
  }
}
