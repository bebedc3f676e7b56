import { AcceptedReply } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import type { RenderedReply, Writer } from '../dialect.ts'
import {
  type AnsweredRun,
  answeredOf,
  argumentsText,
  type CallerCall,
  earlyFinish,
  seconds,
  stored,
} from './answered.ts'
import { callId, completionId, readCallId } from './ids.ts'
import { waitsError } from './openai-error.ts'

type ChatFacts = { model: string; includeUsage: boolean; request_id: string; now: number }

type ToolCallPart = { id: string; type: 'function'; function: { name: string; arguments: string } }

type Completion = {
  id: string
  created: number
  model: string
  choices: [{ message: { content: string | null; tool_calls?: ToolCallPart[] }; finish_reason: string }]
  usage: unknown
}

/** Writes one chat completion, as a whole or chunk by chunk. */
export class ChatWriter implements Writer {
  readonly #model: string
  readonly #includeUsage: boolean
  #request_id: string
  #created: number
  #calls = 0
  /** How many characters the client has received, and how many of them the run repeats. */
  #told = 0
  #repeated = 0

  constructor({ model, includeUsage, request_id, now }: ChatFacts) {
    this.#model = model
    this.#includeUsage = includeUsage
    this.#request_id = request_id
    this.#created = seconds(now)
  }

  reply(_operation: Operation, result: unknown): RenderedReply {
    if (result instanceof AcceptedReply) {
      const { request_id, ...waits } = result.data as { request_id: string } & Parameters<typeof waitsError>[1]
      return waitsError(request_id, waits)
    }
    const answered = answeredOf(result)
    this.#created = seconds(answered.created_at)
    const body = {
      id: completionId(answered.request_id),
      object: 'chat.completion',
      created: this.#created,
      model: this.#model,
      choices: [{ index: 0, message: messageOf(answered), logprobs: null, finish_reason: finishOf(answered) }],
      usage: usageOf(answered),
    }
    return { status: 200, headers: {}, body: JSON.stringify(body) }
  }

  event({ event, data }: StreamEvent): string {
    if (event === 'start') return this.#start(data as { request_id?: string })
    if (event === 'restart') this.#repeated = this.#told
    if (event === 'delta') return this.#delta((data as { text: string }).text)
    if (event === 'tool_call') return this.#call(data as CallerCall & { handed?: number })
    if (event === 'done') return this.#end(JSON.parse(data as string))
    return event === 'error' ? `data: ${data}\n\n` : ''
  }

  /**
   * The ID with which the completion starts. A repeated request may follow the run that it started before, whose ID is
   * the one of that first request.
   */
  #start({ request_id = this.#request_id }: { request_id?: string }): string {
    this.#request_id = request_id
    return this.#chunk({ role: 'assistant', content: '', refusal: null })
  }

  /** Text that was written can't be taken back. If a run starts over, only the text after that point is sent. */
  #delta(text: string): string {
    const content = text.slice(this.#repeated)
    this.#repeated -= text.length - content.length
    this.#told += content.length
    return content === '' ? '' : this.#chunk({ content })
  }

  /** The chunks of a stored completion, with its ID. */
  replay(_operation: Operation, { status, body }: RenderedReply): StreamEvent[] {
    // The run waits for a person, and the `done` event says so.
    if (status !== 200) return []
    const { id, created, choices } = JSON.parse(body) as Completion
    this.#request_id = `req_${id.slice(id.indexOf('-') + 1)}`
    this.#created = created
    const { content, tool_calls = [] } = choices[0].message
    return [
      stored('start', {}),
      ...(content ? [stored('delta', { text: content })] : []),
      ...tool_calls.map(({ id: call, function: { name, arguments: args } }) => {
        return stored('tool_call', { name, arguments: args, handed: readCallId(call)?.index ?? 0 })
      }),
    ]
  }

  /** The agent's own tools are called on the server, so the client is only told about calls to its own tools. */
  #call({ name, arguments: args, handed }: { name: string; arguments: unknown; handed?: number }): string {
    if (handed === undefined) return ''
    const index = this.#calls++
    const id = callId(this.#request_id, handed)
    const opening = { index, id, type: 'function', function: { name, arguments: '' } }
    const rest = { index, function: { arguments: argumentsText({ arguments: args }) } }
    return this.#chunk({ tool_calls: [opening] }) + this.#chunk({ tool_calls: [rest] })
  }

  #end(body: Completion | { error: unknown }): string {
    if ('error' in body) return `data: ${JSON.stringify(body)}\n\n`
    const last = this.#chunk({}, body.choices[0].finish_reason)
    const usage = this.#includeUsage ? this.#frame([], body.usage) : ''
    return `${last}${usage}data: [DONE]\n\n`
  }

  #chunk(delta: object, finish_reason: string | null = null): string {
    return this.#frame([{ index: 0, delta, logprobs: null, finish_reason }], null)
  }

  #frame(choices: object[], usage: unknown): string {
    const chunk = {
      id: completionId(this.#request_id),
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model,
      choices,
      ...(this.#includeUsage && { usage }),
    }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
}

function messageOf(answered: AnsweredRun) {
  const { request_id, response, calls } = answered
  const message = { role: 'assistant', content: response, refusal: null, annotations: [] }
  if (calls.length === 0) return { ...message, content: response ?? '' }
  const tool_calls = calls.map((call) => ({
    id: callId(request_id, call.index),
    type: 'function',
    function: { name: call.name, arguments: argumentsText(call) },
  }))
  return { ...message, content: response || null, tool_calls }
}

function finishOf(answered: AnsweredRun): string {
  if (answered.calls.length > 0) return 'tool_calls'
  const early = earlyFinish(answered)
  return early === undefined ? 'stop' : early === 'filtered' ? 'content_filter' : 'length'
}

function usageOf({ usage }: AnsweredRun) {
  const { input_tokens, output_tokens, total_tokens, cached_tokens = 0, reasoning_tokens = 0 } = usage
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    prompt_tokens_details: { cached_tokens },
    completion_tokens_details: { reasoning_tokens },
  }
}
