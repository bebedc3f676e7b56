import { isObject } from '../../../lib/json.ts'
import type { ModelAnswer } from '../../models/model.ts'
import { TruncatedAnswer } from '../provider-failure.ts'
import { type AnswerSoFar, type CallSoFar, isWhole, type ReportedTokens } from './answer-so-far.ts'
import { type AnswerReader, ReportedError } from './protocol.ts'
import { fieldsOf, NotAnAnswer, numberOf, parseObject, type ReplyFields, ReplyReader, textOf } from './read-events.ts'

/** The fields in which servers return what the model thought before it answered. It is sent back in the same field. */
const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const

/** The assistant's part as a compatible server sent it: reasoning and signatures of calls are shown to it again. */
export type ChatNative = { chat: { reasoning?: Record<string, unknown>; extras?: unknown[] } }

export function readChatAnswer(answer: AnswerSoFar): AnswerReader {
  const chat = new ChatAnswer(answer)
  return {
    reply: new ReplyReader(
      ({ data }) => chat.takeEvent(data),
      (body) => chat.takeWhole(parseObject(body)),
    ),
    native: () => chat.native(),
  }
}

class ChatAnswer {
  readonly #answer: AnswerSoFar
  readonly #reasoning: Record<string, string | unknown[]> = {}
  /** For each position of the stream, the call that it currently refers to. */
  readonly #current = new Map<number, CallSoFar>()

  constructor(answer: AnswerSoFar) {
    this.#answer = answer
  }

  takeEvent(data: string): void {
    if (this.#answer.isDone) return
    if (data === '[DONE]') this.#answer.isDone = true
    else if (data.trim() !== '') this.takeChunk(parseObject(data))
  }

  /** Takes the answer as one JSON object. It is complete, even if it doesn't say why it ended. */
  takeWhole(body: ReplyFields): void {
    this.takeChunk(body)
    const { choices } = body
    this.#answer.isDone = Array.isArray(choices) && choices.some((choice) => isObject(fieldsOf(choice)['message']))
  }

  /** Takes a piece of the answer, or the whole answer, which has a `message` instead of a `delta`. */
  takeChunk(chunk: ReplyFields): void {
    const { choices = [], error } = chunk
    if (error !== undefined && error !== null) throw new ReportedError(error)
    // vLLM's word for an error.
    if (chunk['object'] === 'error') throw new ReportedError(chunk)
    if (choices !== null && !Array.isArray(choices)) throw new NotAnAnswer('the choices are not a list')
    if (typeof chunk['id'] === 'string') this.#answer.id ??= chunk['id']
    if (typeof chunk['model'] === 'string' && chunk['model'] !== '') this.#answer.model = chunk['model']
    try {
      for (const choice of choices ?? []) {
        if (isObject(choice) && (choice['index'] ?? 0) === 0) this.#takeChoice(choice)
      }
    } finally {
      // Usage is counted even if the same piece ends an answer that the server gave up.
      this.#takeUsage(chunk)
    }
  }

  native(): ChatNative | undefined {
    const extras = this.#answer.calls.map(({ extra }) => extra ?? null)
    const hasReasoning = Object.keys(this.#reasoning).length > 0
    const hasExtras = extras.some((extra) => extra !== null)
    if (!hasReasoning && !hasExtras) return undefined
    return { chat: { ...(hasReasoning && { reasoning: this.#reasoning }), ...(hasExtras && { extras }) } }
  }

  #takeChoice(choice: ReplyFields): void {
    const said = fieldsOf(choice['delta'] ?? choice['message'])
    this.#takeContent(said['content'])
    const refusal = textOf(said['refusal'])
    if (refusal !== '') {
      this.#answer.addText(refusal)
      this.#answer.finish = 'filtered'
    }
    for (const field of REASONING_FIELDS) this.#takeReasoning(field, textOf(said[field]))
    const details = said['reasoning_details']
    if (Array.isArray(details)) this.#takeReasoningDetails(details)
    const calls = said['tool_calls']
    if (Array.isArray(calls)) for (const call of calls) this.#takeCall(fieldsOf(call))
    const reason = choice['finish_reason']
    if (typeof reason === 'string' && reason !== '') this.#answer.finish = finishOf(reason, this.#answer.finish)
  }

  /** Mistral sends a list of parts, which contains both thoughts and text. */
  #takeContent(content: unknown): void {
    if (typeof content === 'string') this.#answer.addText(content)
    else if (Array.isArray(content)) {
      for (const part of content) if (isObject(part)) this.#answer.addText(textOf(part['text']))
    }
  }

  #takeReasoning(field: string, text: string): void {
    if (text === '') return
    this.#answer.count(text.length)
    this.#reasoning[field] = `${this.#reasoning[field] ?? ''}${text}`
  }

  /** Takes OpenRouter's list, which includes signatures. */
  #takeReasoningDetails(details: unknown[]): void {
    this.#answer.count(JSON.stringify(details).length)
    const before = this.#reasoning['reasoning_details']
    if (Array.isArray(before)) before.push(...details)
    else this.#reasoning['reasoning_details'] = details
  }

  /**
   * The first piece of a call has its ID and name; later pieces only add arguments. Some servers don't number calls, or
   * number all of them 0 and send each as a whole. So another ID, another name, or more arguments after complete ones
   * start another call. Other servers repeat the name in every piece, or send the ID late.
   */
  #takeCall(piece: ReplyFields): void {
    const called = fieldsOf(piece['function'])
    const index = numberOf(piece['index']) ?? 0
    const id = textOf(piece['id'])
    const name = textOf(called['name'])
    const { arguments: given } = called
    const written = isObject(given) ? JSON.stringify(given) : textOf(given)
    let call = this.#current.get(index)
    if (!call || isAnother(call, { id, name, written })) {
      const isMadeUp = id === ''
      call = { id: isMadeUp ? `call_${this.#answer.calls.length + 1}` : id, isMadeUp, name: '', arguments: '' }
      this.#current.set(index, call)
      this.#answer.addCall(call)
    }
    if (call.isMadeUp && id !== '') Object.assign(call, { id, isMadeUp: false })
    if (call.name === '') call.name = name
    this.#answer.count(written.length)
    call.arguments += written
    // Gemini's signature of its thoughts before the call. Without it, Gemini refuses the next request.
    if (piece['extra_content'] !== undefined) {
      this.#answer.count(JSON.stringify(piece['extra_content']).length)
      call.extra = piece['extra_content']
    }
  }

  #takeUsage(chunk: ReplyFields): void {
    // Groq reports usage in its own field.
    const usage = chunk['usage'] ?? fieldsOf(chunk['x_groq'])['usage']
    if (isObject(usage)) this.#answer.report(tokensOf(usage))
  }
}

type CallPiece = { id: string; name: string; written: string }

/** Whether a piece, whose ID and name may be missing, belongs to another call than the piece before it. */
function isAnother(call: CallSoFar, { id, name, written }: CallPiece): boolean {
  if (id === call.id) return false
  if (id !== '' && !call.isMadeUp) return true
  if (name === '' || call.name === '') return false
  return name !== call.name || (written !== '' && isWhole(call.arguments))
}

/** Some servers include the reasoning in `completion_tokens`, others only in the total. */
function tokensOf(usage: ReplyFields): ReportedTokens {
  const input = numberOf(usage['prompt_tokens'])
  const written = numberOf(usage['completion_tokens'])
  const total = numberOf(usage['total_tokens'])
  const cached =
    numberOf(fieldsOf(usage['prompt_tokens_details'])['cached_tokens']) ?? numberOf(usage['prompt_cache_hit_tokens'])
  const reasoning = numberOf(fieldsOf(usage['completion_tokens_details'])['reasoning_tokens'])
  const rest = total !== undefined && input !== undefined ? total - input : 0
  // A difference of less than 1 is a rounding error, because some counts are fractions.
  const output = rest >= (written ?? 0) + 1 ? rest : (written ?? reasoning)
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(cached !== undefined && { cached }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

const FINISHES: Record<string, ModelAnswer['finish']> = {
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'filtered',
  safety: 'filtered',
}

/**
 * `error` and `insufficient_system_resource` mean that the server gave up in the middle, no matter what it sends
 * afterwards.
 */
function finishOf(reason: string, before: ModelAnswer['finish'] | undefined): ModelAnswer['finish'] {
  if (reason === 'error' || reason === 'insufficient_system_resource')
    throw new TruncatedAnswer(`it ended by ${reason}`)
  return before === 'filtered' ? before : (FINISHES[reason.toLowerCase()] ?? 'stop')
}
