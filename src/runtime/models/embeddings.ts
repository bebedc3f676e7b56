import { z } from 'zod'

/** What turns texts into vectors. */
export type Embeddings = {
  /** Says which space the vectors are of: those of different models are never compared. */
  model: string
  embed(texts: string[], signal: AbortSignal): Promise<number[][]>
  close(): Promise<void>
}

/** The texts were refused, perhaps one of them as too long; the same texts would be refused again. */
export class TextRefused extends Error {}

/** The operator's choice, like a model provider: it is not guarded against private addresses. */
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

/** `POST {baseUrl}/embeddings`, as OpenAI, Ollama, vLLM, llama.cpp and most gateways know it. */
export function embeddingEndpoint({ baseUrl, model, apiKey, dimensions }: EmbeddingEndpoint): Embeddings {
  const url = `${baseUrl.replace(/\/+$/, '')}/embeddings`
  return {
    model: vectorName(model, dimensions),
    async embed(texts, signal) {
      const response = await fetch(url, {
        method: 'POST',
        // A redirect would carry the key to wherever it points.
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

/** Vectors are compared only under one name: a model called `x:512` is not the model `x` cut to 512 dimensions. */
function vectorName(model: string, dimensions: number | undefined): string {
  if (dimensions !== undefined) return `${model}:${dimensions}`
  return /:\d*$/.test(model) ? `${model}:` : model
}
