import { z } from 'zod'
import { parseIfJson } from '../../lib/json.ts'
import { openSockets, type ProviderSockets, type ProxySettings } from '../providers/provider-sockets.ts'
import { wholeReply } from '../providers/whole-reply.ts'

/** The vectors of texts, and how many tokens they cost, if known. */
export type EmbeddingResult = { vectors: number[][]; input_tokens?: number | undefined }

/** Turns texts into vectors. */
export type Embeddings = {
  /** Names the vector space. Vectors of different models are never compared. */
  model: string
  /** The model as its provider calls it. */
  name: string
  embed(texts: string[], signal: AbortSignal): Promise<EmbeddingResult>
  close(): Promise<void>
}

/** The texts were refused, perhaps because one is too long. Sending them again would fail again. */
export class TextRefused extends Error {}

/** The operator chose this endpoint, like a model provider, so private addresses are allowed. */
export type EmbeddingEndpoint = {
  baseUrl: string
  model: string
  apiKey?: string | undefined
  dimensions?: number | undefined
}

const Answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()).min(1).max(8192) })),
  usage: z
    .object({ prompt_tokens: z.number().min(0).max(1e12) })
    .optional()
    .catch(undefined),
})

/** Room for a few hundred vectors of 8192 numbers. */
const MAX_BYTES = 64 * 1024 * 1024

const REFUSALS = new Set([400, 413, 422])

/** `POST {baseUrl}/embeddings`, the API of OpenAI, Ollama, vLLM, llama.cpp and most gateways. */
export function embeddingEndpoint(endpoint: EmbeddingEndpoint, proxy?: ProxySettings): Embeddings {
  const { baseUrl, model, apiKey, dimensions } = endpoint
  let sockets: ProviderSockets | undefined
  return {
    model: vectorName(model, dimensions),
    name: model,
    async embed(texts, signal) {
      // Opened for the first text, so that startup doesn't wait for the HTTP client.
      sockets ??= openSockets(baseUrl, proxy)
      const headers = {
        'content-type': 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      }
      const wishes = { model, input: texts, encoding_format: 'float', ...(dimensions && { dimensions }) }
      const asked = { method: 'POST' as const, path: '/embeddings', headers, body: JSON.stringify(wishes), signal }
      const { status, text } = await wholeReply(sockets, asked, MAX_BYTES)
      if (status < 200 || status > 299) {
        const message = `the embedding endpoint answered ${status}`
        throw REFUSALS.has(status) ? new TextRefused(message) : new Error(message)
      }
      return readVectors(text, texts.length)
    },
    close: async () => sockets?.close(),
  }
}

function readVectors(text: string, count: number): EmbeddingResult {
  const answer = Answer.safeParse(parseIfJson(text))
  if (!answer.success) throw new Error('the embedding endpoint returned something that is not a list of embeddings')
  const vectors = answer.data.data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding)
  const lengths = new Set(vectors.map(({ length }) => length))
  if (vectors.length !== count || lengths.size !== 1) {
    throw new Error(
      `the embedding endpoint returned ${vectors.length} embeddings for ${count} texts, or embeddings of different lengths`,
    )
  }
  const reported = answer.data.usage?.prompt_tokens
  return { vectors, ...(reported !== undefined && { input_tokens: Math.round(reported) }) }
}

/**
 * Vectors are compared only if their names are equal. A model called `x:512` must not have the name of the model `x`
 * with 512 dimensions.
 */
function vectorName(model: string, dimensions: number | undefined): string {
  if (dimensions !== undefined) return `${model}:${dimensions}`
  return /:\d*$/.test(model) ? `${model}:` : model
}
