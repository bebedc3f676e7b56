import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import { storable } from '../../../lib/text/text.ts'
import type { Attachment } from '../../attachments/attachment.ts'
import type { ToolAnswer } from '../../outcome.ts'
import { schemaProblem } from '../../schemas/schema-size.ts'
import type { McpTool, Retry } from '../../spec.ts'
import { connectionsOf, type MissingGrant } from '../connections/connected.ts'
import { sendSigned } from '../connections/send-signed.ts'
import { tokensFor } from '../connections/tokens-for.ts'
import { fillHeaders, requireHost, type Secret, SecretRefused } from '../fill-secrets.ts'
import {
  type CallHeaders,
  type Fetch,
  MAX_RESULT_BYTES,
  NeedsGrant,
  type RunTool,
  requestError,
  ToolError,
  type ToolWorld,
} from '../tool.ts'
import { decoded, fileNameOf, keepToolFile, nameInAddress } from '../tool-files.ts'
import type { McpCall } from './mcp-connection.ts'
import type { McpServers, McpVisit } from './mcp-servers.ts'

export type McpToolset = { tools: RunTool[]; close(): Promise<void> }

/** Opens a server's tools for one run. Throws ToolError if the server can't be used. */
export async function openMcp(server: McpTool, servers: McpServers, world: ToolWorld): Promise<McpToolset> {
  const url = new URL(server.url)
  let visit: McpVisit | undefined
  try {
    const signedIn = server.connection === undefined ? undefined : await world.connections.use(server.connection)
    if (signedIn && signedIn.state !== 'ready')
      return { tools: [signInTool(server, { isSignedIn: false }, world)], close: async () => {} }
    const connections = connectionsOf(server)
    const tokens = await tokensFor(connections, world)
    const headers = fillHeaders(server.headers, url, world.secrets, tokens)
    const own = server.connection === undefined ? world : { ...world, fetch: signedFetch(server.connection, world) }
    visit = servers.visit(server, headers, own, signedIn?.grant_id)
    const tools = toolsOf(await visit.listTools(), { visit, server, connections }, own)
    const signIn = signedIn ? [signInTool(server, { isSignedIn: true }, world)] : []
    return { tools: [...tools, ...signIn], close: visit.leave.bind(visit) }
  } catch (error) {
    await visit?.leave()
    if (world.deadline.signal.aborted) throw error
    if (error instanceof SecretRefused) throw new ToolError(error.message)
    const failure = mcpError(error, url)
    if (!(failure instanceof NeedsGrant)) throw failure
    const { missing } = failure
    return { tools: [signInTool(server, { isSignedIn: false, missing }, world)], close: async () => {} }
  }
}

type OpenServer = { visit: McpVisit; server: McpTool; connections: readonly string[] }

function toolsOf(listed: readonly Tool[], { visit, server, connections }: OpenServer, world: ToolWorld): RunTool[] {
  const allowed = server.allow && new Set(server.allow)
  return listed.flatMap((tool): RunTool[] => {
    if (allowed && !allowed.has(tool.name)) return []
    const problem = schemaProblem(tool.inputSchema)
    if (problem) {
      const { origin } = new URL(server.url)
      world.log('warn', `Tool ${tool.name} left out: its inputSchema ${problem}`, { url: origin })
      return []
    }
    const description = world.redact(tool.description ?? '').slice(0, 4096)
    const definition = { name: tool.name, description, input_schema: tool.inputSchema }
    const retry = server.retry ?? annotatedRetry(tool)
    const call = (args: Record<string, unknown>, headers: CallHeaders) =>
      callTool(visit, server, { tool, args, headers }, world)
    return [{ definition, retry, approval: server.approval, connections, call }]
  })
}

/** What the server's annotations say about repeating a call of the tool. */
function annotatedRetry({ annotations }: Tool): Retry {
  return annotations?.readOnlyHint || annotations?.idempotentHint ? 'safe' : 'never'
}

async function callTool(visit: McpVisit, server: McpTool, call: McpCall, world: ToolWorld): Promise<ToolAnswer> {
  let result: CallToolResult
  try {
    result = await visit.callTool(call, server.timeout_ms)
  } catch (error) {
    if (world.deadline.signal.aborted) throw error
    const failure = mcpError(error, new URL(server.url))
    if (failure instanceof NeedsGrant) throw failure
    throw new ToolError(world.redact(failure.message))
  }
  const texts = textsOf(result).map((text) => world.redact(storable(text)))
  if (Buffer.byteLength(texts.join('\n')) > MAX_RESULT_BYTES) {
    throw new ToolError(`The result is larger than ${MAX_RESULT_BYTES / 1024} KiB`)
  }
  if (result.isError) throw new ToolError(texts.join('\n').slice(0, 2_000))
  const files = await keepFiles(result, call.tool.name, texts, world)
  return { result: texts.join('\n'), ...(files.length > 0 && { files }) }
}

/** A text for each part of the result. */
function textsOf({ content = [], structuredContent }: CallToolResult): string[] {
  if (content.length === 0 && structuredContent !== undefined) return [JSON.stringify(structuredContent)]
  return content.map(partText)
}

type Part = { type: string; text?: unknown; data?: unknown; mimeType?: unknown; resource?: unknown; uri?: unknown }

function partText(part: Part): string {
  if (typeof part.text === 'string') return part.text
  const { text, uri } = (part.resource ?? part) as { text?: unknown; uri?: unknown }
  if (typeof text === 'string') return text
  return typeof uri === 'string' ? `[${part.type} ${uri}]` : `[${part.type}]`
}

const MOST_FILES = 20

/** Stores images, audio and embedded bytes, and inserts their names at their positions in the result. */
async function keepFiles({ content = [] }: CallToolResult, tool: string, texts: string[], world: ToolWorld) {
  const files: Attachment[] = []
  for (const [i, part] of content.entries()) {
    const bytes = bytesIn(part as Part)
    if (!bytes) continue
    const { data, media_type, uri } = bytes
    if (files.length === MOST_FILES) throw new ToolError(`A result can contain at most ${MOST_FILES} files`)
    const name = (uri === undefined ? undefined : nameInAddress(uri)) ?? fileNameOf(tool, media_type)
    const { text, file } = await keepToolFile({ pieces: decoded(data), media_type, name }, world)
    texts[i] = text
    if (file) files.push(file)
  }
  return files
}

function bytesIn(part: Part): { data: string; media_type: string | undefined; uri: string | undefined } | undefined {
  const { blob, mimeType, uri } = (part.resource ?? part) as { blob?: unknown; mimeType?: unknown; uri?: unknown }
  const data = part.resource === undefined ? part.data : blob
  if (typeof data !== 'string') return undefined
  const media_type = typeof mimeType === 'string' ? mimeType : undefined
  return { data, media_type, uri: typeof uri === 'string' ? uri : undefined }
}

const NO_OAUTH =
  'if it uses OAuth, create a connection and set it as `connection` of the tool; otherwise send a token in `headers`'

/**
 * A JSON-RPC error contains the server's message to the model. For other errors, only the host and the status are
 * shown.
 */
function mcpError(error: unknown, url: URL): ToolError {
  const { code, status, message, cause } = error as { [key: string]: unknown; message?: string }
  if (error instanceof ToolError) return error
  if (typeof code === 'number') return new ToolError(String(message).slice(0, 2_000))
  if (status === 401) return new ToolError(`The MCP server ${url.host} answered HTTP 401: ${NO_OAUTH}`)
  if (typeof status === 'number') return new ToolError(`The MCP server ${url.host} answered HTTP ${status}`)
  if (code === 'REQUEST_TIMEOUT') return new ToolError(`The MCP server ${url.host} did not answer in time`)
  return cause instanceof Error ? mcpError(cause, url) : requestError(error, url)
}

/**
 * A server says which tools it has only to users who are signed in. Until then the model is offered this tool: its call
 * waits for the sign-in. Afterwards it is hidden, and answers the call that was waiting. With `missing`, the user is
 * signed in, and the server asks for more scopes.
 */
function signInTool(
  { connection: name = '', url }: McpTool,
  { isSignedIn, missing }: { isSignedIn: boolean; missing?: MissingGrant | undefined },
  world: ToolWorld,
): RunTool {
  const { host } = new URL(url)
  return {
    definition: {
      name: `connect_${name}`,
      description: `Signs the user in to ${name} (${host}). Its tools can be used afterwards. Call it when the user asks for something that needs ${name}.`,
      input_schema: { type: 'object', properties: {}, additionalProperties: false },
    },
    retry: 'safe',
    approval: 'never',
    connections: [name],
    isHidden: isSignedIn,
    async call() {
      if (missing) throw new NeedsGrant(missing)
      await tokensFor([name], world)
      const when = isSignedIn ? 'Use its tools now' : 'Its tools can be used with the next message'
      return { result: `The user is signed in to ${name}. ${when}.` }
    },
  }
}

/** Sends the token with each request. */
function signedFetch(name: string, world: ToolWorld): Fetch {
  return (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    return sendSigned([name], world, (tokens) => {
      const { value, hosts } = tokens[name] as Secret
      requireHost(`connection ${name}`, { hosts }, url)
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${value}`)
      return world.fetch(input, { ...init, headers })
    })
  }
}
