import { z } from 'zod'
import { withoutEndingSlashes } from '../../lib/text/text.ts'

/** Turns texts into vectors. */
export type Embeddings = {
  /** Names the space of the vectors. Vectors of different models are never compared. */
  model: string
  embed(texts: string[], signal: AbortSignal): Promise<number[][]>
  close(): Promise<void>
}

/** The texts were refused, perhaps because one of them is too long. The same texts would be refused again. */
export class TextRefused extends Error {}

/** The operator chose this endpoint, as with a model provider, so private addresses are allowed. */
export type EmbeddingEndpoint = {
  baseUrl: string
  model: string
  apiKey?: string | undefined
  dimensions?: number | undefined
}

const Answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()).min(1).max(8192) })),
})

const REFUSALS = new Set([400, 413, 422])

/** `POST {baseUrl}/embeddings`, the API of OpenAI, Ollama, vLLM, llama.cpp and most gateways. */
export function embeddingEndpoint({ baseUrl, model, apiKey, dimensions }: EmbeddingEndpoint): Embeddings {
  const url = `${withoutEndingSlashes(baseUrl)}/embeddings`
  return {
    model: vectorName(model, dimensions),
    async embed(texts, signal) {
      const response = await fetch(url, {
        method: 'POST',
        // A redirect would send the key to another address.
        redirect: 'error',
        signal,
        headers: {
          'Content-Type': 'application/json',
          ...(apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify({ model, input: texts, encoding_format: 'float', ...(dimensions && { dimensions }) }),
      })
      if (!response.ok) {
        await response.body?.cancel()
        const message = `the embedding endpoint answered ${response.status}`
        throw REFUSALS.has(response.status) ? new TextRefused(message) : new Error(message)
      }
      return vectorsOf(await response.json(), texts.length)
    },
    async close() {},
  }
}

function vectorsOf(body: unknown, count: number): number[][] {
  const answer = Answer.safeParse(body)
  if (!answer.success) throw new Error('the embedding endpoint sent something that is not a list of embeddings')
  const vectors = answer.data.data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding)
  const lengths = new Set(vectors.map(({ length }) => length))
  if (vectors.length !== count || lengths.size !== 1) {
    throw new Error(`the embedding endpoint sent ${vectors.length} embeddings for ${count} texts, or of unequal length`)
  }
  return vectors
}

/**
 * Vectors are compared only if their names are equal. A model called `x:512` must not have the name of the model `x`
 * with 512 dimensions.
 */
function vectorName(model: string, dimensions: number | undefined): string {
  if (dimensions !== undefined) return `${model}:${dimensions}`
  return /:\d*$/.test(model) ? `${model}:` : model
}
