import { fileTooLarge, invalid } from '../../errors.ts'
import { FileName } from '../../files/file.ts'
import type { Parts } from '../../operation/parts.ts'
import { GuardedFetchError } from '../../security/outgoing/guarded-error.ts'
import { mediaTypeOf } from '../../storage/bytes/media-type.ts'
import { Upload } from '../../storage/bytes/upload.ts'

export type ReceiveParts = Pick<Parts, 'bytes' | 'config' | 'fetch'>

const MOST_REDIRECTS = 3

/** Fetches a file from a URL that a client sent, through the guard, which allows public addresses only. */
export async function fetchFile(
  url: string,
  field: string,
  { project_id, signal }: { project_id: string; signal: AbortSignal },
  { bytes, config, fetch }: ReceiveParts,
): Promise<Upload> {
  const { maxBytes } = config.files
  try {
    const response = await follow(url, (address) => fetch(address, { max_bytes: maxBytes, signal, owner: project_id }))
    if (!response.ok) {
      await response.body?.cancel()
      throw invalid({ field, error: `the server returned ${response.status}` })
    }
    const taken = await bytes.take(project_id, someOf(response, field))
    return new Upload(
      taken,
      await mediaTypeOf(taken.head, response.headers.get('content-type') ?? undefined),
      nameIn(url),
    )
  } catch (error) {
    throw signal.aborted
      ? invalid({
          field,
          error: `was not downloaded within ${config.server.requestTimeout / 1000} s (server.requestTimeout)`,
        })
      : told(error, field, maxBytes)
  }
}

/** The guard checks every redirect. */
async function follow(url: string, fetch: (url: string) => Promise<Response>): Promise<Response> {
  let address = withoutFragment(url)
  for (let redirects = 0; ; redirects++) {
    const response = await fetch(address)
    const next = response.headers.get('location')
    const isRedirect = response.status >= 300 && response.status <= 399 && next !== null
    if (!isRedirect || redirects === MOST_REDIRECTS || !URL.canParse(next, address)) return response
    await response.body?.cancel()
    address = withoutFragment(next, address)
  }
}

/** A fragment is never sent to a server. */
function withoutFragment(url: string, base?: string): string {
  const address = new URL(url, base)
  address.hash = ''
  return address.href
}

async function* someOf({ body }: Response, field: string): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.length
    yield piece
  }
  if (size === 0) throw invalid({ field, error: 'the file is empty' })
}

/** The name at the end of a URL, if there is one. */
function nameIn(url: string): string | undefined {
  try {
    const last = decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '')
    return FileName.safeParse(last).success ? last : undefined
  } catch {
    return undefined
  }
}

/** The guard's own message could reveal what is behind a URL, so clients get a different one. */
function told(error: unknown, field: string, maxBytes: number): unknown {
  if (!(error instanceof GuardedFetchError)) return error
  return error.code === 'too_large' ? fileTooLarge(maxBytes) : invalid({ field, error: error.message })
}
