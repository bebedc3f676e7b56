import { wellFormedJson } from '../../lib/json.ts'
import { pagesOf } from '../attachments/attachment.ts'
import type { ModelAnswer } from '../models/model.ts'
import type { Model, ModelPrompt, ModelRequest, ModelServer, ReadyPrompt } from '../models/model-request.ts'
import { likelyTokens, mostTokens } from '../prompt/prompt-tokens.ts'
import { ByteSlots } from './byte-slots.ts'
import { AnswerSoFar } from './protocols/answer-so-far.ts'
import type { Protocol } from './protocols/protocol.ts'
import { asModelFailure, BadStatus, TruncatedAnswer } from './provider-failure.ts'
import type { ProviderSockets } from './provider-sockets.ts'
import type { TakesImages } from './provider-source.ts'

type ProviderConnection = {
  provider: string
  server: ModelServer
  vision: TakesImages | undefined
  caches: boolean
  apiKey: string
  protocol: Protocol
  sockets: ProviderSockets
  now: () => number
}

/** How fast a fast model writes. */
const TOKENS_PER_MS = 0.2

/** A model of a provider. */
export function providerModel(connected: ProviderConnection, model: string): Model {
  const { protocol, server } = connected
  const vision = typeof connected.vision === 'object' ? connected.vision[model] : connected.vision
  const images = vision === false ? {} : { images: { ...protocol.images, ...(vision && { isKnown: vision }) } }
  return { ...images, server, prepare: (prompt) => readyPrompt(connected, model, prompt) }
}

/** Writes the body once, so what is measured is what is sent, even in a retry. */
function readyPrompt(connected: ProviderConnection, model: string, prompt: ModelPrompt): ReadyPrompt {
  const slots = new ByteSlots()
  const { provider, caches, protocol } = connected
  const json = wellFormedJson(protocol.body(prompt, { provider, model, caches }, slots))
  const images = slots.file_ids.reduce((sum, file_id) => sum + pagesOf(prompt.input.files?.get(file_id)), 0)
  const size = { bytes: Buffer.byteLength(json), images }
  const tokens = likelyTokens(size)
  return {
    tokens,
    most_tokens: mostTokens(size, prompt),
    instruction: () => connected.protocol.instruction(prompt.output),
    answer: (request) => askProvider(connected, { model, json, slots, tokens }, request),
  }
}

type WrittenPrompt = { model: string; json: string; slots: ByteSlots; tokens: number }

/** Adds the limit of the answer, which is known last, once the budgets have been checked. */
function withLimit(json: string, limit: Record<string, number>): string {
  const fields = JSON.stringify(limit)
  return fields === '{}' ? json : `${json.slice(0, -1)},${fields.slice(1)}`
}

/** Makes one request to the provider. */
async function askProvider(
  connected: ProviderConnection,
  prompt: WrittenPrompt,
  request: ModelRequest,
): Promise<ModelAnswer> {
  const { protocol, sockets, apiKey } = connected
  const { slots, tokens } = prompt
  const answer = new AnswerSoFar(request.say)
  const reader = protocol.reader(answer)
  const json = withLimit(prompt.json, protocol.limit(request.max_output_tokens, prompt.model))
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...protocol.headers(apiKey),
    ...request.trace?.headers,
  }
  let sent_at: number | undefined
  let refusal: BadStatus | undefined
  let isNew = request.trace !== undefined
  try {
    const message = slots.file_ids.length === 0 ? { headers, body: json } : await filled(slots, json, headers, request)
    await sockets.send(
      { method: 'POST', path: protocol.path, ...message, signal: request.deadline.signal },
      {
        sent() {
          sent_at = performance.now()
        },
        start(status, replyHeaders) {
          if (status < 200 || status > 299) refusal = new BadStatus(status, replyHeaders)
        },
        data(chunk) {
          if (refusal) return void refusal.addText(chunk.toString())
          if (isNew) request.trace?.began()
          isNew = false
          reader.reply.read(chunk)
          answer.sayWhatCame()
          return answer.isDone
        },
      },
    )
    if (refusal) throw refusal
    if (!answer.isDone) reader.reply.end()
    answer.sayWhatCame(true)
    // A server that says it is done may leave out the reason.
    const finish = answer.finish ?? (answer.isDone ? 'stop' : undefined)
    if (finish === undefined) throw new TruncatedAnswer('The stream ended before the answer did')
    request.spend(answer.usage(tokens))
    const { id, text, model: answered } = answer
    if (id) request.trace?.named(id)
    const parts = reader.native()
    return {
      calls: answer.toolCalls(finish),
      finish,
      ...(text !== '' && { text }),
      ...(answered && { model: answered }),
      ...(parts && { native: { provider: connected.provider, parts } }),
    }
  } catch (error) {
    // Reported tokens are counted even if the answer failed. If the answer was interrupted before a report, they are
    // estimated. A request that was never sent costs nothing.
    if (answer.hasUsage || answer.hasBegun || (request.deadline.stopped && sent_at !== undefined)) {
      const written = Math.floor((performance.now() - (sent_at ?? performance.now())) * TOKENS_PER_MS)
      request.spend(answer.usage(tokens, Math.min(written, request.max_output_tokens ?? Infinity)))
    }
    throw asModelFailure(error, { ...connected, hasImages: slots.file_ids.length > 0 }, answer.hasSpoken)
  }
}

/** The request's body. The bytes of files are read while they are sent. */
async function filled(slots: ByteSlots, json: string, headers: Record<string, string>, request: ModelRequest) {
  const { length, pieces } = await slots.fill(json, request.openFile)
  return { headers: { ...headers, 'content-length': String(length) }, body: pieces }
}
