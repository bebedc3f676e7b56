import type { ApiError } from '../../../errors.ts'
import { isObject } from '../../../lib/json.ts'
import { AcceptedReply } from '../../../operation/reply-channel.ts'
import type { Operation } from '../../../operation.ts'
import type { StreamEvent, TranscriptLength } from '../../../runtime/following/transcript.ts'
import { ASK_PERSON, HOST_STEP } from '../../../runtime/steps.ts'
import type { RenderedReply, SentEvent, Writer } from '../dialect.ts'
import type { MadeFile } from '../made-files.ts'
import { answeredOf, argumentsText, type CallerCall, stored } from '../openai/answered.ts'
import { bareId, callId } from '../openai/ids.ts'
import { interruptsOf, type Waiting } from './interrupts.ts'
import type { SentRun } from './sent-run.ts'

/** The reply of a run, as it is stored for repeated requests. */
type RunReply =
  | { waiting: Waiting }
  | {
      request_id: string
      response: string
      calls: readonly CallerCall[]
      output?: unknown
      files?: readonly MadeFile[]
      usage: { input_tokens: number; output_tokens: number; total_tokens: number } & Record<string, number | undefined>
    }

type ToldCall = { id: string; name: string; arguments: unknown; handed?: number }
type ToldResult = { id: string } & ({ result: string } | { error: string })

type ErrorBody = { error: { code: ApiError['code']; message: string } }

const NOTHING: TranscriptLength = { characters: 0, tools: 0 }

/**
 * Writes a run as AG-UI events. IDs of messages and calls follow from the run and from what came before them, so each
 * stream of the same run uses the same ones. A resumed run is written from its start, without what the client has
 * already received (`told`).
 */
export class AgUiWriter implements Writer {
  readonly #run: SentRun
  readonly #told: TranscriptLength
  #request_id: string
  #isBegun = false
  #isEnded = false
  #characters = 0
  #tools = 0
  /** How many of the tool events are about tools. The IDs count these. */
  #counted = 0
  /** The text message that is being written. */
  #open: string | undefined
  /** The message to which the next call belongs. */
  #parent: string | undefined
  /** The client's IDs for the run's calls, by the IDs that the model gave them. */
  readonly #calls = new Map<string, string>()

  constructor(run: SentRun, request_id: string, told: TranscriptLength = NOTHING) {
    this.#run = run
    this.#request_id = request_id
    this.#told = told
  }

  reply({ answer }: Operation, result: unknown): RenderedReply {
    if (result instanceof AcceptedReply) return json({ waiting: answer.accepted?.parse(result.data) as Waiting })
    const { output, files } = result as Pick<Extract<RunReply, { response: unknown }>, 'output' | 'files'>
    const { request_id, response, calls, usage } = answeredOf(result)
    return json({
      request_id,
      response: response ?? '',
      calls,
      usage,
      ...(output !== undefined && { output }),
      ...(files && { files }),
    })
  }

  event({ event, data }: Pick<SentEvent, 'event' | 'data'>): string {
    if (this.#isEnded) return ''
    switch (event) {
      case 'start':
        return this.#begin(data as { request_id?: string })
      case 'restart':
        return this.#restart()
      case 'queued':
        // A resumed run is queued for a moment too, which says nothing to its client.
        return this.#told === NOTHING ? frame('CUSTOM', { name: 'queued', value: data }) : ''
      case 'delta':
        return this.#delta((data as { text: string }).text)
      case 'tool_call':
        return this.#call(data as ToldCall)
      case 'tool_result':
        return this.#result(data as ToldResult)
      case 'waiting':
        return this.#wait(data as Waiting)
      case 'done':
        return this.#end(JSON.parse(data as string))
      case 'error':
        return this.#fail(JSON.parse(data as string))
      default:
        return ''
    }
  }

  /** The events of a stored answer. What the agent's own tools did isn't stored with it. */
  replay(_operation: Operation, { body }: RenderedReply): StreamEvent[] {
    const reply = JSON.parse(body) as RunReply
    if ('waiting' in reply) {
      const { waiting } = reply
      return [stored('start', { request_id: waiting.request_id }), stored('waiting', waiting)]
    }
    const { request_id, response, calls } = reply
    return [
      stored('start', { request_id }),
      stored('delta', { text: response }),
      ...calls.map(({ index, ...call }) => stored('tool_call', { ...call, handed: index })),
    ]
  }

  #begin({ request_id = this.#request_id }: { request_id?: string }): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    this.#request_id = request_id
    const { protocolVersion } = this.#run
    return frame('RUN_STARTED', { ...this.#names(), ...(protocolVersion && { protocolVersion: '1.0' }) })
  }

  /** The attempt whose answer was written is lost. The client goes back to the messages that it sent. */
  #restart(): string {
    const closed = this.#close()
    this.#characters = 0
    this.#tools = 0
    this.#counted = 0
    this.#parent = undefined
    this.#calls.clear()
    return closed + frame('MESSAGES_SNAPSHOT', { messages: this.#run.messages })
  }

  #delta(text: string): string {
    const skipped = Math.max(0, this.#told.characters - this.#characters)
    this.#characters += text.length
    const added = text.slice(skipped)
    // A run separates its texts with empty lines. Here they are separate messages.
    const delta = this.#open === undefined && this.#counted > 0 ? added.replace(/^\n+/, '') : added
    if (this.#open === undefined) this.#parent = this.#id('msg')
    if (delta === '') return ''
    let opening = ''
    if (this.#open === undefined) {
      this.#open = this.#id('msg')
      opening = frame('TEXT_MESSAGE_START', { messageId: this.#open, role: 'assistant' })
    }
    return opening + frame('TEXT_MESSAGE_CONTENT', { messageId: this.#open, delta })
  }

  #call({ id, name, arguments: args, handed }: ToldCall): string {
    // What a remote agent asked its host to do isn't a tool's call, and may contain its instructions.
    const isHostStep = name.startsWith(HOST_STEP) && name !== ASK_PERSON
    const isTold = this.#tools++ < this.#told.tools
    if (isHostStep) return ''
    const toolCallId = handed === undefined ? this.#id('tool') : callId(this.#request_id, handed)
    const parentMessageId = (this.#parent ??= this.#id('msg'))
    this.#calls.set(id, toolCallId)
    this.#counted++
    const closed = this.#close()
    if (isTold) return closed
    const delta = argumentsText({ arguments: args })
    return (
      closed +
      frame('TOOL_CALL_START', { toolCallId, toolCallName: name, parentMessageId }) +
      frame('TOOL_CALL_ARGS', { toolCallId, delta }) +
      frame('TOOL_CALL_END', { toolCallId })
    )
  }

  #result({ id, ...result }: ToldResult): string {
    const isTold = this.#tools++ < this.#told.tools
    const toolCallId = this.#calls.get(id)
    if (toolCallId === undefined) return ''
    const messageId = this.#id('res')
    this.#counted++
    // Models repeat IDs, so the next call with this one is another call.
    this.#calls.delete(id)
    this.#parent = undefined
    const closed = this.#close()
    if (isTold) return closed
    const content = 'result' in result ? result.result : result.error
    return closed + frame('TOOL_CALL_RESULT', { messageId, toolCallId, content, role: 'tool' })
  }

  #wait(waiting: Waiting): string {
    const told = { characters: this.#characters, tools: this.#tools }
    const interrupts = interruptsOf(waiting, told, (id) => this.#calls.get(id))
    return this.#finish({ outcome: { type: 'interrupt', interrupts } })
  }

  #end(reply: RunReply): string {
    if ('waiting' in reply) return this.#wait(reply.waiting)
    const { request_id, calls, output, files, usage } = reply
    const { state, protocolVersion } = this.#run
    const snapshot = isObject(output) ? { ...(isObject(state) && state), ...output } : undefined
    const pendingToolCallIds = calls.map(({ index }) => callId(request_id, index))
    // Clients before 1.0 refuse an outcome with a field that they don't know.
    const isPending = pendingToolCallIds.length > 0 && protocolVersion
    return (
      this.#close() +
      (snapshot ? frame('STATE_SNAPSHOT', { snapshot }) : '') +
      this.#finish({
        result: { request_id, ...(output !== undefined && { output }), ...(files && { files }) },
        outcome: { type: 'success', ...(isPending && { pendingToolCallIds }) },
        usage: [usageOf(usage)],
      })
    )
  }

  /**
   * A run that was cancelled has not failed, but clients before 1.0 know no other word for it. Once a run has begun, no
   * other end of it has the code `conflict`.
   */
  #fail({ error: { code, message } }: ErrorBody): string {
    if (code === 'conflict' && this.#isBegun && this.#run.protocolVersion) {
      return this.#finish({ outcome: { type: 'cancelled' } })
    }
    const closed = this.#close()
    this.#isEnded = true
    return closed + frame('RUN_ERROR', { message, code })
  }

  #finish(how: object): string {
    const closed = this.#close()
    this.#isEnded = true
    return closed + frame('RUN_FINISHED', { ...this.#names(), ...how })
  }

  #close(): string {
    const messageId = this.#open
    this.#open = undefined
    return messageId === undefined ? '' : frame('TEXT_MESSAGE_END', { messageId })
  }

  #names(): object {
    const { threadId, runId } = this.#run
    return { threadId, runId }
  }

  #id(prefix: 'msg' | 'tool' | 'res'): string {
    return `${prefix}_${bareId(this.#request_id)}_${this.#counted}`
  }
}

function usageOf({
  input_tokens,
  output_tokens,
  total_tokens,
  ...parts
}: Extract<RunReply, { usage: unknown }>['usage']) {
  const { cached_tokens, cache_write_tokens, reasoning_tokens } = parts
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    totalTokens: total_tokens,
    ...(cached_tokens !== undefined && { cachedInputTokens: cached_tokens }),
    ...(cache_write_tokens !== undefined && { cacheWriteInputTokens: cache_write_tokens }),
    ...(reasoning_tokens !== undefined && { reasoningTokens: reasoning_tokens }),
  }
}

function json(reply: RunReply): RenderedReply {
  return { status: 200, headers: {}, body: JSON.stringify(reply) }
}

function frame(type: string, fields: object): string {
  return `data: ${JSON.stringify({ type, ...fields })}\n\n`
}
