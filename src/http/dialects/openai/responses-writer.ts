import { Accepted } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import { readEventId, type StreamEvent } from '../../../runtime/following/transcript.ts'
import type { Given } from '../../../runtime/given.ts'
import type { Rendered, Writer } from '../dialect.ts'
import { answeredOf, argumentsText, type HandedOver } from './answered.ts'
import { readResponseId } from './ids.ts'
import { begunResponse, callItem, messageItem, type ResponseObject, responseOf, textPart } from './response-object.ts'

/** How many numbers each step of the answer has for its events. */
const NUMBERS = 8

type Begun = { request_id: string; background: boolean; given: Given | null; created_at: number }

/**
 * Writes one response: whole, or as events. The number of an event follows from how far the answer has come, and not
 * from how many events there were: a stream that is taken up again has the same numbers, although its pieces are
 * larger. Events up to `startingAfter` are left out.
 */
export class ResponsesWriter implements Writer {
  readonly #begun: Begun
  #startingAfter: number
  #response: ResponseObject | undefined
  #request_id: string
  #agent_id = ''
  #text = ''
  /** Whether the message has begun, and whether it is over. */
  #message: 'none' | 'open' | 'closed' = 'none'
  #items = 0
  /** How far the answer has come. */
  #position = 0
  #lastNumber = -1

  constructor(
    begun: Begun,
    { response, startingAfter = -1 }: { response?: ResponseObject; startingAfter?: number } = {},
  ) {
    this.#begun = begun
    this.#request_id = begun.request_id
    this.#startingAfter = startingAfter
    this.#response = response
    if (response) this.#request_id = readResponseId(response.id)?.request_id ?? begun.request_id
  }

  begin(agent_id: string): void {
    this.#agent_id = agent_id
  }

  reply(_operation: Operation, result: unknown): Rendered {
    const response = result instanceof Accepted ? this.#accepted(result) : responseOf(answeredOf(result))
    return { status: 200, headers: {}, body: JSON.stringify(response) }
  }

  #accepted({ data }: Accepted): ResponseObject {
    const { request_id, status } = data as { request_id: string; status: 'queued' | 'waiting' }
    this.#request_id = request_id
    return { ...this.#beginning(), status: status === 'queued' ? 'queued' : 'in_progress' }
  }

  #beginning(): ResponseObject {
    return (this.#response ??= begunResponse({
      ...this.#begun,
      request_id: this.#request_id,
      agent_id: this.#agent_id,
    }))
  }

  event({ id, event, data }: StreamEvent): string {
    if (event === 'start') return this.#start(data as Opening)
    if (event === 'restart') return this.#startAgain(data as Opening)
    if (event === 'done') return this.#end(JSON.parse(data as string))
    if (event === 'error') return this.#fail(JSON.parse(data as string))
    const { characters, tools } = readEventId(id) ?? { characters: 0, tools: 0 }
    this.#position = characters + tools
    if (event === 'delta') return this.#delta((data as { text: string }).text)
    const { handed, ...call } = data as HandedOver & { handed?: number }
    return event === 'tool_call' && handed !== undefined ? this.#call({ ...call, index: handed }) : ''
  }

  replay(_operation: Operation, { body }: Rendered): StreamEvent[] {
    const response = JSON.parse(body) as ResponseObject
    this.#response = { ...response, status: 'in_progress', output: [], usage: null, completed_at: null }
    this.#request_id = readResponseId(response.id)?.request_id ?? this.#request_id
    let [characters, tools] = [0, 0]
    const events: StreamEvent[] = [{ id: '1.0.0', event: 'start', data: {} }]
    for (const item of response.output as OutputItem[]) {
      const text = item.type === 'message' ? item.content.map((part) => part.text).join('') : ''
      characters += text.length
      if (item.type === 'function_call') tools += 1
      const told = { id: `1.${characters}.${tools}` }
      if (text !== '') events.push({ ...told, event: 'delta', data: { text } })
      if (item.type !== 'function_call') continue
      const handed = Number(item.call_id.slice(item.call_id.lastIndexOf('_') + 1))
      events.push({ ...told, event: 'tool_call', data: { name: item.name, arguments: item.arguments, handed } })
    }
    return events
  }

  /** A repeated request may follow the run that it began before, which has the id of that request. */
  #start({ request_id = this.#request_id }: Opening): string {
    this.#request_id = request_id
    const response = this.#beginning()
    return this.#write(0, 'response.created', { response }) + this.#write(1, 'response.in_progress', { response })
  }

  /**
   * The run begins again after the death of its node. What was written cannot be taken back, so the stream goes on after
   * it, as one does that is taken up again.
   */
  #startAgain(opening: Opening): string {
    this.#startingAfter = Math.max(this.#startingAfter, this.#lastNumber)
    this.#text = ''
    this.#message = 'none'
    this.#items = 0
    return this.#start(opening)
  }

  #delta(text: string): string {
    const from = this.#position - text.length
    const opening = this.#openMessage(from)
    this.#text += text
    const seen = Math.floor(this.#startingAfter / NUMBERS) - from
    const rest = seen > 0 ? text.slice(seen) : text
    const delta = { ...this.#part(), delta: rest, logprobs: [] }
    return opening + (rest === '' ? '' : this.#write(this.#number(2), 'response.output_text.delta', delta))
  }

  #openMessage(position: number): string {
    if (this.#message !== 'none') return ''
    this.#message = 'open'
    this.#items = 1
    const number = position * NUMBERS + 3
    const item = messageItem(this.#request_id, '', 'in_progress')
    return (
      this.#write(number, 'response.output_item.added', { output_index: 0, item }) +
      this.#write(number + 1, 'response.content_part.added', { ...this.#part(), part: textPart('') })
    )
  }

  #closeMessage(status: string): string {
    if (this.#message !== 'open') return ''
    this.#message = 'closed'
    const text = this.#text
    const done = { ...this.#part(), text, logprobs: [] }
    const item = messageItem(this.#request_id, text, status)
    return (
      this.#write(this.#number(0), 'response.output_text.done', done) +
      this.#write(this.#number(1), 'response.content_part.done', { ...this.#part(), part: textPart(text) }) +
      this.#write(this.#number(2), 'response.output_item.done', { output_index: 0, item })
    )
  }

  /** The agent's own tools are called here. The client hears only of its own. */
  #call(call: HandedOver): string {
    const closing = this.#closeMessage('completed')
    const output_index = this.#items++
    const item = callItem(this.#request_id, call, 'completed')
    const at = { output_index, item_id: item.id }
    const added = { output_index, item: callItem(this.#request_id, call, 'in_progress') }
    const text = argumentsText(call)
    return (
      closing +
      this.#write(this.#number(3), 'response.output_item.added', added) +
      this.#write(this.#number(4), 'response.function_call_arguments.delta', { ...at, delta: text }) +
      this.#write(this.#number(5), 'response.function_call_arguments.done', {
        ...at,
        name: call.name,
        arguments: text,
      }) +
      this.#write(this.#number(6), 'response.output_item.done', { output_index, item })
    )
  }

  #end(response: ResponseObject): string {
    const opening = response.output.length > 0 && this.#items === 0 ? this.#openMessage(this.#position) : ''
    this.#position += 1
    const isWhole = response.status === 'completed'
    const closing = this.#closeMessage(isWhole ? 'completed' : 'incomplete')
    return opening + closing + this.#write(this.#number(3), `response.${response.status}`, { response })
  }

  #fail({ error }: { error: { code: string; message: string } }): string {
    this.#position += 1
    const response = { ...this.#beginning(), status: 'failed', error: { code: 'server_error', message: error.message } }
    return this.#write(this.#number(3), 'response.failed', { response })
  }

  #part() {
    return { item_id: messageItem(this.#request_id, '', '').id, output_index: 0, content_index: 0 }
  }

  #number(at: number): number {
    return this.#position * NUMBERS + at
  }

  #write(sequence_number: number, type: string, data: object): string {
    if (sequence_number <= this.#startingAfter) return ''
    this.#lastNumber = sequence_number
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`
  }
}

/** What the event says that opens a stream. */
type Opening = { request_id?: string }

type OutputItem =
  | { type: 'message'; content: { text: string }[] }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
