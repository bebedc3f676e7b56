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
  readonly #forget: (run: LiveRun) => void
  #over = false
  #ending: PromiseWithResolvers<void> | undefined
  #transcript: Transcript | undefined
  #followers: Set<(event: StreamEvent) => void> | undefined

  constructor(request_id: string, agent_id: string, forget: (run: LiveRun) => void) {
    this.request_id = request_id
    this.agent_id = agent_id
    this.#forget = forget
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
    this.#forget(this)
    this.#over = true
    this.#ending?.resolve()
  }
}

export type LiveRuns = {
  start(request_id: string, agent_id: string): LiveRun
  find(request_id: string): LiveRun | undefined
  ofAgent(agent_id: string): LiveRun[]
  /** How many of its agent's runs began before it and go on. */
  ahead(run: LiveRun): number
  agents(): string[]
  ids(): string[]
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>
}

export function liveRuns(): LiveRuns {
  const runs = new Map<string, LiveRun>()
  const forget = (run: LiveRun) => {
    // A queued run may have begun under the same id before the request that queued it had ended.
    if (runs.get(run.request_id) === run) runs.delete(run.request_id)
  }

  return {
    start(request_id, agent_id) {
      const run = new LiveRun(request_id, agent_id, forget)
      runs.set(request_id, run)
      return run
    },
    find: (request_id) => runs.get(request_id),
    ofAgent: (agent_id) => [...runs.values()].filter((run) => run.agent_id === agent_id),
    ahead(run) {
      let ahead = 0
      for (const other of runs.values()) {
        if (other === run) break
        if (other.agent_id === run.agent_id) ahead += 1
      }
      return ahead
    },
    agents: () => [...new Set([...runs.values()].map(({ agent_id }) => agent_id))],
    ids: () => [...runs.keys()],
    async idle() {
      while (runs.size > 0) await Promise.all([...runs.values()].map(({ ended }) => ended))
    },
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
