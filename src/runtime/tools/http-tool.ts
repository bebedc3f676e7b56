import { storable } from '../../lib/text/text.ts'
import { type HttpTool, PARAMETER } from '../spec.ts'
import { fillHeaders, SecretRefused } from './fill-secrets.ts'
import { type CallHeaders, MAX_RESULT_BYTES, type RunTool, requestError, ToolError, type ToolWorld } from './tool.ts'

export function httpTool(tool: HttpTool, world: ToolWorld): RunTool {
  return {
    definition: { name: tool.name, description: tool.description, input_schema: tool.input_schema },
    retry: tool.retry ?? (tool.method === 'GET' ? 'safe' : 'never'),
    approval: tool.approval,
    call: (args, headers) => callHttp(tool, args, headers, world),
  }
}

async function callHttp(
  tool: HttpTool,
  args: Record<string, unknown>,
  own: CallHeaders,
  world: ToolWorld,
): Promise<string> {
  const { url, body } = requestOf(tool, args)
  const headers = headersOf(tool, url, body !== undefined, world)
  // A header of the tool's own wins.
  for (const [name, value] of Object.entries(own)) if (!headers.has(name)) headers.set(name, value)
  const timeout = AbortSignal.timeout(tool.timeout_ms)
  try {
    const response = await world.fetch(url, {
      method: tool.method,
      headers,
      // A redirect would send the secrets in the headers to another host.
      redirect: 'manual',
      signal: AbortSignal.any([world.deadline.signal, timeout]),
      ...(body === undefined ? {} : { body }),
    })
    const text = world.redact(await readText(response))
    if (response.ok) return text
    if (response.status >= 300 && response.status < 400) {
      throw new ToolError(`HTTP ${response.status}: redirects are not followed`)
    }
    throw new ToolError(`HTTP ${response.status}: ${text.slice(0, 2_000)}`)
  } catch (error) {
    if (error instanceof ToolError || world.deadline.signal.aborted) throw error
    if (timeout.aborted) throw new ToolError(`No answer within ${tool.timeout_ms} ms`)
    throw requestError(error, url)
  }
}

/**
 * Arguments that the URL names are filled in there. The others go to the query for GET and DELETE, and otherwise to a
 * JSON body.
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
  // The URL parser resolves dot segments, so a value could leave the path it was put in.
  if (path !== tool.url.slice(0, pathEnd) && path.split('/').some((segment) => segment === '.' || segment === '..')) {
    throw new ToolError('An argument may not turn a part of the path into . or ..')
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
    throw new ToolError(`arguments.${name} is needed in the URL and must be a string, number or boolean`)
  }
  if (inPath && value === '') throw new ToolError(`arguments.${name} is a part of the path and may not be empty`)
  return encodeURIComponent(String(value).toWellFormed())
}

function headersOf(tool: HttpTool, url: URL, hasBody: boolean, { secrets }: ToolWorld): Headers {
  try {
    const headers = new Headers(fillHeaders(tool.headers, url, secrets))
    if (!headers.has('accept')) headers.set('accept', 'application/json, text/*;q=0.9, */*;q=0.1')
    if (hasBody && !headers.has('content-type')) headers.set('content-type', 'application/json')
    return headers
  } catch (error) {
    if (error instanceof SecretRefused) throw new ToolError(error.message)
    // The platform's message would contain the value.
    throw new ToolError('A header of this tool is not valid')
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    // Leaving the loop cancels the body, which closes the socket.
    if (size > MAX_RESULT_BYTES) throw new ToolError(`The response is larger than ${MAX_RESULT_BYTES / 1024} KiB`)
    chunks.push(chunk)
  }
  return storable(new TextDecoder().decode(Buffer.concat(chunks)))
}
