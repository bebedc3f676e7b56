import type { Agent } from '../../../../sdk/client.ts'

export type Tool = Agent['tools'][number]
export type HttpTool = Extract<Tool, { type: 'http' }>
export type McpTool = Extract<Tool, { type: 'mcp' }>
export type PersonTool = Extract<Tool, { type: 'ask_person' }>
export type AgentTool = Extract<Tool, { type: 'agent' }>

/** What the project's tools can refer to. */
export type ProjectNames = { secrets: readonly string[]; connections: readonly string[] }

const CALLED = { headers: {}, timeout_ms: 30_000, retry: null, approval: 'never' } as const

/** The kinds of tools, and what a new tool of each kind looks like. */
export const KINDS: { type: Tool['type']; label: string; about: string; begin(): Tool }[] = [
  {
    type: 'http',
    label: 'HTTP',
    about: 'Call an HTTP endpoint',
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
    about: 'Use the tools of an MCP server',
    begin: () => ({ ...CALLED, type: 'mcp', url: '', allow: null }),
  },
  {
    type: 'ask_person',
    label: 'Ask a person',
    about: 'The run waits until someone answers in Approvals',
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
    about: 'Runs separately, with its own tools and memory',
    begin: () => ({ type: 'agent', name: '', description: '', agent: '', environment: 'production', memory: 'own' }),
  },
]

/** The tool with defaults for missing fields, because a definition in YAML may leave them out. */
export function withToolDefaults(tool: Tool): Tool {
  const kind = KINDS.find(({ type }) => type === tool.type)
  return kind ? ({ ...kind.begin(), ...tool } as Tool) : tool
}

type Schema = HttpTool['input_schema']
type Property = { type?: string; description?: string }

/** A parameter that the form can show: a name, a plain type, a description. `own` is its part of the schema. */
export type Parameter = { name: string; type: string; description: string; isRequired: boolean; own?: Property }

export const PARAMETER_TYPES = ['string', 'number', 'integer', 'boolean']

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A schema's parameters. Undefined if the schema is invalid or contains more than the form can show. */
export function parametersOf(schema: unknown): Parameter[] | undefined {
  if (!isObject(schema)) return undefined
  const { type: object, properties = {}, required = [], additionalProperties: _more, ...others } = schema as Schema
  if (object !== 'object' || !isObject(properties) || !Array.isArray(required) || Object.keys(others).length > 0)
    return undefined
  const entries = Object.entries(properties as Record<string, Property>)
  const isNamed = (name: unknown) => entries.some(([known]) => known === name)
  if (!entries.every(([name, property]) => name && isPlain(property))) return undefined
  if (!required.every(isNamed) || new Set(required).size < required.length) return undefined
  return entries.map(([name, own]) => ({
    name,
    type: own.type ?? '',
    description: own.description ?? '',
    isRequired: required.includes(name),
    own,
  }))
}

function isPlain(property: unknown): boolean {
  if (!isObject(property)) return false
  const { type, description = '', ...others } = property as Property
  return PARAMETER_TYPES.includes(type ?? '') && typeof description === 'string' && Object.keys(others).length === 0
}

/** The schema with these parameters. Everything else in it is kept. */
export function schemaOf(parameters: readonly Parameter[], schema: Schema): Schema {
  const named = parameters.filter(({ name }) => name)
  const known = Array.isArray(schema['required']) ? (schema['required'] as string[]) : []
  const wanted = named.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  const required = [...known.filter((name) => wanted.includes(name)), ...wanted.filter((name) => !known.includes(name))]
  const { properties: _properties, required: _required, ...others } = schema
  return {
    ...others,
    ...((named.length > 0 || 'properties' in schema) && {
      properties: Object.fromEntries(named.map((parameter) => [parameter.name, propertyOf(parameter)])),
    }),
    ...((required.length > 0 || 'required' in schema) && { required }),
  } as Schema
}

function propertyOf({ type, description, own = {} }: Parameter): Property {
  const { description: _description, ...others } = own
  const isSame = description === (own.description ?? '')
  return { ...(isSame ? own : others), type, ...(!isSame && description && { description }) }
}

/** The names in braces in a URL. */
export function namesInUrl(url: string): string[] {
  return [...new Set(Array.from(url.matchAll(/\{([A-Za-z_]\w*)\}/g), ([, name]) => name as string))]
}
