import { createParser } from 'eventsource-parser'

/** Takes the data of each event. */
export type TakeEvent = (data: string) => void

/** What a provider sent cannot be read as an answer. */
export class NotAnAnswer extends Error {}

/**
 * Reads the pieces of a reply. A server that was asked for a stream may answer with one JSON all the same: that is found
 * out by its first character, because servers and gateways are careless with content types.
 */
export class ReplyReader {
  readonly #decoder = new TextDecoder()
  readonly #takeWhole: (body: string) => void
  readonly #parser: ReturnType<typeof createParser>
  #kind: 'unknown' | 'events' | 'json' = 'unknown'
  #body = ''

  constructor(takeEvent: TakeEvent, takeWhole: (body: string) => void) {
    this.#takeWhole = takeWhole
    this.#parser = createParser({ onEvent: ({ data }) => takeEvent(data) })
  }

  read(chunk: Buffer): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }))
  }

  end(): void {
    this.#take(this.#decoder.decode())
    if (this.#kind === 'json') this.#takeWhole(this.#body)
    // An event that is not followed by an empty line is whole all the same when the reply is.
    else this.#parser.feed('\n\n')
  }

  #take(text: string): void {
    if (this.#kind === 'unknown') {
      const first = text.trimStart()
      if (first === '') return
      this.#kind = first.startsWith('{') ? 'json' : 'events'
    }
    if (this.#kind === 'json') this.#body += text
    else this.#parser.feed(text)
  }
}

/** An object of a provider's. Its fields are looked at one by one, because servers leave out and add what they like. */
export type ReplyFields = Record<string, unknown>

export function parseObject(json: string): ReplyFields {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    throw new NotAnAnswer(`not JSON: ${json.slice(0, 200)}`)
  }
  if (!isFields(value)) throw new NotAnAnswer(`not an object: ${json.slice(0, 200)}`)
  return value
}

export function isFields(value: unknown): value is ReplyFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsOf(value: unknown): ReplyFields {
  return isFields(value) ? value : {}
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
