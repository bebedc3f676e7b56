import { routes, type StoredFile } from './api.ts'
import { fill, type ListQuery } from './call.ts'
import { readData } from './reply.ts'
import type { RequestOptions, Sender } from './request.ts'

/** Files may be large: one try may take this time. */
const LONGEST_UPLOAD_MS = 3_600_000

/** A file, as browsers have it and `openAsBlob` of `node:fs` opens it, bytes, or a stream. */
export type FileSource = Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

export type UploadOptions = RequestOptions & {
  /** What it is, such as `image/png`. A Blob says so itself. */
  type?: string | undefined
}

export type DownloadOptions = RequestOptions & {
  /** The first byte and, unless the rest is wanted, the last. */
  range?: { start: number; end?: number }
}

/** The methods of files that send or answer with bytes. */
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
    /** Uploads a file. It is sent as it is read. A stream can be read once, so it is not sent again after a failure. */
    async create(content: FileSource, query: ListQuery<'createFile'> = {}, o: UploadOptions = {}): Promise<StoredFile> {
      const { type = content instanceof Blob ? content.type : '', ...options } = o
      const { method, path } = routes.createFile
      const name = query.name ?? (content instanceof File ? content.name : undefined)
      const headers = { 'Content-Type': type || 'application/octet-stream' }
      const once = content instanceof ReadableStream ? { retries: 0 } : {}
      const call = { method, path, query: { ...query, name }, content, headers }
      return readData(await send(call, { timeoutMs: LONGEST_UPLOAD_MS, ...once, ...options }))
    },
    /** Resolves when the bytes begin to come: read the body of the response as you like. */
    content(file_id: string, options: DownloadOptions = {}): Promise<Response> {
      return download('getFileContent', { file_id }, options)
    },
    /** The same for a remote agent, whose key is the token of its call. In a handler of `serveAgent`, `run.read` does it. */
    ofRun(agent_id: string, request_id: string, file_id: string, options: DownloadOptions = {}): Promise<Response> {
      return download('getRunFile', { agent_id, request_id, file_id }, options)
    },
  }
}
