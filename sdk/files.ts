import { routes, type StoredFile } from './api.ts'
import { fill, type ListQuery } from './call.ts'
import { readData } from './reply.ts'
import type { RequestOptions, Sender } from './request.ts'

/** The timeout of one attempt, because files can be large. */
const LONGEST_UPLOAD_MS = 3_600_000

/** A file (a `Blob`, from a browser or from `openAsBlob` in `node:fs`), bytes, or a stream. */
export type FileSource = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

export type UploadOptions = RequestOptions & {
  /** The media type, such as `image/png`. Default: the Blob's type. */
  type?: string | undefined
}

export type DownloadOptions = RequestOptions & {
  /** The first byte, and optionally the last one. Default: up to the end. */
  range?: { start: number; end?: number }
}

/** The file methods that send or return bytes. */
export function fileMethods({ send, open }: Sender) {
  const download = (
    operation: 'getFileContent' | 'getRunFile',
    params: Record<string, string>,
    { range, ...options }: DownloadOptions,
  ) => {
    const { method, path } = routes[operation]
    const headers = { Accept: '*/*', ...(range && { Range: `bytes=${range.start}-${range.end ?? ''}` }) }
    return open({ method, path: fill(path, params), headers }, options)
  }
  return {
    /**
     * Uploads a file while reading it. The upload of a stream isn't retried, because a stream can be read only once.
     */
    async create(content: FileSource, query: ListQuery<'createFile'> = {}, o: UploadOptions = {}): Promise<StoredFile> {
      const { type = content instanceof Blob ? content.type : '', ...options } = o
      const { method, path } = routes.createFile
      const name = query.name ?? (content instanceof File ? content.name : undefined)
      const headers = { 'Content-Type': type || 'application/octet-stream' }
      const once = content instanceof ReadableStream ? { retries: 0 } : {}
      const call = { method, path, query: { ...query, name }, content, headers }
      return readData(await send(call, { timeoutMs: LONGEST_UPLOAD_MS, ...once, ...options }))
    },
    /** Resolves when the first bytes arrive. Read them from the response's body. */
    content(file_id: string, options: DownloadOptions = {}): Promise<Response> {
      return download('getFileContent', { file_id }, options)
    },
    /** The same for a remote agent, with its call's token as the key. In a `serveAgent` handler, use `run.read`. */
    ofRun(agent_id: string, request_id: string, file_id: string, options: DownloadOptions = {}): Promise<Response> {
      return download('getRunFile', { agent_id, request_id, file_id }, options)
    },
  }
}
