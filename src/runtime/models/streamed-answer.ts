import { storable } from '../../lib/text/text.ts'
import type { AssistantPart, SdkPrompt, StreamPart } from './language-model.ts'
import { estimateTokens, type ModelAnswer, type ToolCall } from './model.ts'
import { isTruncation, TruncatedAnswer } from './provider-failure.ts'
import { acceptedArguments } from './provider-prompt.ts'

type SpokenPart = Extract<AssistantPart, { type: 'text' } | { type: 'reasoning' }>
type ToolCallPart = Extract<StreamPart, { type: 'tool-call' }>
type FinishPart = Extract<StreamPart, { type: 'finish' }>

/** Collects the parts of one streamed answer. */
export class StreamedAnswer {
  readonly #say: (text: string) => void
  readonly #calls: ToolCall[] = []
  readonly #native: AssistantPart[] = []
  readonly #clean = textCleaner()
  #characters = 0
  #spoken = false
  #finish: FinishPart | undefined

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  take(part: StreamPart): void {
    if (part.type === 'text-delta') this.#takeText(part.delta, part.providerMetadata)
    else if (part.type === 'reasoning-start' || part.type === 'reasoning-delta' || part.type === 'reasoning-end') {
      const text = part.type === 'reasoning-delta' ? part.delta : ''
      append(this.#native, 'reasoning', text, part.providerMetadata, part.type)
    } else if (part.type === 'tool-call' && !part.providerExecuted) this.#takeCall(part)
    // When a stream ends too early, the usage still follows, and then `finish` fails.
    else if (part.type === 'error' && !isTruncation(part.error)) throw part.error
    else if (part.type === 'finish') this.#finish = part
  }

  get hasSpoken(): boolean {
    return this.#spoken
  }

  get hasUsage(): boolean {
    return this.#finish?.usage.inputTokens.total !== undefined
  }

  /** The reported tokens, or an estimate. */
  usage(prompt: SdkPrompt) {
    const usage = this.#finish?.usage
    return {
      input_tokens: whole(usage?.inputTokens.total) ?? estimateTokens(JSON.stringify(prompt).length),
      output_tokens: whole(usage?.outputTokens.total) ?? estimateTokens(this.#characters),
    }
  }

  finish(): ModelAnswer {
    const reason = this.#finish?.finishReason.unified
    if (reason === undefined || reason === 'error' || reason === 'interrupted') {
      throw new TruncatedAnswer('The stream ended before the answer did')
    }
    const finish = reason === 'length' ? 'length' : reason === 'content-filter' ? 'filtered' : 'stop'
    return { calls: this.#calls, native: this.#native, finish }
  }

  #takeText(delta: string, metadata: AssistantPart['providerOptions']): void {
    const text = this.#clean(delta)
    if (text === '') return
    this.#characters += text.length
    append(this.#native, 'text', text, metadata)
    this.#spoken = true
    this.#say(text)
  }

  #takeCall({ toolCallId, toolName, input, providerMetadata }: ToolCallPart): void {
    this.#calls.push({ id: toolCallId, name: toolName, arguments: input })
    this.#characters += input.length
    this.#native.push({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: acceptedArguments(input),
      ...(providerMetadata ? { providerOptions: providerMetadata } : {}),
    })
  }
}

/** Some endpoints report fractions. */
function whole(tokens: number | undefined): number | undefined {
  return tokens === undefined ? undefined : Math.max(0, Math.round(tokens))
}

function append(
  native: AssistantPart[],
  type: 'text' | 'reasoning',
  text: string,
  metadata: AssistantPart['providerOptions'],
  event?: StreamPart['type'],
) {
  const last = native.findLast((part) => part.type === 'text' || part.type === 'reasoning')
  const continues = last === native.at(-1) && last?.type === type && event !== 'reasoning-start'
  const part: SpokenPart = continues ? last : { type, text: '' }
  if (!continues) native.push(part)
  part.text += text
  // The signature of the reasoning comes with its last piece, and must be sent back with the whole.
  if (metadata) part.providerOptions = { ...part.providerOptions, ...metadata }
}

/** A surrogate pair may be split between two pieces. */
function textCleaner() {
  let half = ''
  return (piece: string): string => {
    const text = half + piece
    const cut = /[\ud800-\udbff]$/.test(text)
    half = cut ? text.slice(-1) : ''
    return storable(cut ? text.slice(0, -1) : text)
  }
}
