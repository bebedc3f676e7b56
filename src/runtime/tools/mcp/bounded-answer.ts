import { ToolError } from '../tool.ts'

const MAX_BYTES = 1024 * 1024
/** The MCP client needs some microseconds to check each field of an object. */
const MAX_FIELDS = 20_000
const MAX_DEPTH = 128

const LINE_END = 0x0a
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Limits an answer that is JSON, or a stream of JSON events. Its body fails when it becomes too large. */
export function boundedAnswer(response: Response): Response {
  if (!response.body) return response
  const count = new AnswerCount()
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const problem = count.add(chunk)
      if (problem) controller.error(new ToolError(problem))
      else controller.enqueue(chunk)
    },
  })
  return new Response(response.body.pipeThrough(counter), response)
}

class AnswerCount {
  #bytes = 0
  #fields = 0
  #depth = 0
  #isInText = false
  #isEscaped = false

  /** Says which limit is exceeded, or returns undefined. */
  add(chunk: Uint8Array): string | undefined {
    this.#bytes += chunk.byteLength
    for (const byte of chunk) this.#read(byte)
    if (this.#bytes > MAX_BYTES) return `A response is larger than ${MAX_BYTES / 1024} KiB`
    if (this.#fields > MAX_FIELDS) return `A response has more than ${MAX_FIELDS} fields`
    return this.#depth > MAX_DEPTH ? `A response is nested deeper than ${MAX_DEPTH} levels` : undefined
  }

  #read(byte: number): void {
    // A JSON string can't contain a line break, so a string that isn't closed ends here.
    if (byte === LINE_END) this.#isInText = this.#isEscaped = false
    else if (this.#isEscaped) this.#isEscaped = false
    else if (byte === QUOTE) this.#isInText = !this.#isInText
    else if (this.#isInText) this.#isEscaped = byte === BACKSLASH
    else if (byte === COLON) this.#fields += 1
    else if (OPENING.has(byte)) this.#depth += 1
    else if (CLOSING.has(byte) && this.#depth > 0 && this.#depth <= MAX_DEPTH) this.#depth -= 1
  }
}
