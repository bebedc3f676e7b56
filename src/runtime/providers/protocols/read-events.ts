import type { createParser } from 'eventsource-parser'
import { isObject, parseIfJson } from '../../../lib/json.ts'
import { lazily } from '../../../lib/lazily.ts'

const parsers = lazily<typeof import('eventsource-parser')>('eventsource-parser')

/** Receives each event: its name, if it has one, and its data. */
export type TakeEvent = (event: { event?: string | undefined; data: string }) => void

/** The provider's reply isn't an answer that can be read. */
export class NotAnAnswer extends Error {}

/** A page for people, such as the sign-in page of a proxy. */
export class HtmlPage extends NotAnAnswer {}

/** More than any answer needs, even though a stream adds about 200 bytes around each word. */
const MAX_REPLY_BYTES = 32 * 1024 * 1024
/** The limit of one event, or of an answer as one JSON object. */
const MAX_TEXT = 2 * 1024 * 1024
/** Shorter texts are parsed quickly no matter what they contain. */
const SHORT_TEXT = 64 * 1024
/**
 * In JSON, each value has a comma or a bracket before it. A longer text with more of these marks takes too long to
 * parse.
 */
const MAX_MARKS = 100_000

/**
 * Reads the pieces of a reply. Although a stream was requested, a server may answer with one JSON object. The first
 * character shows this, because servers and gateways are careless with content types.
 */
export class ReplyReader {
  readonly #decoder: TextDecoder
  readonly #takeWhole: (body: string) => void
  readonly #parser: ReturnType<typeof createParser>
  #kind: 'unknown' | 'events' | 'json' = 'unknown'
  #body = ''
  #bytes = 0
  #events = 0

  /** If `fatal`, bytes that aren't UTF-8 are refused. */
  constructor(
    takeEvent: TakeEvent,
    takeWhole: (body: string) => void,
    { fatal = false, mostEvents = Number.POSITIVE_INFINITY } = {},
  ) {
    this.#decoder = new TextDecoder('utf-8', { fatal })
    this.#takeWhole = takeWhole
    this.#parser = parsers().createParser({
      onEvent: (event) => {
        this.#events += 1
        if (this.#events > mostEvents) throw new NotAnAnswer(`the reply has more than ${mostEvents} events`)
        takeEvent(event)
      },
      maxBufferSize: MAX_TEXT,
      onError(error) {
        if (error.type === 'max-buffer-size-exceeded') throw new NotAnAnswer('an event is too long')
      },
    })
  }

  read(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_REPLY_BYTES) throw new NotAnAnswer('the reply is too long')
    this.#take(this.#decoder.decode(chunk, { stream: true }))
  }

  end(): void {
    this.#take(this.#decoder.decode())
    if (this.#kind === 'json') this.#takeWhole(this.#body)
    // The end of the reply completes the last event, even without an empty line.
    else this.#parser.feed('\n\n')
  }

  #take(text: string): void {
    if (this.#kind === 'unknown') {
      const first = text.trimStart()
      if (first === '') return
      if (first.startsWith('<')) throw new HtmlPage(first.slice(0, 500))
      this.#kind = first.startsWith('{') ? 'json' : 'events'
    }
    if (this.#kind === 'events') this.#parser.feed(text)
    else if (this.#body.length + text.length > MAX_TEXT) throw new NotAnAnswer('the reply is too long')
    else this.#body += text
  }
}

/** An object from a provider. Its fields are checked one by one, because servers omit and add what they like. */
export type ReplyFields = Record<string, unknown>

export function parseObject(json: string): ReplyFields {
  if (json.length > SHORT_TEXT && hasMoreMarks(json, MAX_MARKS))
    throw new NotAnAnswer('the reply contains too many values')
  const value = parseIfJson(json)
  if (value === undefined) throw new NotAnAnswer(`not JSON: ${json.slice(0, 200)}`)
  if (!isObject(value)) throw new NotAnAnswer(`not an object: ${json.slice(0, 200)}`)
  return value
}

const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b

export function isMark(code: number): boolean {
  return code === COMMA || code === BRACKET || code === BRACE
}

/**
 * Counts with `indexOf`, which takes some milliseconds for 2 MB. A loop over the characters takes 55 ms and blocks
 * everything else.
 */
export function hasMoreMarks(json: string, most: number): boolean {
  let marks = 0
  for (const mark of [',', '[', '{'])
    for (let at = json.indexOf(mark); at >= 0; at = json.indexOf(mark, at + 1)) if (++marks > most) return true
  return false
}

export function fieldsOf(value: unknown): ReplyFields {
  return isObject(value) ? value : {}
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** No provider reports a higher count. */
const MAX_COUNT = 1e12

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MAX_COUNT ? value : undefined
}
