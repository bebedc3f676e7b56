import { AcceptedReply } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import type { AskedSignIn } from '../../../runtime/approvals/sign-in-words.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import type { Given } from '../../../runtime/given.ts'
import type { RenderedReply, Writer } from '../dialect.ts'
import { answeredOf, argumentsText, type CallerCall, stored } from './answered.ts'
import { readResponseId } from './ids.ts'
import {
  begunResponse,
  callItem,
  messageItem,
  type ResponseObject,
  responseOf,
  textPart,
  unansweredResponse,
  waitingResponse,
} from './response-object.ts'
import { TextPieces } from './text-pieces.ts'

type ResponseFacts = {
  request_id: string
  background: boolean
  given: Omit<Given, 'history'> | null
  created_at: number
}

/**
 * Writes one response as a whole, or as events that are numbered from 0. OpenAI's clients require the numbers, and
 * resume a background response with `starting_after`. A resumed stream is written again from its beginning and cut into
 * the same pieces, so its events have the same numbers. Events up to `startingAfter` are left out.
 */
export class ResponsesWriter implements Writer {
  readonly #begun: ResponseFacts
  #startingAfter: number
  #response: ResponseObject | undefined
  #request_id: string
  #agent_id = ''
  #text = ''
  /** Whether the message has begun, and whether it is complete. */
  #message: 'none' | 'open' | 'closed' = 'none'
  #items = 0
  #pieces = new TextPieces()
  /** The number of the next event, and the last number that was written. */
  #next = 0
  #last = -1

  constructor(
    begun: ResponseFacts,
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

  reply(_operation: Operation, result: unknown): RenderedReply {
    const response = result instanceof AcceptedReply ? this.#accepted(result) : responseOf(answeredOf(result))
    return { status: 200, headers: {}, body: JSON.stringify(response) }
  }

  #accepted({ data }: AcceptedReply): ResponseObject {
    const { request_id, status, approvals } = data as Accepted
    this.#request_id = request_id
    const response = { ...this.#beginning(), status: status === 'queued' ? 'queued' : 'in_progress' }
    return waitingResponse(response, approvals)
  }

  #beginning(): ResponseObject {
    return (this.#response ??= begunResponse({
      ...this.#begun,
      request_id: this.#request_id,
      agent_id: this.#agent_id,
    }))
  }

  event({ event, data }: StreamEvent): string {
    if (event === 'start') return this.#start(data as OpeningEvent)
    if (event === 'restart') return this.#startAgain(data as OpeningEvent)
    if (event === 'done') return this.#end(JSON.parse(data as string))
    if (event === 'waiting') return this.#wait(data as Pick<Accepted, 'approvals'>)
    if (event === 'error') return this.#fail(JSON.parse(data as string))
    if (event === 'delta') return this.#delta((data as { text: string }).text)
    const { handed, ...call } = data as CallerCall & { handed?: number }
    return event === 'tool_call' && handed !== undefined ? this.#call({ ...call, index: handed }) : ''
  }

  replay(_operation: Operation, { body }: RenderedReply): StreamEvent[] {
    const response = JSON.parse(body) as ResponseObject
    this.#response = unansweredResponse(response)
    this.#request_id = readResponseId(response.id)?.request_id ?? this.#request_id
    const events = [stored('start', {})]
    if (response.status === 'in_progress') return events
    for (const item of response.output as OutputItem[]) {
      if (item.type === 'message') {
        events.push(stored('delta', { text: item.content.map((part) => part.text).join('') }))
      } else {
        const handed = Number(item.call_id.slice(item.call_id.lastIndexOf('_') + 1))
        events.push(stored('tool_call', { name: item.name, arguments: item.arguments, handed }))
      }
    }
    return events
  }

  /**
   * The ID with which the response starts. A repeated request may follow the run that it started before, whose ID is
   * the one of that first request.
   */
  #start({ request_id = this.#request_id }: OpeningEvent): string {
    this.#request_id = request_id
    const response = this.#beginning()
    return this.#write('response.created', { response }) + this.#write('response.in_progress', { response })
  }

  /**
   * Handles a run that starts over after its node died. Text that was written can't be taken back, so the stream
   * continues after it, like a resumed stream.
   */
  #startAgain(opening: OpeningEvent): string {
    this.#startingAfter = Math.max(this.#startingAfter, this.#last)
    this.#next = 0
    this.#text = ''
    this.#pieces = new TextPieces()
    this.#message = 'none'
    this.#items = 0
    return this.#start(opening)
  }

  /**
   * Says where to sign in. Other responses than those in the background end with it. A resumed stream doesn't contain
   * this if the run has continued, so it has no number of its own, but the last one that the client has received.
   */
  #wait({ approvals }: Pick<Accepted, 'approvals'>): string {
    const response = waitingResponse(this.#beginning(), approvals)
    if (!this.#begun.background || response.output.length === 0) return ''
    return eventText('response.in_progress', Math.max(this.#next - 1, this.#startingAfter), { response })
  }

  #delta(text: string): string {
    if (text === '') return ''
    this.#text += text
    return this.#openMessage() + this.#tell(this.#pieces.add(text))
  }

  #tell(pieces: readonly string[]): string {
    return pieces
      .map((delta) => this.#write('response.output_text.delta', { ...this.#part(), delta, logprobs: [] }))
      .join('')
  }

  #openMessage(): string {
    if (this.#message !== 'none') return ''
    this.#message = 'open'
    this.#items = 1
    const item = messageItem(this.#request_id, '', 'in_progress')
    return (
      this.#write('response.output_item.added', { output_index: 0, item }) +
      this.#write('response.content_part.added', { ...this.#part(), part: textPart('') })
    )
  }

  #closeMessage(status: string): string {
    if (this.#message !== 'open') return ''
    this.#message = 'closed'
    const text = this.#text
    const item = messageItem(this.#request_id, text, status)
    return (
      this.#tell(this.#pieces.end()) +
      this.#write('response.output_text.done', { ...this.#part(), text, logprobs: [] }) +
      this.#write('response.content_part.done', { ...this.#part(), part: textPart(text) }) +
      this.#write('response.output_item.done', { output_index: 0, item })
    )
  }

  /** The agent's own tools are called on the server, so the client is only told about calls to its own tools. */
  #call(call: CallerCall): string {
    const closing = this.#closeMessage('completed')
    const output_index = this.#items++
    const item = callItem(this.#request_id, call, 'completed')
    const at = { output_index, item_id: item.id }
    const added = { output_index, item: callItem(this.#request_id, call, 'in_progress') }
    const text = argumentsText(call)
    return (
      closing +
      this.#write('response.output_item.added', added) +
      this.#write('response.function_call_arguments.delta', { ...at, delta: text }) +
      this.#write('response.function_call_arguments.done', {
        ...at,
        name: call.name,
        arguments: text,
      }) +
      this.#write('response.output_item.done', { output_index, item })
    )
  }

  #end(response: ResponseObject): string {
    const isAnswer = response.status !== 'in_progress' && response.output.length > 0
    const opening = isAnswer && this.#items === 0 ? this.#openMessage() : ''
    const closing = this.#closeMessage(response.status === 'completed' ? 'completed' : 'incomplete')
    return opening + closing + this.#finish(`response.${response.status}`, response)
  }

  #fail({ error }: { error: { code: string; message: string } }): string {
    const failure = { code: 'server_error', message: error.message }
    return this.#finish('response.failed', { ...this.#beginning(), status: 'failed', error: failure })
  }

  /** Sends the end even if a run that started over says less than was already sent. */
  #finish(type: string, response: ResponseObject): string {
    if (this.#last >= this.#next) this.#next = this.#last + 1
    return this.#write(type, { response })
  }

  #part() {
    return { item_id: messageItem(this.#request_id, '', '').id, output_index: 0, content_index: 0 }
  }

  #write(type: string, data: object): string {
    const sequence_number = this.#next++
    if (sequence_number <= this.#startingAfter) return ''
    this.#last = sequence_number
    return eventText(type, sequence_number, data)
  }
}

const eventText = (type: string, sequence_number: number, data: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`

type Accepted = { request_id: string; status: 'queued' | 'waiting'; approvals?: readonly AskedSignIn[] }

/** The content of the event that opens a stream. */
type OpeningEvent = { request_id?: string }

type OutputItem =
  | { type: 'message'; content: { text: string }[] }
  | { type: 'function_call'; call_id: string; name: string; arguments: string }
