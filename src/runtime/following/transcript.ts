import type { RunEvent } from '../outcome.ts'

export type StreamEvent = { id: string; event: string; data: unknown }

/** How much of an answer was sent: characters of text, and tool events. */
export type TranscriptLength = { characters: number; tools: number }

export function isSame(a: TranscriptLength, b: TranscriptLength): boolean {
  return a.characters === b.characters && a.tools === b.tools
}

/**
 * A position in one attempt's answer. A run that starts over after a crash may answer differently, so each attempt has
 * its own positions.
 */
export type Position = TranscriptLength & { attempt: number }

/**
 * An event's ID says how much of the answer came before it. So a stream can continue from any point, served by the
 * run's node, or by any node from the receipt.
 */
export function eventId({ attempt, characters, tools }: Position): string {
  return `${attempt}.${characters}.${tools}`
}

/** The ID of the last event of every stream. */
const LAST_EVENT_ID = 'done'

const EVENT_ID = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/

/** Undefined if the service didn't issue this ID. */
export function readEventId(id: string): Position | undefined {
  if (id === LAST_EVENT_ID) return { attempt: Infinity, characters: Infinity, tools: Infinity }
  const match = EVENT_ID.exec(id)
  return match ? { attempt: Number(match[1]), characters: Number(match[2]), tools: Number(match[3]) } : undefined
}

type ToolEvent = Exclude<RunEvent, { type: 'delta' | 'output.delta' }>

/** Everything that one attempt has said and done, for clients that join later. */
export class Transcript {
  readonly attempt: number
  #text = ''
  /** Each tool event with the length of the text before it. */
  readonly #tools: { at: number; event: ToolEvent }[] = []
  /** An answer that is still being written and not checked yet. It isn't part of the response. */
  #draft: { answer: number; text: string } | undefined

  constructor(attempt: number) {
    this.attempt = attempt
  }

  get told(): TranscriptLength {
    return { characters: this.#text.length, tools: this.#tools.length }
  }

  add(event: RunEvent): StreamEvent {
    if (event.type === 'output.delta') {
      const { answer, at, text } = event
      this.#draft = { answer, text: (this.#draft?.answer === answer ? this.#draft.text : '').slice(0, at) + text }
      return this.#streamed(event, this.told)
    }
    this.#draft = undefined
    if (event.type === 'delta') this.#text += event.text
    else this.#tools.push({ at: this.#text.length, event })
    return this.#streamed(event, this.told)
  }

  /** What comes after `from`. Nothing if the run hasn't reached that point. */
  after({ characters, tools }: TranscriptLength): StreamEvent[] {
    const events: StreamEvent[] = []
    let said = characters
    const sayUntil = (end: number, toolsSoFar: number) => {
      if (end <= said) return
      const text = this.#text.slice(said, end)
      said = end
      events.push(this.#streamed({ type: 'delta', text }, { characters: said, tools: toolsSoFar }))
    }
    for (const [index, { at, event }] of this.#tools.entries()) {
      if (index < tools) continue
      sayUntil(at, index)
      events.push(this.#streamed(event, { characters: said, tools: index + 1 }))
    }
    sayUntil(this.#text.length, Math.max(tools, this.#tools.length))
    if (this.#draft) events.push(this.#streamed({ type: 'output.delta', ...this.#draft, at: 0 }, this.told))
    return events
  }

  #streamed({ type, ...data }: RunEvent, told: TranscriptLength): StreamEvent {
    return { id: eventId({ attempt: this.attempt, ...told }), event: type, data }
  }
}
