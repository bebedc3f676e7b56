import { z } from 'zod'
import type { Embeddings } from './embedder.ts'

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

/** `POST {baseUrl}/embeddings`, as OpenAI, Ollama, vLLM, llama.cpp and most gateways know it. */
export function embeddingEndpoint({ baseUrl, model, apiKey, dimensions }: EmbeddingEndpoint): Embeddings {
  const url = `${baseUrl.replace(/\/+$/, '')}/embeddings`
  return {
    model: dimensions === undefined ? model : `${model}:${dimensions}`,
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
        throw new Error(`the embedding endpoint answered ${response.status}`)
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
