import type { OpenApi, PlacedOperation, ShownSchema } from './openapi-document.ts'

/** Sample values by field name. Other fields get a plain value of their type. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  agent_id: 'hello',
  email: 'ada@example.com',
  name: 'support',
  message: 'Hello, who are you?',
  response: 'Hello, who are you?',
  url: 'https://example.com/hook',
  events: ['agent.completed', 'agent.failed'],
  environment: 'production',
  version: 'v1',
  query: 'refund',
  content: 'Prefers answers in French',
  role: 'developer',
  permissions: ['read', 'write'],
  model: 'builtin/echo',
  tier: 'pro',
  metric: 'response_time',
  tokens_used: 12,
  duration_ms: 3,
  total: 1,
  limit: 10,
  offset: 0,
  has_more: false,
  hint: 'mrg_Bo3Q…f61n',
  secret_hint: 'whsec_…bnbU=',
  unit: 'ms',
  code: '123456',
  hosts: ['api.example.com'],
  value: 'the-secret-itself',
}

const ID_PREFIX: Readonly<Record<string, string>> = {
  agent_id: 'agt',
  key_id: 'key',
  deployment_id: 'dep',
  webhook_id: 'whk',
  delivery_id: 'dlv',
  request_id: 'req',
  listener_id: 'lsn',
  memory_id: 'mem',
  file_id: 'file',
}

/** The prefix of IDs, by the tag of the operations. */
const TAG_PREFIX: Readonly<Record<string, string>> = {
  agents: 'agt',
  files: 'file',
  deployments: 'dep',
  invocations: 'req',
  keys: 'key',
  memory: 'mem',
  webhooks: 'whk',
  deliveries: 'dlv',
  listeners: 'lsn',
  'audit-log': 'aud',
}

/** Values for path parameters that aren't IDs. */
const IN_PATH: Readonly<Record<string, string>> = { agent_id: 'hello', name: 'API_TOKEN', user_id: 'ada' }

const PROVIDER = 'local-llm'

const TIME = '2026-11-15T03:11:00.000Z'
const ID = '01M7EKHS5R1MFQ8XKKKRCY15K3'
const DEEPEST = 6

export type Io = 'input' | 'output'

/**
 * Returns a value that fits the schema. A reply has every field, a request only the required ones. `own` contains the
 * fields that depend on the resource.
 */
export function sample(
  schema: ShownSchema,
  { components }: Pick<OpenApi, 'components'>,
  io: Io,
  own: Readonly<Record<string, unknown>> = {},
): unknown {
  return new Sampler(components, io, own).valueOf(schema, '', 0)
}

class Sampler {
  readonly #components: OpenApi['components']
  readonly #isReply: boolean
  readonly #own: Readonly<Record<string, unknown>>

  constructor(components: OpenApi['components'], io: Io, own: Readonly<Record<string, unknown>>) {
    this.#components = components
    this.#isReply = io === 'output'
    this.#own = own
  }

  /** `name` is the name of the field, or of an item of the list that contains the value. */
  valueOf(schema: ShownSchema, name: string, depth: number): unknown {
    if (depth > DEEPEST) return null
    if (schema.$ref) return this.valueOf(this.#resolve(schema.$ref), name, depth + 1)
    if (schema.examples?.[0] !== undefined) return schema.examples[0]
    if ('const' in schema) return schema.const
    if (this.#isReply && schema.default !== undefined) return schema.default
    const options = schema.anyOf ?? schema.oneOf
    if (options) return this.#optionOf(options, name, depth)
    if (Array.isArray(schema.type)) return this.#typeOf(schema, schema.type, name, depth)
    if (schema.enum) return schema.enum.includes(BY_NAME[name]) ? BY_NAME[name] : schema.enum[0]
    if (schema.type === 'object') return this.#objectOf(schema, depth)
    if (schema.type === 'array') return this.#arrayOf(schema, name, depth)
    return this.#own[name] ?? plainOf(schema, name)
  }

  #resolve($ref: string): ShownSchema {
    return this.#components.schemas[$ref.slice('#/components/schemas/'.length)] ?? {}
  }

  #optionOf(options: readonly ShownSchema[], name: string, depth: number): unknown {
    if (this.#isEmpty(name) && options.some(({ type }) => type === 'null')) return null
    return this.valueOf(options.find(({ type }) => type !== 'null') ?? {}, name, depth + 1)
  }

  #typeOf(schema: ShownSchema, types: readonly string[], name: string, depth: number): unknown {
    if (this.#isEmpty(name)) return null
    return this.valueOf({ ...schema, type: types.find((type) => type !== 'null') ?? 'null' }, name, depth + 1)
  }

  /** Whether a field that may be null is null, which is so in replies unless there is a sample value. */
  #isEmpty(name: string): boolean {
    return this.#isReply && BY_NAME[name] === undefined
  }

  #objectOf({ properties = {}, required = [] }: ShownSchema, depth: number): Record<string, unknown> {
    const names = Object.keys(properties)
    const asked = required.length > 0 ? required : names.slice(0, depth === 0 ? 1 : 0)
    const shown = this.#isReply ? names : asked
    return Object.fromEntries(shown.map((name) => [name, this.valueOf(properties[name] ?? {}, name, depth + 1)]))
  }

  #arrayOf({ items = {} }: ShownSchema, name: string, depth: number): unknown {
    if (Array.isArray(BY_NAME[name])) return BY_NAME[name]
    const isDetail = this.#isReply && name !== 'data' && name !== 'values'
    return isDetail ? [] : [this.valueOf(items, name.replace(/s$/, ''), depth + 1)]
  }
}

function plainOf({ type, format, minimum }: ShownSchema, name: string): unknown {
  if (type === 'string' && (format === 'date-time' || name.endsWith('_at') || name.endsWith('_time'))) return TIME
  if (type === 'string' && ID_PREFIX[name] && name !== 'agent_id') return `${ID_PREFIX[name]}_${ID}`
  const known = BY_NAME[name]
  if (type === 'string') return typeof known === 'string' ? known : 'text'
  if (type === 'integer' || type === 'number') return typeof known === 'number' ? known : Math.max(1, minimum ?? 1)
  if (type === 'boolean') return true
  return null
}

/** An example of the operation's reply. */
export function sampleReply({ tags, responses }: PlacedOperation, document: OpenApi): unknown {
  const [, reply] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
  const prefix = TAG_PREFIX[tags[0] ?? '']
  const own = {
    id: prefix ? `${prefix}_${ID}` : ID,
    secret: prefix === 'whk' ? 'whsec_…' : 'mrg_…',
    ...(tags[0] === 'secrets' && { name: IN_PATH.name }),
    ...(tags[0] === 'providers' && { name: PROVIDER }),
  }
  // The reply is JSON, or one line of JSON lines.
  return sample(Object.values(reply?.content ?? {})[0]?.schema ?? {}, document, 'output', own)
}

/**
 * The path with its query, and the body of a sample request as text. The body is empty if the operation has no body.
 */
export function sampleRequest(operation: PlacedOperation, document: OpenApi): { path: string; body: string } {
  const { path, parameters, requestBody } = operation
  const inPath: typeof IN_PATH = path.startsWith('/v1/providers') ? { name: PROVIDER } : IN_PATH
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => inPath[name] ?? `${ID_PREFIX[name] ?? name}_…`)
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(sample(schema, document, 'input')))}`)
  const schema = requestBody?.content['application/json']?.schema
  const body = schema && sample(schema, document, 'input')
  return {
    path: filled + (query.length > 0 ? `?${query.join('&')}` : ''),
    body: body ? JSON.stringify(body, null, 2) : '',
  }
}

/** A command that works once MOORAGE_API_KEY contains the key and the IDs are replaced. */
export function curl(operation: PlacedOperation, document: OpenApi): string {
  const { method, requestBody } = operation
  const { path, body } = sampleRequest(operation, document)
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$MOORAGE_URL${path}"`,
    '-H "Authorization: Bearer $MOORAGE_API_KEY"',
  ]
  if (requestBody?.content['*/*']) lines.push('-H "Content-Type: image/png"', '--data-binary @photo.png')
  if (body) {
    const given = JSON.stringify(JSON.parse(body))
    lines.push('-H "Content-Type: application/json"', `-d '${given.replaceAll("'", "'\\''")}'`)
  }
  return lines.join(' \\\n  ')
}
