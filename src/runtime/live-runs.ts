import type { RunEvent } from './outcome.ts'

export type StreamEvent = { id: string; event: string; data: unknown }

/** A run on this node, from its start until what it left is committed. */
export type LiveRun = {
  readonly request_id: string
  readonly agent_id: string
  readonly signal: AbortSignal
  /** Resolves when the run has ended and its record is written. */
  readonly ended: Promise<void>
  /** What has been said so far, for whoever joins later. */
  record(event: RunEvent): void
  /** Hands over everything after `last_event_id`, then whatever comes; returns the way out. */
  follow(last_event_id: string | undefined, emit: (event: StreamEvent) => void): () => void
  cancel(): void
  end(): void
}

export type LiveRuns = {
  start(request_id: string, agent_id: string): LiveRun
  find(request_id: string): LiveRun | undefined
  ofAgent(agent_id: string): LiveRun[]
  count(agent_id: string): number
  agents(): string[]
  ids(): string[]
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>
}

export function liveRuns(): LiveRuns {
  const runs = new Map<string, LiveRun>()
  const perAgent = new Map<string, Set<LiveRun>>()

  return {
    start(request_id, agent_id) {
      const run = startRun(request_id, agent_id, () => {
        // A queued run may have begun under the same id before the request that queued it had ended.
        if (runs.get(request_id) === run) runs.delete(request_id)
        const others = perAgent.get(agent_id)
        others?.delete(run)
        if (others?.size === 0) perAgent.delete(agent_id)
      })
      runs.set(request_id, run)
      const others = perAgent.get(agent_id)
      if (others) others.add(run)
      else perAgent.set(agent_id, new Set([run]))
      return run
    },
    find: (request_id) => runs.get(request_id),
    ofAgent: (agent_id) => [...(perAgent.get(agent_id) ?? [])],
    count: (agent_id) => perAgent.get(agent_id)?.size ?? 0,
    agents: () => [...perAgent.keys()],
    ids: () => [...runs.keys()],
    async idle() {
      while (runs.size > 0) await Promise.all([...runs.values()].map(({ ended }) => ended))
    },
  }
}

function startRun(request_id: string, agent_id: string, forget: () => void): LiveRun {
  const controller = new AbortController()
  const ended = Promise.withResolvers<void>()
  const transcript = newTranscript()
  const followers = new Set<(event: StreamEvent) => void>()

  return {
    request_id,
    agent_id,
    signal: controller.signal,
    ended: ended.promise,
    record(event) {
      const streamed = transcript.add(event)
      for (const emit of followers) emit(streamed)
    },
    follow(last_event_id, emit) {
      for (const event of transcript.after(last_event_id)) emit(event)
      followers.add(emit)
      return () => followers.delete(emit)
    },
    cancel: () => controller.abort(),
    end() {
      forget()
      ended.resolve()
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
