import { z } from 'zod'
import { NOT_ONE_LINE, ONE_LINE } from '../lib/text/text.ts'
import { type ApprovalRules, Expiry, ToolApproval } from './approvals/approval-policy.ts'
import type { ModelNames } from './models/model.ts'
import type { WantedOutput } from './output/wanted-output.ts'
import { AgentTool, ToolLabel } from './tools/called-agent.ts'

/** Headers that would let a tool pretend to be another host, or break the framing of its request. */
const RESERVED_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const HeaderName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, 'must be a header name')
  .refine(
    (name) => !RESERVED_HEADERS.has(name.toLowerCase()) && !name.toLowerCase().startsWith('proxy-'),
    "can't be set by a tool",
  )
const HeaderValue = z
  .string()
  .max(4096)
  .regex(/^[\t\x20-\x7e]*$/, 'must contain only visible ASCII characters')
const Headers = z.record(HeaderName, HeaderValue)

export const PARAMETER = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const UrlTemplate = z
  .string()
  .max(2048)
  .superRefine((url, issue) => {
    const problem = urlProblem(url)
    if (problem) issue.addIssue({ code: 'custom', message: problem })
  })

const PlainUrl = UrlTemplate.refine((url) => !url.includes('{'), 'must not have parameters')

/** The names that an MCP server may give its tools. */
const ToolName = z.string().min(1).max(128).regex(ONE_LINE, NOT_ONE_LINE)

const Name = (of: string) => z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, `must be the name of ${of}`)

const ToolTimeout = z.int().min(100).max(600_000).default(30_000)

/** What happens to a call that was in progress when the service died. */
export const Retry = z.enum(['safe', 'ask', 'never'])
export type Retry = z.infer<typeof Retry>

const ToolRetry = (unset: string) =>
  Retry.nullable()
    .describe(
      `What to do with a call that was in progress when the service stopped. \`safe\`: make it again with the same Idempotency-Key. \`ask\`: ask a person. \`never\`: tell the model that its outcome is unknown. null: ${unset}`,
    )
    .default(null)

export const HttpTool = z.strictObject({
  type: z.literal('http'),
  name: ToolLabel,
  description: z.string().max(4096).default(''),
  input_schema: z.looseObject({ type: z.literal('object') }).default({ type: 'object', properties: {} }),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
  url: UrlTemplate,
  headers: Headers.default({}),
  timeout_ms: ToolTimeout,
  retry: ToolRetry('`safe` for GET, otherwise `never`'),
  approval: ToolApproval.default('never'),
})
export type HttpTool = z.infer<typeof HttpTool>

export const McpTool = z.strictObject({
  type: z.literal('mcp'),
  url: PlainUrl,
  headers: Headers.default({}),
  allow: z.array(ToolName).max(128).nullable().default(null),
  connection: Name('a connection').optional().describe('Its token is sent as `Authorization: Bearer`'),
  timeout_ms: ToolTimeout,
  retry: ToolRetry('`safe` for tools that the server declares read-only or idempotent, otherwise `never`'),
  approval: ToolApproval.describe('Applies to every tool of the server').default('never'),
})
export type McpTool = z.infer<typeof McpTool>

/** A question to a person. The run waits for the answer. */
export const PersonTool = z.strictObject({
  type: z.literal('ask_person'),
  name: ToolLabel.default('ask_person'),
  description: z
    .string()
    .max(4096)
    .default('Asks a person who knows or decides what you cannot. The answer may take days: ask only if you must.'),
  expires_after_seconds: Expiry.nullable().describe("null: the agent's setting").default(null),
})
export type PersonTool = z.infer<typeof PersonTool>

export const Tool = z.discriminatedUnion('type', [HttpTool, McpTool, PersonTool, AgentTool])
export type Tool = z.infer<typeof Tool>

export const Tools = z
  .array(Tool)
  .max(32)
  .superRefine((tools, issue) => {
    const seen = new Set<string>()
    for (const [index, tool] of tools.entries()) {
      if (tool.type === 'mcp') continue
      if (seen.has(tool.name))
        issue.addIssue({ code: 'custom', path: [index, 'name'], message: 'is used more than once' })
      seen.add(tool.name)
    }
  })

export const Sessions = z.strictObject({
  while_busy: z
    .enum(['queue', 'reject', 'cancel', 'parallel'])
    .describe(
      'What happens to a message while another run of its session is in progress. `queue`: it waits for its turn. `reject`: it fails with `session_busy`. `cancel`: the other run is cancelled. `parallel`: both run at the same time',
    )
    .default('queue'),
})

export const Limits = z.strictObject({
  timeout_ms: z.int().min(1_000).max(600_000).nullable().describe("null: the service's limit").default(null),
  max_steps: z
    .int()
    .min(1)
    .max(64)
    .describe('How many times the model can be called in one run. If its last answer still calls tools, the run fails')
    .default(8),
  max_input_tokens: z
    .int()
    .min(1)
    .max(10_000_000)
    .nullable()
    .describe("The approximate maximum length of a prompt; older turns are left out. null: the model's context window")
    .default(null),
  max_output_tokens: z.int().min(1).max(1_000_000).nullable().describe("null: the model's limit").default(null),
  max_concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .describe('Concurrent invocations; null: no limit')
    .default(null),
  cut_to_budget: z
    .boolean()
    .describe('If a budget is too low for the longest answer, request a shorter one instead of failing')
    .default(false),
  max_tool_calls: z.int().min(1).max(10_000).nullable().describe('Tool calls in one run; null: no limit').default(null),
  max_tokens_per_run: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .nullable()
    .describe('Tokens in one run. Once they are used, the run makes no more model or tool calls. null: no limit')
    .default(null),
  max_cost_per_run: z
    .number()
    .positive()
    .max(1_000_000)
    .nullable()
    .describe('US dollars in one run. Once they are spent, the run makes no more model or tool calls. null: no limit')
    .default(null),
})
export type Limits = z.infer<typeof Limits>

export const MemoryPolicy = z.strictObject({
  remember: z.boolean().describe('Whether messages and answers are remembered').default(true),
  history: z.int().min(0).max(200).describe("How many of the session's latest turns are sent to the model").default(20),
  recall: z.int().min(0).max(50).describe('How many recalled memories are sent to the model').default(5),
  facts: z
    .enum(['off', 'model'])
    .describe("`model`: when a conversation has been idle, the agent's own model extracts lasting facts")
    .default('off'),
  summarize: z
    .union([z.boolean(), z.int().min(2).max(200)])
    .describe(
      "Whether the agent's own model keeps a summary of long sessions. A number sets after how many new turns it is updated; `true`: after 10",
    )
    .default(false),
  retention_days: z
    .int()
    .min(1)
    .max(36_500)
    .nullable()
    .describe('Older memories are deleted; null: never')
    .default(null),
})
export type MemoryPolicy = z.infer<typeof MemoryPolicy>

const RemoteCall = {
  headers: Headers.describe('Headers to send; `{{secret.NAME}}` is replaced as in tools').default({}),
  timeout_ms: z
    .int()
    .min(100)
    .max(600_000)
    .nullable()
    .describe("Timeout of one call; null: the run's timeout")
    .default(null),
}

/** Where a remote agent is, and how it is called: by our own contract, or over A2A. */
export const RemoteSettings = z.union(
  [
    z.strictObject({
      url: PlainUrl.describe('Receives a signed POST request for each message'),
      ...RemoteCall,
      secret: Name('a secret').describe("The project's secret that signs calls: `whsec_` and base64, as for webhooks"),
    }),
    z.strictObject({
      a2a: PlainUrl.describe('The agent card of an A2A agent, which receives each message'),
      ...RemoteCall,
    }),
  ],
  { error: ({ input }) => (hasBoth(input) ? 'must have either `url` or `a2a`, not both' : undefined) },
)
export type RemoteSettings = z.infer<typeof RemoteSettings>
/** For an agent that implements our own contract. */
export type SignedRemote = Extract<RemoteSettings, { url: string }>
export type A2aRemote = Extract<RemoteSettings, { a2a: string }>

function hasBoth(remote: unknown): boolean {
  return typeof remote === 'object' && remote !== null && 'url' in remote && 'a2a' in remote
}

const Text = z.string().max(20_000)

const Match = z
  .strictObject({ equals: Text.optional(), contains: Text.optional(), starts_with: Text.optional() })
  .refine((match) => Object.keys(match).length === 1, 'must have exactly one of equals, contains, starts_with')

export const ScriptRule = z
  .strictObject({
    /** If absent, the rule applies to every message. */
    match: Match.optional(),
    call: z.strictObject({ tool: ToolName, arguments: z.record(z.string(), z.unknown()).default({}) }).optional(),
    reply: Text.optional(),
    /** The value of the answer, as JSON. */
    output: z.unknown().optional(),
    fail: z.string().min(1).max(1_000).optional(),
    delay_ms: z.int().min(0).max(600_000).optional(),
  })
  .refine(
    (rule) => rule.reply !== undefined || rule.output !== undefined || rule.call || rule.fail,
    'must have `reply`, `output`, `call` or `fail`',
  )
export type ScriptRule = z.infer<typeof ScriptRule>

export const Script = z.strictObject({
  rules: z.array(ScriptRule).max(200).default([]),
  fallback: Text.default('I have no answer for that.'),
})
export type Script = z.infer<typeof Script>

/**
 * What the runtime needs to know about an agent. An agent's record and a deployed version both have these fields.
 */
export type AgentSpec = {
  /**
   * `model`: a model answers. `remote`: the agent runs elsewhere, and receives its instructions and its model with each
   * call.
   */
  kind: 'model' | 'remote'
  remote?: RemoteSettings | null
  /** If there are several models, the next one is asked if the one before it can't answer now. */
  model: ModelNames
  temperature: number | null
  instructions: string | null
  tools: readonly Tool[]
  script: Script | null
  /** If null, the agent answers in words. */
  output: WantedOutput | null
  memory: Pick<MemoryPolicy, 'history' | 'recall'>
  limits: Omit<Limits, 'max_concurrency'>
  approvals: Pick<ApprovalRules, 'expires_after_seconds'>
}

/** Allows parameters only in the path and the query, because a model must never choose the host. */
function urlProblem(url: string): string | undefined {
  if (!/^https?:\/\//i.test(url)) return 'must start with https:// or http://'
  if (/[\s\\]/.test(url)) return 'must not have spaces or backslashes'
  if (url.includes('#')) return 'must not have a fragment'
  const origin = /^https?:\/\/([^/?]*)/i.exec(url)?.[1] ?? ''
  // The URL parser skips extra slashes, so in https:///{x} the parameter would become the host.
  if (origin === '') return 'must be a URL'
  if (/[{}]/.test(origin)) return 'must not have a parameter in the host'
  if (origin.includes('@')) return 'must not contain a user name or password'
  const filled = url.replace(PARAMETER, 'x')
  if (/[{}]/.test(filled)) return 'must contain parameters as {name}, with letters, digits and _'
  if (!URL.canParse(filled)) return 'must be a URL'
  return undefined
}
