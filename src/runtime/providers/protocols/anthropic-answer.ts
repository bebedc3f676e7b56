import { isObject } from '../../../lib/json.ts'
import type { ModelAnswer } from '../../models/model.ts'
import { acceptedArguments } from '../../tools/arguments.ts'
import type { AnswerSoFar, CallSoFar } from './answer-so-far.ts'
import { type AnswerReader, ReportedError } from './protocol.ts'
import { fieldsOf, NotAnAnswer, numberOf, parseObject, type ReplyFields, ReplyReader, textOf } from './read-events.ts'

/** The assistant's blocks as they arrived: thoughts are signed and must be sent back unchanged. */
export type AnthropicNative = { anthropic: { content: Record<string, unknown>[] } }

export function readAnthropicAnswer(answer: AnswerSoFar): AnswerReader {
  const messages = new AnthropicAnswer(answer)
  return {
    reply: new ReplyReader(
      ({ data }) => messages.takeEvent(parseObject(data)),
      (body) => messages.takeWhole(parseObject(body)),
    ),
    native: () => messages.native(),
  }
}

/** A block of the answer; for a call, its arguments so far. */
type OpenBlock = { block: ReplyFields; call?: CallSoFar }

class AnthropicAnswer {
  readonly #answer: AnswerSoFar
  readonly #blocks = new Map<number, OpenBlock>()

  constructor(answer: AnswerSoFar) {
    this.#answer = answer
  }

  takeEvent(event: ReplyFields): void {
    const index = numberOf(event['index']) ?? 0
    switch (event['type']) {
      case 'message_start':
        this.#begin(fieldsOf(event['message']))
        // This event reports only the output tokens of the answer's beginning, so they are ignored.
        this.#takeUsage({ ...fieldsOf(fieldsOf(event['message'])['usage']), output_tokens: undefined })
        break
      case 'content_block_start':
        this.#open(index, fieldsOf(event['content_block']))
        break
      case 'content_block_delta':
        this.#extend(index, fieldsOf(event['delta']))
        break
      case 'message_delta':
        this.#takeUsage(fieldsOf(event['usage']))
        this.#finish(fieldsOf(event['delta'])['stop_reason'])
        break
      case 'message_stop':
        this.#answer.isDone = true
        break
      case 'error':
        throw new ReportedError(event['error'] ?? event)
      // Ignores `ping`, `content_block_stop`, and anything that later versions add.
    }
  }

  /** Takes the answer as one JSON object. */
  takeWhole(message: ReplyFields): void {
    if (message['type'] === 'error') throw new ReportedError(message['error'] ?? message)
    const { content } = message
    if (!Array.isArray(content)) throw new NotAnAnswer('the content is not a list')
    this.#begin(message)
    this.#takeUsage(fieldsOf(message['usage']))
    for (const [index, block] of content.entries()) this.#open(index, fieldsOf(block))
    this.#finish(message['stop_reason'])
    this.#answer.isDone = true
  }

  native(): AnthropicNative {
    const blocks = [...this.#blocks.entries()].toSorted(([one], [other]) => one - other).map(([, open]) => open)
    const content = blocks.map(({ block, call }) =>
      call ? { ...block, input: acceptedArguments(call.arguments) } : block,
    )
    // The API refuses an empty text.
    return { anthropic: { content: content.filter(({ type, text }) => type !== 'text' || text !== '') } }
  }

  #begin(message: ReplyFields): void {
    if (typeof message['id'] === 'string') this.#answer.id = message['id']
    if (typeof message['model'] === 'string') this.#answer.model = message['model']
  }

  #open(index: number, block: ReplyFields): void {
    const open: OpenBlock = { block: { ...block } }
    if (block['type'] === 'text') this.#answer.addText(textOf(block['text']))
    else if (block['type'] === 'tool_use') {
      const { id, name, input } = block
      const written = isObject(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ''
      open.call = { id: textOf(id) || `toolu_${index}`, name: textOf(name), arguments: written }
      this.#answer.addCall(open.call)
    }
    this.#answer.count(JSON.stringify(block).length)
    this.#blocks.set(index, open)
  }

  #extend(index: number, delta: ReplyFields): void {
    const { block, call } = this.#blocks.get(index) ?? this.#openText(index)
    const text = textOf(delta['text'])
    if (text !== '') {
      this.#answer.addText(text)
      block['text'] = textOf(block['text']) + text
    }
    for (const field of ['thinking', 'signature']) {
      const more = textOf(delta[field])
      this.#answer.count(more.length)
      if (more !== '') block[field] = textOf(block[field]) + more
    }
    const written = textOf(delta['partial_json'])
    this.#answer.count(written.length)
    if (call) call.arguments += written
  }

  #openText(index: number): OpenBlock {
    const open = { block: { type: 'text', text: '' } }
    this.#blocks.set(index, open)
    return open
  }

  /** Adds the cached input, because `input_tokens` doesn't include what was read from a cache or written to it. */
  #takeUsage(usage: ReplyFields): void {
    const input = numberOf(usage['input_tokens'])
    const cached = numberOf(usage['cache_read_input_tokens'])
    const written = numberOf(usage['cache_creation_input_tokens'])
    const output = numberOf(usage['output_tokens'])
    this.#answer.report({
      ...(input !== undefined && { input: input + (cached ?? 0) + (written ?? 0) }),
      ...(cached !== undefined && { cached }),
      ...(written !== undefined && { cacheWritten: written }),
      ...(output !== undefined && { output }),
    })
  }

  #finish(reason: unknown): void {
    if (typeof reason === 'string') this.#answer.finish = FINISHES[reason] ?? 'stop'
  }
}

const FINISHES: Record<string, ModelAnswer['finish']> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'filtered',
}
