import type { Logger } from '../../lib/log.ts'
import type { ProxySettings } from '../providers/provider-sockets.ts'
import { type EmbeddingEndpoint, type Embeddings, embeddingEndpoint, TextRefused } from './embeddings.ts'
import { localEmbeddings } from './local-embeddings.ts'

export type EmbedderSettings = ({ type: 'openai-compatible' } & EmbeddingEndpoint) | { type: 'local' }

/** Embeddings as memory needs them: vectors of unit length. One bad text does not block the others. */
export type Embedder = {
  model: string
  /** A text that was refused gives undefined. Rejects when all texts were refused. */
  embed(texts: string[], signal: AbortSignal): Promise<(Float32Array | undefined)[]>
  /** Undefined when it takes too long or fails. Memory is then searched by words alone. */
  query(text: string): Promise<Float32Array | undefined>
  close(): Promise<void>
}

type Options = { log: Logger; now: () => number; proxy?: ProxySettings | undefined }

/** Text beyond this adds little. */
const MAX_CHARACTERS = 8_000
/** Even a small model takes so much. */
const SHORT_CHARACTERS = 1_000
const QUERY_TIMEOUT_MS = 3_000
/**
 * After a failure, queries do without vectors for a while, so that answers do not wait for a dead endpoint again and
 * again.
 */
const PAUSE_MS = 10_000

export function openEmbedder(settings: EmbedderSettings, options: Options): Embedder {
  return embedderOf(settings.type === 'local' ? localEmbeddings() : embeddingEndpoint(settings, options.proxy), options)
}

function embedderOf({ model, embed, close }: Embeddings, { log, now }: Options): Embedder {
  let pausedUntil = 0

  const embedUnit = async (texts: string[], signal: AbortSignal, length = MAX_CHARACTERS) => {
    const vectors = await embed(
      texts.map((text) => text.slice(0, length).toWellFormed()),
      signal,
    )
    return vectors.map(toUnitLength)
  }
  const embedShort = async (text: string, signal: AbortSignal) => (await embedUnit([text], signal, SHORT_CHARACTERS))[0]

  const embedEach = async (texts: string[], signal: AbortSignal) => {
    const vectors: (Float32Array | undefined)[] = []
    let refusal: unknown
    for (const text of texts) {
      const vector = await embedShort(text, signal).catch((error) => {
        if (!(error instanceof TextRefused)) throw error
        refusal = error
      })
      vectors.push(vector ?? undefined)
    }
    if (vectors.every((vector) => vector === undefined)) throw refusal
    return vectors
  }

  const embedAll: Embedder['embed'] = (texts, signal) =>
    embedUnit(texts, signal).catch((error) => {
      if (error instanceof TextRefused) return embedEach(texts, signal)
      throw error
    })

  return {
    model,
    embed: embedAll,
    async query(text) {
      if (now() < pausedUntil) return undefined
      try {
        const [vector] = await embedAll([text], AbortSignal.timeout(QUERY_TIMEOUT_MS))
        return vector
      } catch (err) {
        if (!(err instanceof TextRefused)) pausedUntil = now() + PAUSE_MS
        log.warn({ err, model }, 'the embedder does not answer: memory is searched by words alone')
        return undefined
      }
    },
    close,
  }
}

function toUnitLength(vector: number[]): Float32Array {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length))
}
