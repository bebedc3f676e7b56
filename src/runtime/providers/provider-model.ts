import type { ModelAnswer } from '../models/model.ts'
import type { Model, ModelRequest } from '../models/model-request.ts'
import { ByteSlots } from './byte-slots.ts'
import { AnswerSoFar } from './protocols/answer-so-far.ts'
import type { Protocol } from './protocols/protocol.ts'
import { asModelFailure, BadStatus, TruncatedAnswer } from './provider-failure.ts'
import type { ProviderSockets } from './provider-sockets.ts'
import type { TakesImages } from './provider-source.ts'

/** What an image counts like, where the provider does not tell the tokens. */
const CHARACTERS_OF_IMAGE = 6_400

type Connected = {
  provider: string
  vision: TakesImages | undefined
  apiKey: string
  protocol: Protocol
  sockets: ProviderSockets
  now: () => number
}

/** As fast as a fast model writes. */
const TOKENS_PER_MS = 0.2

/** A model of a provider. Every call of `answer` is one request. */
export function providerModel(connected: Connected, model: string): Model {
  const { protocol } = connected
  const vision = typeof connected.vision === 'object' ? connected.vision[model] : connected.vision
  const images = vision === false ? {} : { images: { ...protocol.images, ...(vision && { isKnown: vision }) } }
  return { ...images, answer: (request) => askProvider(connected, model, request) }
}

async function askProvider(connected: Connected, model: string, request: ModelRequest): Promise<ModelAnswer> {
  const { protocol, sockets, apiKey } = connected
  const answer = new AnswerSoFar(request.say)
  const reader = protocol.reader(answer)
  const slots = new ByteSlots()
  const json = JSON.stringify(protocol.body(request, model, slots))
  const headers = {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    ...protocol.headers(apiKey),
    ...request.headers,
  }
  const characters = json.length + slots.count * CHARACTERS_OF_IMAGE
  const asked_at = connected.now()
  let refusal: BadStatus | undefined
  try {
    const message = slots.isEmpty ? { headers, body: json } : await filled(slots, json, headers, request)
    await sockets.send(
      { method: 'POST', path: protocol.path, ...message, signal: request.deadline.signal },
      {
        start(status, replyHeaders) {
          if (status < 200 || status > 299) refusal = new BadStatus(status, replyHeaders)
        },
        data(chunk) {
          if (refusal) refusal.addText(chunk.toString())
          else {
            reader.reply.read(chunk)
            answer.sayWhatCame()
          }
        },
      },
    )
    if (refusal) throw refusal
    reader.reply.end()
    answer.sayWhatCame(true)
    // A server that says it is done need not say why.
    const finish = answer.finish ?? (answer.isDone ? 'stop' : undefined)
    if (finish === undefined) throw new TruncatedAnswer('The stream ended before the answer did')
    request.spend(answer.usage(characters))
    const { model: answered } = answer
    return { calls: answer.toolCalls(), native: reader.native(), finish, ...(answered && { model: answered }) }
  } catch (error) {
    // Reported tokens are counted even if the answer failed. If it broke off before a report, they are estimated.
    if (answer.hasUsage || answer.hasSpoken || request.deadline.stopped) {
      const written = Math.floor((connected.now() - asked_at) * TOKENS_PER_MS)
      request.spend(answer.usage(characters, Math.min(written, request.max_output_tokens ?? Infinity)))
    }
    throw asModelFailure(error, { ...connected, hasImages: !slots.isEmpty }, answer.hasSpoken)
  }
}

/** The bytes of files are read while they are sent. */
async function filled(slots: ByteSlots, json: string, headers: Record<string, string>, request: ModelRequest) {
  const { length, pieces } = await slots.fill(json, request.openFile)
  return { headers: { ...headers, 'content-length': String(length) }, body: pieces }
}
