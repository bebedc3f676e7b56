import { isText, storable, TEXT_TYPE } from '../../lib/text/text.ts'
import type { ToolAnswer } from '../outcome.ts'
import { type HttpTool, PARAMETER } from '../spec.ts'
import { connectionsOf } from './connections/connected.ts'
import { sendSigned } from './connections/send-signed.ts'
import { fillHeaders, SecretRefused, type Secrets } from './fill-secrets.ts'
import { type CallHeaders, MAX_RESULT_BYTES, type RunTool, requestError, ToolError, type ToolWorld } from './tool.ts'
import { fileNameOf, keepToolFile } from './tool-files.ts'

export function httpTool(tool: HttpTool, world: ToolWorld): RunTool {
  const connections = connectionsOf(tool)
  return {
    definition: { name: tool.name, description: tool.description, input_schema: tool.input_schema },
    retry: tool.retry ?? (tool.method === 'GET' ? 'safe' : 'never'),
    approval: tool.approval,
    connections,
    call: (args, headers) => callHttp(tool, connections, { args, headers }, world),
  }
}

async function callHttp(
  tool: HttpTool,
  connections: readonly string[],
  { args, headers: own }: { args: Record<string, unknown>; headers: CallHeaders },
  world: ToolWorld,
): Promise<ToolAnswer> {
  const { url, body } = requestOf(tool, args)
  // One limit for the call, even if it is sent twice.
  let timeout: AbortSignal | undefined
  const send = (tokens: Secrets) => {
    timeout ??= AbortSignal.timeout(tool.timeout_ms)
    const headers = headersOf(tool, url, body !== undefined, { ...world, tokens })
    // The tool's own headers take precedence.
    for (const [name, value] of Object.entries(own)) if (!headers.has(name)) headers.set(name, value)
    return world.fetch(url, {
      method: tool.method,
      headers,
      // Following a redirect would send the secrets in the headers to another host.
      redirect: 'manual',
      signal: AbortSignal.any([world.deadline.signal, timeout]),
      ...(body === undefined ? {} : { body }),
    })
  }
  try {
    const response = await sendSigned(connections, world, send)
    const encoding = response.headers.get('content-encoding') ?? 'identity'
    if (encoding.toLowerCase() !== 'identity') {
      await response.body?.cancel()
      throw new ToolError(`HTTP ${response.status}: the response is compressed (${encoding}), which was not asked for`)
    }
    const answer = await answerOf(response, tool.name, world)
    if (response.ok) return answer
    if (response.status >= 300 && response.status < 400) {
      throw new ToolError(`HTTP ${response.status}: redirects are not followed`)
    }
    throw new ToolError(`HTTP ${response.status}: ${answer.result.slice(0, 2_000)}`)
  } catch (error) {
    if (error instanceof ToolError || world.deadline.signal.aborted) throw error
    if (timeout?.aborted) throw new ToolError(`No answer within ${tool.timeout_ms} ms`)
    throw requestError(error, url)
  }
}

/**
 * Arguments that the URL names are inserted there. For GET and DELETE, the others become the query; otherwise they
 * become a JSON body.
 */
function requestOf(tool: HttpTool, args: Record<string, unknown>): { url: URL; body: string | undefined } {
  const question = tool.url.indexOf('?')
  const pathEnd = question === -1 ? tool.url.length : question
  const used = new Set<string>()
  const fill = (template: string, inPath: boolean) =>
    template.replace(PARAMETER, (_whole, name: string) => {
      used.add(name)
      return parameter(name, Object.hasOwn(args, name) ? args[name] : undefined, inPath)
    })
  const path = fill(tool.url.slice(0, pathEnd), true)
  // The URL parser resolves dot segments, so a value could otherwise change other parts of the path.
  if (path !== tool.url.slice(0, pathEnd) && path.split('/').some((segment) => segment === '.' || segment === '..')) {
    throw new ToolError("An argument can't change a part of the path to . or ..")
  }
  const url = new URL(path + fill(tool.url.slice(pathEnd), false))

  const rest = Object.entries(args).filter(([name]) => !used.has(name))
  if (tool.method !== 'GET' && tool.method !== 'DELETE') return { url, body: JSON.stringify(Object.fromEntries(rest)) }
  for (const [name, value] of rest) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null) url.searchParams.append(name, typeof item === 'object' ? JSON.stringify(item) : String(item))
    }
  }
  return { url, body: undefined }
}

function parameter(name: string, value: unknown, inPath: boolean): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw new ToolError(`arguments.${name} is required in the URL and must be a string, number or boolean`)
  }
  if (inPath && value === '') throw new ToolError(`arguments.${name} is a part of the path and can't be empty`)
  return encodeURIComponent(String(value).toWellFormed())
}

function headersOf(
  tool: HttpTool,
  url: URL,
  hasBody: boolean,
  { secrets, tokens }: Pick<ToolWorld, 'secrets'> & { tokens: Secrets },
): Headers {
  try {
    const headers = new Headers(fillHeaders(tool.headers, url, secrets, tokens))
    if (!headers.has('accept')) headers.set('accept', 'application/json, text/*;q=0.9, */*;q=0.1')
    if (hasBody && !headers.has('content-type')) headers.set('content-type', 'application/json')
    return headers
  } catch (error) {
    if (error instanceof SecretRefused) throw new ToolError(error.message)
    // The runtime's own message would contain the value.
    throw new ToolError('A header of this tool is not valid')
  }
}

/** The tool's answer. A reply that isn't text becomes a file, but an error is always text. */
async function answerOf(response: Response, tool: string, world: ToolWorld): Promise<ToolAnswer> {
  const body = new BodyPieces(response.body)
  const content_type = response.headers.get('content-type') ?? undefined
  const media_type = content_type?.split(';')[0]?.trim().toLowerCase()
  if (!response.ok || !isFile(await body.head(), media_type)) {
    return { result: world.redact(await readText(body, decoderOf(content_type), { mayBeCut: !response.ok })) }
  }
  const { text, file } = await keepToolFile({ pieces: body, media_type, name: fileNameOf(tool, media_type) }, world)
  return file ? { result: text, files: [file] } : { result: text }
}

const ALWAYS_FILES = /^(?:image|audio|video|font)\/|^application\/pdf$/

/** Many servers label text with a content type that isn't text, so the bytes are checked. */
function isFile(head: Uint8Array, media_type: string | undefined): boolean {
  if (head.length === 0 || (media_type !== undefined && TEXT_TYPE.test(media_type))) return false
  return (media_type !== undefined && ALWAYS_FILES.test(media_type)) || !isText(head)
}

/** The bytes of a reply. The first ones can be inspected in advance. */
class BodyPieces {
  readonly #rest: AsyncIterator<Uint8Array>
  #first: Promise<IteratorResult<Uint8Array>> | undefined

  constructor(body: Response['body']) {
    this.#rest = (body ?? nothing())[Symbol.asyncIterator]()
  }

  async head(): Promise<Uint8Array> {
    this.#first ??= this.#rest.next()
    const { done, value } = await this.#first
    return done ? new Uint8Array() : value
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      this.#first ??= this.#rest.next()
      for (let next = await this.#first; !next.done; next = await this.#rest.next()) yield next.value
    } finally {
      // Closes the socket, unless everything was read.
      await this.#rest.return?.()
    }
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Decodes with the reply's charset, or with UTF-8 if the charset is unknown. */
function decoderOf(content_type = ''): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(content_type)?.[1]
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** Reads a reply as text. For an error, the beginning is enough. */
async function readText(
  pieces: AsyncIterable<Uint8Array>,
  decoder: TextDecoder,
  { mayBeCut }: { mayBeCut: boolean },
): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of pieces) {
    size += chunk.byteLength
    // Leaving the loop closes the socket.
    if (size > MAX_RESULT_BYTES && mayBeCut) break
    if (size > MAX_RESULT_BYTES) throw new ToolError(`The response is larger than ${MAX_RESULT_BYTES / 1024} KiB`)
    chunks.push(chunk)
  }
  return storable(decoder.decode(Buffer.concat(chunks)))
}
