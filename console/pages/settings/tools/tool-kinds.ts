import type { Agent } from '../../../../sdk/client.ts'

export type Tool = Agent['tools'][number]
export type HttpTool = Extract<Tool, { type: 'http' }>
export type McpTool = Extract<Tool, { type: 'mcp' }>
export type PersonTool = Extract<Tool, { type: 'ask_person' }>
export type AgentTool = Extract<Tool, { type: 'agent' }>

const CALLED = { headers: {}, timeout_ms: 30_000, retry: null, approval: 'never' } as const

/** The kinds of tools, and what a new one of each begins as. */
export const KINDS: { type: Tool['type']; label: string; about: string; begin(): Tool }[] = [
  {
    type: 'http',
    label: 'HTTP',
    about: 'One request to an address that you name',
    begin: () => ({
      ...CALLED,
      type: 'http',
      name: '',
      description: '',
      method: 'GET',
      url: '',
      input_schema: { type: 'object', properties: {} },
    }),
  },
  {
    type: 'mcp',
    label: 'MCP server',
    about: 'All tools of a server, or some of them',
    begin: () => ({ ...CALLED, type: 'mcp', url: '', allow: null }),
  },
  {
    type: 'ask_person',
    label: 'Ask a person',
    about: 'The run waits until a person answers under Approvals',
    begin: () => ({
      type: 'ask_person',
      name: 'ask_person',
      description:
        'Asks a person who knows or decides what you cannot. The answer may take days: ask only if you must.',
      expires_after_seconds: null,
    }),
  },
  {
    type: 'agent',
    label: 'Another agent',
    about: 'It answers in a run of its own, with its own tools and memory',
    begin: () => ({ type: 'agent', name: '', description: '', agent: '', environment: 'production', memory: 'own' }),
  },
]

/** A parameter that the form can show: a name, a plain type, a description. */
export type Parameter = { name: string; type: string; description: string; isRequired: boolean }

export const PARAMETER_TYPES = ['string', 'number', 'integer', 'boolean']

type Schema = HttpTool['input_schema']
type Property = { type?: string; description?: string }

/** The parameters of a schema; undefined if it says more than the form can show. */
export function parametersOf({
  type: _object,
  properties = {},
  required = [],
  ...more
}: Schema): Parameter[] | undefined {
  const isPlain = ({ type, description, ...rest }: Property) =>
    PARAMETER_TYPES.includes(type ?? 'string') && typeof (description ?? '') === 'string' && !Object.keys(rest).length
  const entries = Object.entries(properties as Record<string, Property>)
  if (Object.keys(more).some((key) => key !== 'additionalProperties')) return undefined
  if (!entries.every(([, property]) => isPlain(property))) return undefined
  return entries.map(([name, { type = 'string', description = '' }]) => ({
    name,
    type,
    description,
    isRequired: (required as string[]).includes(name),
  }))
}

export function schemaOf(parameters: readonly Parameter[]): Schema {
  const named = parameters.filter(({ name }) => name)
  const required = named.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      named.map(({ name, type, description }) => [name, { type, ...(description && { description }) }]),
    ),
    ...(required.length > 0 && { required }),
  }
}

/** The names in braces that an address has. */
export function namesInUrl(url: string): string[] {
  return [...new Set(Array.from(url.matchAll(/\{([A-Za-z_]\w*)\}/g), ([, name]) => name as string))]
}
