import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { readBody, startLocalServer } from './local-server.ts'

type EmbeddingRequest = { model: string; input: string[]; encoding_format: string; dimensions?: number }

export type EmbeddingServer = {
  /** The base URL of an OpenAI-compatible endpoint. */
  url: string
  requests: { path: string; headers: IncomingHttpHeaders; body: EmbeddingRequest }[]
  /** Answers in the server's place from now on. Undefined ends that. */
  instead(answer: ((response: ServerResponse) => void) | undefined): void
  /** Replies 400 to requests with such a text. */
  refuse(isRefused: (text: string) => boolean): void
  /** Reports this usage from now on. */
  report(usageOf: (texts: string[]) => object): void
  close(): Promise<void>
}

/** Words on the same line have the same meaning. */
const CONCEPTS = ['dog dogs puppy hound', 'car automobile vehicle', 'doctor physician', 'rain rainy wet'].map(
  (line) => new Set(line.split(' ')),
)

/** A small OpenAI-compatible embedding server that knows a few synonyms. Its vectors don't have unit length. */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  const requests: EmbeddingServer['requests'] = []
  let override: ((response: ServerResponse) => void) | undefined
  let isRefused = (_text: string) => false
  let usageOf: ((texts: string[]) => object) | undefined
  const server = await startLocalServer(async (request, response) => {
    const body = JSON.parse(await readBody(request)) as EmbeddingRequest
    requests.push({ path: request.url ?? '', headers: request.headers, body })
    if (override) return override(response)
    if (body.input.some(isRefused)) return response.writeHead(400).end('{}')
    const data = body.input.map((text, index) => ({ object: 'embedding', index, embedding: conceptsIn(text) }))
    response.setHeader('Content-Type', 'application/json')
    // Out of order, because the index says which is which.
    const usage = usageOf?.(body.input)
    response.end(JSON.stringify({ object: 'list', model: body.model, data: data.toReversed(), usage }))
  })
  return {
    url: `${server.url}/v1`,
    requests,
    instead(answer) {
      override = answer
    },
    refuse(refused) {
      isRefused = refused
    },
    report(usage) {
      usageOf = usage
    },
    close: server.close,
  }
}

/** How often each concept occurs in the text, and finally a little for everything else. */
export function conceptsIn(text: string): number[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? []
  return [...CONCEPTS.map((concept) => 3 * words.filter((word) => concept.has(word)).length), 0.3]
}
