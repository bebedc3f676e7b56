import type {
  CallToolRequestParams,
  CallToolResult,
  Notification,
  ProgressToken,
  Tool,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { badRequest, notFound } from '../../../errors.ts'
import { isObject } from '../../../lib/json.ts'
import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import { covers } from '../../../security/permissions.ts'
import { validate } from '../../input/validate.ts'
import type { NamedAgent } from '../dialect.ts'
import type { MadeFile } from '../made-files.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { contentOfFiles } from './answer-files.ts'

/** What the protocol says about one tool call. */
export type ToolRequest = {
  /** Aborted when the client no longer needs the answer. */
  signal: AbortSignal
  progressToken: ProgressToken | undefined
  notify(notification: Notification): Promise<void>
}

/** No agent can have this name, because agents' names have no underscore. */
const SEARCH_MEMORY = 'search_memory'
const PAGE = 100
/** Progress with text is sent at most this often. */
const PROGRESS_INTERVAL_MS = 100

const Attached = z.strictObject({
  file_id: z.string().optional().describe('ID of an uploaded file'),
  url: z.string().optional().describe('Or a URL to download the file from'),
  data: z.string().optional().describe("Or the file's bytes in base64"),
  media_type: z.string().optional().describe('The media type of `data`'),
  name: z.string().optional().describe('The file name of `data`'),
})

const AskAgent = z.strictObject({
  message: z.string().describe('The message to the agent'),
  session_id: z.string().optional().describe('Messages with the same session_id belong to one conversation'),
  attachments: z.array(Attached).optional().describe('Files for the agent: images, PDFs and text files'),
})

const SearchMemory = z.strictObject({
  query: z.string().describe('What to search for'),
  session_id: z.string().optional().describe('Only memories of this session'),
  limit: z.int().optional().describe('How many memories to return. Default: 10'),
})

/** The agents that the client may invoke. On an agent's path, only that agent and its memory. */
export async function listTools(calls: OperationCalls, cursor = '0'): Promise<{ tools: Tool[]; nextCursor?: string }> {
  const { agent, actor } = calls.runner
  if (agent) {
    const own = toolOf({ ...agent, output_schema: await outputSchemaOf(calls, agent.id) })
    return { tools: covers(actor.permissions, 'read') ? [own, MEMORY_TOOL] : [own] }
  }
  const offset = offsetOf(cursor)
  const { data, pagination } = await calls.run<AgentTool[]>('listInvocable', {
    query: { limit: PAGE, offset, sort: 'name' },
  })
  return { tools: data.map(toolOf), ...(pagination.has_more && { nextCursor: String(offset + data.length) }) }
}

/** Our cursors are offsets. */
export function offsetOf(cursor: string): number {
  if (!/^\d{1,9}$/.test(cursor)) throw badRequest('The cursor is not valid. Start again without one.')
  return Number(cursor)
}

/** Rejects with an ApiError. */
export async function callTool(
  calls: OperationCalls,
  { name, arguments: args = {} }: CallToolRequestParams,
  request: ToolRequest,
): Promise<CallToolResult> {
  const invocation = invocationOf(calls, name, args)
  if (!invocation) return searchMemory(calls, calls.runner.agent?.id ?? '', args)
  const { signal, progressToken, notify } = request
  const { status, data } = await calls.run<Record<string, unknown>>(
    'invokeAgent',
    { ...invocation, mode: progressToken === undefined ? 'reply' : 'stream' },
    {
      onHangUp: (listener) => (signal.aborted ? listener() : signal.addEventListener('abort', listener)),
      emit: progressToken === undefined ? undefined : progressReporter(progressToken, notify),
    },
  )
  if (status !== 202) return answerOf(data, calls)
  // The run continues without this client.
  const why = data['reason'] ?? whatIsAsked(data['approvals'] as AskedSignIn[] | undefined)
  const content = [textOf(`Receipt ${data['request_id']}: ${why}`)]
  // A tool with an output schema can only answer with such an object or an error.
  const schema = await outputSchemaOf(calls, invocation.params.agent_id)
  return isObjectSchema(schema) ? { content, isError: true } : { content, structuredContent: data }
}

/** What has to happen before the agent can answer. */
function whatIsAsked(approvals: readonly AskedSignIn[] = []): string {
  return signInWords(approvals) ?? 'A person must decide before the agent can answer.'
}

type AgentTool = Pick<NamedAgent, 'name' | 'description'> & { output_schema: Record<string, unknown> | null }

async function outputSchemaOf(calls: OperationCalls, agent_id: string): Promise<AgentTool['output_schema']> {
  const { data } = await calls.run<AgentTool[]>('listInvocable', { query: { agent_id } })
  return data[0]?.output_schema ?? null
}

/** The protocol requires structured answers to be objects. */
function isObjectSchema(schema: AgentTool['output_schema']): schema is NonNullable<Tool['outputSchema']> {
  return schema?.['type'] === 'object'
}

/** The invocation that a tool runs. Undefined for the tool that searches memory. */
export function invocationOf({ runner: { agent } }: OperationCalls, name: string, args: unknown) {
  if (agent && name === SEARCH_MEMORY) return undefined
  // Only the agent in the path has passed the checks.
  if (agent && name !== agent.name) throw notFound('Tool', name)
  const { message, session_id, attachments } = validate(AskAgent, args)
  const context = session_id === undefined ? {} : { session_id }
  return {
    params: { agent_id: agent?.id ?? name },
    body: { message, context, ...(attachments && { attachments }) },
  }
}

type Answer = Record<string, unknown> & { files?: MadeFile[] }

/** The agent's answer. An object is returned as the structured content itself, as the tool's output schema says. */
export async function answerOf(data: Answer, calls: OperationCalls): Promise<CallToolResult> {
  const content = [textOf(String(data['response'])), ...(await contentOfFiles(data.files ?? [], calls))]
  const { output, response: _response, ...invocation } = data
  if (!isObject(output)) return { content, structuredContent: data }
  return { content, structuredContent: output, _meta: { 'moorage/invocation': invocation } }
}

async function searchMemory(calls: OperationCalls, agent_id: string, args: unknown): Promise<CallToolResult> {
  const { session_id, ...wanted } = validate(SearchMemory, args)
  const body = { ...wanted, context: session_id === undefined ? {} : { session_id } }
  const { data } = await calls.run<{ content: string; created_at: string }[]>('searchMemory', {
    params: { agent_id },
    body,
  })
  const found = data.map(({ content, created_at }) => textOf(`${created_at} ${content}`))
  return { content: found, structuredContent: { data } }
}

function toolOf({ name, description, output_schema }: AgentTool): Tool {
  return {
    name,
    description: description || `Sends a message to the agent ${name}`,
    inputSchema: schemaOf(AskAgent),
    ...(isObjectSchema(output_schema) && { outputSchema: output_schema }),
    annotations: { openWorldHint: true },
    // The SDK leaves this field out if the revision has no tasks.
    execution: { taskSupport: 'optional' },
  }
}

const MEMORY_TOOL: Tool = {
  name: SEARCH_MEMORY,
  description: "Searches the agent's memories, best matches first",
  inputSchema: schemaOf(SearchMemory),
  annotations: { readOnlyHint: true },
}

function schemaOf(shape: z.ZodType): Tool['inputSchema'] {
  return z.toJSONSchema(shape, { io: 'input' }) as Tool['inputSchema']
}

function textOf(text: string) {
  return { type: 'text' as const, text }
}

/** Reports the progress of a call to its client: the agent's text, and the tools that it calls. */
function progressReporter(
  progressToken: ProgressToken,
  notify: (notification: Notification) => Promise<void>,
): (event: StreamEvent) => void {
  let progress = 0
  let told_at = Number.NEGATIVE_INFINITY
  let unsaid = ''
  const tell = (message: string) => {
    told_at = performance.now()
    progress += 1
    // A client that has disconnected can't be notified. Its run is cancelled separately.
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => {})
  }
  return ({ event, data }) => {
    if (event === 'tool_call') return tell(`Calling the tool ${(data as { name: string }).name}`)
    if (event === 'waiting') {
      const { reason, approvals = [] } = data as { reason?: string; approvals?: AskedSignIn[] }
      return tell(reason ?? signInWords(approvals) ?? 'Waiting for a person to decide')
    }
    if (event === 'queued') {
      return tell(`Waiting for another run of this session (position ${(data as { position: number }).position})`)
    }
    if (event !== 'delta') return
    unsaid += (data as { text: string }).text
    if (performance.now() - told_at < PROGRESS_INTERVAL_MS) return
    tell(unsaid)
    unsaid = ''
  }
}
