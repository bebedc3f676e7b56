import type { Logger } from '../../lib/log.ts'
import { type EmbeddingEndpoint, embeddingEndpoint } from './embeddings.ts'
import { localEmbeddings } from './local-embeddings.ts'

/** What turns texts into vectors. */
export type Embeddings = {
  /** Says which space the vectors are of: those of different models are never compared. */
  model: string
  embed(texts: string[], signal: AbortSignal): Promise<number[][]>
  close(): Promise<void>
}

export type EmbedderSettings = ({ type: 'openai-compatible' } & EmbeddingEndpoint) | { type: 'local' }

/** The same with what memory needs: vectors have unit length, and a query never fails. */
export type Embedder = {
  model: string
  embed(texts: string[], signal: AbortSignal): Promise<Float32Array[]>
  /** Undefined when it takes too long or went wrong: then memory is searched by words alone. */
  query(text: string): Promise<Float32Array | undefined>
  close(): Promise<void>
}

type Options = { log: Logger; now: () => number }

/** A text beyond this adds little, and an endpoint may refuse it. */
const MAX_CHARACTERS = 8_000
const QUERY_TIMEOUT_MS = 3_000
/** After a failure queries go without vectors for a while: no answer should wait for a dead endpoint again and again. */
const PAUSE_MS = 10_000

export function openEmbedder(settings: EmbedderSettings, options: Options): Embedder {
  return embedderOf(settings.type === 'local' ? localEmbeddings() : embeddingEndpoint(settings), options)
}

function embedderOf({ model, embed, close }: Embeddings, { log, now }: Options): Embedder {
  let pausedUntil = 0
  const embedUnit = async (texts: string[], signal: AbortSignal) => {
    const vectors = await embed(
      texts.map((text) => text.slice(0, MAX_CHARACTERS).toWellFormed()),
      signal,
    )
    return vectors.map(toUnitLength)
  }
  return {
    model,
    embed: embedUnit,
    async query(text) {
      if (now() < pausedUntil) return undefined
      try {
        const [vector] = await embedUnit([text], AbortSignal.timeout(QUERY_TIMEOUT_MS))
        return vector
      } catch (err) {
        pausedUntil = now() + PAUSE_MS
        log.warn({ err, model }, 'the embedder does not answer: memory is searched by words alone for a while')
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
