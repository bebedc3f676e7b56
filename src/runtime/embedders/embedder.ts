import type { Logger } from '../../lib/log.ts'
import { type Meter, SpendingRefused } from '../models/meter.ts'
import { estimateTokens } from '../models/model.ts'
import type { ProxySettings } from '../providers/provider-sockets.ts'
import { RunStopped } from '../run-in-progress.ts'
import { type EmbeddingEndpoint, type Embeddings, embeddingEndpoint, TextRefused } from './embeddings.ts'
import { localEmbeddings } from './local-embeddings.ts'

export type EmbedderSettings = ({ type: 'openai-compatible' } & EmbeddingEndpoint) | { type: 'local' }

/** Embeddings as memory needs them: vectors of unit length. One bad text doesn't block the others. */
export type Embedder = {
  model: string
  /** A refused text becomes undefined. Rejects if all texts were refused. */
  embed(texts: string[], signal: AbortSignal, meter: Meter): Promise<(Float32Array | undefined)[]>
  /**
   * Embeds a search query. Undefined if it takes too long, fails, is cancelled or exceeds a budget. Memory is then
   * searched by words only.
   */
  query(text: string, meter: Meter, signal?: AbortSignal): Promise<Float32Array | undefined>
  close(): Promise<void>
}

/** Prefix for the embedder's model, to tell its calls apart from those of agents. */
export const EMBEDDER = 'embedder/'

type Options = { log: Logger; now: () => number; proxy?: ProxySettings | undefined }

/** Text beyond this length adds little. */
const MAX_CHARACTERS = 8_000
/** Even a small model accepts a text of this length. */
const SHORT_CHARACTERS = 1_000
/** The tokens that mark the beginning and the end of a text. */
const AROUND_TEXT = 4
const QUERY_TIMEOUT_MS = 3_000
/** After a failure, queries don't use vectors for this long, so answers don't keep waiting for a dead endpoint. */
const PAUSE_MS = 10_000

export function openEmbedder(settings: EmbedderSettings, options: Options): Embedder {
  return embedderOf(settings.type === 'local' ? localEmbeddings() : embeddingEndpoint(settings, options.proxy), options)
}

function embedderOf(embeddings: Embeddings, { log, now }: Options): Embedder {
  const { model, close } = embeddings
  let pausedUntil = 0

  const embedUnit = async (texts: string[], asked: EmbedOptions, length = MAX_CHARACTERS) => {
    const cut = texts.map((text) => text.slice(0, length).toWellFormed())
    const vectors = await embedMetered(embeddings, cut, asked)
    return vectors.map(toUnitLength)
  }
  const embedShort = async (text: string, asked: EmbedOptions) => (await embedUnit([text], asked, SHORT_CHARACTERS))[0]

  const embedEach = async (texts: string[], asked: EmbedOptions) => {
    const vectors: (Float32Array | undefined)[] = []
    let refusal: unknown
    for (const text of texts) {
      const vector = await embedShort(text, asked).catch((error) => {
        if (!(error instanceof TextRefused)) throw error
        refusal = error
      })
      vectors.push(vector ?? undefined)
    }
    if (vectors.every((vector) => vector === undefined)) throw refusal
    return vectors
  }

  const embedAll = (texts: string[], asked: EmbedOptions) =>
    embedUnit(texts, asked).catch((error) => {
      if (error instanceof TextRefused) return embedEach(texts, asked)
      throw error
    })

  return {
    model,
    embed: (texts, signal, meter) => embedAll(texts, { signal, meter }),
    async query(text, meter, given = NEVER) {
      if (now() < pausedUntil || given.aborted) return undefined
      const signal = AbortSignal.any([given, AbortSignal.timeout(QUERY_TIMEOUT_MS)])
      try {
        const [vector] = await embedAll([text], { signal, meter, purpose: 'search' })
        return vector
      } catch (err) {
        if (err instanceof SpendingRefused || err instanceof RunStopped || given.aborted) return undefined
        if (!(err instanceof TextRefused)) pausedUntil = now() + PAUSE_MS
        log.warn({ err, model }, "the embedder isn't responding, so memory is searched by keywords only")
        return undefined
      }
    },
    close,
  }
}

const NEVER = new AbortController().signal
/**
 * A search doesn't wait for amounts that other calls have reserved, because the answer would have to wait too, and
 * searching by words also finds memories.
 */
const WITHOUT_PATIENCE = AbortSignal.abort()

type EmbedOptions = { signal: AbortSignal; meter: Meter; purpose?: 'search' }

/** Makes one request. Its usage is counted no matter how it ends. */
async function embedMetered({ name, embed }: Embeddings, texts: string[], { signal, meter, purpose }: EmbedOptions) {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  const begun = await meter.begin({
    model: `${EMBEDDER}${name}`,
    ...(purpose && { purpose }),
    attempt: null,
    step: null,
    mostInputTokens: () => texts.reduce((sum, text) => sum + Buffer.byteLength(text) + AROUND_TEXT, 0),
    max_output_tokens: 0,
    signal: () => (purpose === 'search' ? WITHOUT_PATIENCE : signal),
  })
  const used = (input_tokens: number) => ({ input_tokens, output_tokens: 0 })
  try {
    const { vectors, input_tokens = estimateTokens(characters) } = await embed(texts, signal)
    begun.end('completed', used(input_tokens))
    return vectors
  } catch (error) {
    // A cancelled request must be paid for, but not a failed one.
    if (signal.aborted) begun.end('cancelled', used(estimateTokens(characters)))
    else begun.end('failed', used(0))
    throw error
  }
}

function toUnitLength(vector: number[]): Float32Array {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length))
}
