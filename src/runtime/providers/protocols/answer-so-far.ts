import { isObject, parseIfJson } from '../../../lib/json.ts'
import { storable } from '../../../lib/text/text.ts'
import { estimateTokens, type ModelAnswer, type ToolCall } from '../../models/model.ts'
import { AgentFailure } from '../../outcome.ts'

/** The usage that a provider reports. `cached` and `cacheWritten` are parts of the input, `reasoning` of the output. */
export type ReportedTokens = {
  input?: number
  output?: number
  cached?: number
  cacheWritten?: number
  reasoning?: number
}

/**
 * A call, as far as it has arrived. Its arguments arrive in pieces. `extra` belongs to the provider and is sent back to
 * it. If the provider sends no ID, we make one up.
 */
export type CallSoFar = { id: string; isMadeUp?: boolean; name: string; arguments: string; extra?: unknown }

const MAX_CALLS = 128
/** The longest answer that is accepted, in characters: text, reasoning and arguments together. */
const MAX_CHARACTERS = 8 * 1024 * 1024

/** One answer of a provider while it arrives. The protocol's reader fills it. */
export class AnswerSoFar {
  readonly calls: CallSoFar[] = []
  finish: ModelAnswer['finish'] | undefined
  /** Whether the provider said that the answer is complete. */
  isDone = false
  text = ''
  /** The provider's ID for this answer. */
  id: string | undefined
  model: string | undefined
  readonly #say: (text: string) => void
  #tokens: ReportedTokens = {}
  #unsaid = ''
  #characters = 0
  /** How many characters had arrived when the output tokens were reported. */
  #reportedAt = 0

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /**
   * Adds text. It is passed on only after everything that arrived with it was read, so pieces that arrive together
   * become one.
   */
  addText(text: string): void {
    this.count(text.length)
    this.#unsaid += text
  }

  addCall(call: CallSoFar): void {
    if (this.calls.length >= MAX_CALLS)
      throw new AgentFailure(`The model made more than ${MAX_CALLS} tool calls in one answer.`)
    this.count(call.id.length + call.name.length)
    this.calls.push(call)
  }

  sayWhatCame(isLast = false): void {
    if (this.#unsaid === '') return
    // A surrogate pair may be split between two pieces.
    const isCut = !isLast && /[\ud800-\udbff]$/.test(this.#unsaid)
    const text = storable(isCut ? this.#unsaid.slice(0, -1) : this.#unsaid)
    this.#unsaid = isCut ? this.#unsaid.slice(-1) : ''
    if (text === '') return
    this.text += text
    this.#say(text)
  }

  count(characters: number): void {
    this.#characters += characters
    if (this.#characters > MAX_CHARACTERS) throw new AgentFailure('The answer is too long.')
  }

  /** Takes the largest numbers: reports about one answer grow, and a stray report may say 0. */
  report(tokens: ReportedTokens): void {
    for (const kind of ['input', 'output', 'cached', 'cacheWritten', 'reasoning'] as const) {
      const reported = tokens[kind]
      if (typeof reported === 'number' && reported >= (this.#tokens[kind] ?? 0)) this.#tokens[kind] = reported
    }
    if (tokens.output !== undefined) this.#reportedAt = this.#characters
  }

  get hasSpoken(): boolean {
    return this.text !== ''
  }

  /** Whether any of it has arrived: a word, a thought or a call. */
  get hasBegun(): boolean {
    return this.#characters > 0
  }

  get hasUsage(): boolean {
    return this.#tokens.input !== undefined
  }

  /**
   * The reported tokens, or an estimate. An interrupted answer has at least `written` tokens, because the provider
   * charges for what the model wrote and thought, not only for what arrived. A report that came before the last piece
   * is too low. Some endpoints report fractions.
   */
  usage(promptTokens: number, written = 0) {
    const { input, output, cached, cacheWritten, reasoning } = this.#tokens
    const input_tokens = Math.round(input ?? promptTokens)
    const hasEnded = this.finish !== undefined || this.isDone
    const isWholeReport = output !== undefined && (hasEnded || this.#reportedAt === this.#characters)
    const least = Math.max(output ?? 0, estimateTokens(this.#characters), written)
    const output_tokens = Math.round(isWholeReport ? output : least)
    return {
      input_tokens,
      output_tokens,
      // A part is never larger than the total.
      ...(cached !== undefined && { cached_tokens: Math.min(Math.round(cached), input_tokens) }),
      ...(cacheWritten !== undefined && {
        cache_write_tokens: Math.min(
          Math.round(cacheWritten),
          input_tokens - Math.min(Math.round(cached ?? 0), input_tokens),
        ),
      }),
      ...(reasoning !== undefined && { reasoning_tokens: Math.min(Math.round(reasoning), output_tokens) }),
    }
  }

  /**
   * The answer's calls. If the answer didn't end by itself, it may have been cut off within a call, even before the
   * arguments. Servers can interleave the pieces of several calls, so any of them may be cut off, not only the last.
   */
  toolCalls(finish: ModelAnswer['finish']): ToolCall[] {
    return this.calls.map(({ id, name, arguments: written }) => {
      const isCut = finish !== 'stop' && !isWhole(written)
      return { id, name, arguments: written, ...(isCut && { cut: true }) }
    })
  }
}

/** Whether the arguments of a call are complete. The beginning of a JSON object never is. */
export function isWhole(written: string): boolean {
  return written.trimEnd().endsWith('}') && isObject(parseIfJson(written))
}
