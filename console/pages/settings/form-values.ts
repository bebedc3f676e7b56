import { jsonIn, namesIn, numberIn } from '../../lib/forms/typed-values.ts'
import type { Definition } from './definition.ts'

/** The values of the form's fields, by their paths in the definition. */
export type FormValues = Record<string, string>

/** The number of turns that `true` means. */
const SUMMARIZE_TURNS = '10'

const textIn = (text: string) => text || null
const yesIn = (text: string) => text === 'true'

/** Form fields that together are one value in the definition, and how their text is read. */
const READ: Record<string, (text: string) => unknown> = {
  description: textIn,
  instructions: textIn,
  model: (text) => (text.includes(',') ? namesIn(text) : text.trim()),
  temperature: numberIn,
  'memory.remember': yesIn,
  'memory.history': numberIn,
  'memory.recall': numberIn,
  'memory.retention_days': numberIn,
  'memory.summarize': (text) => numberIn(text) ?? false,
  'memory.facts': (text) => text,
  'limits.timeout_ms': numberIn,
  'limits.max_steps': numberIn,
  'limits.max_input_tokens': numberIn,
  'limits.max_output_tokens': numberIn,
  'limits.max_concurrency': numberIn,
  'limits.max_tool_calls': numberIn,
  'limits.max_tokens_per_run': numberIn,
  'limits.max_cost_per_run': numberIn,
  'sessions.while_busy': (text) => text,
  'approvals.self': yesIn,
  'approvals.expires_after_seconds': numberIn,
}

export function valuesOf(agent: Definition): FormValues {
  const { remote, output } = agent
  const isA2a = remote !== null && 'a2a' in remote
  return {
    ...Object.fromEntries(Object.keys(READ).map((path) => [path, textOf(valueAt(agent, path))])),
    // Both kinds of remote agents have the kind `remote` in the definition.
    kind: isA2a ? 'a2a' : agent.kind,
    'remote.url': textOf(remote && 'url' in remote ? remote.url : null),
    'remote.secret': textOf(remote && 'secret' in remote ? remote.secret : null),
    'remote.a2a': textOf(isA2a ? remote.a2a : null),
    'remote.timeout_ms': textOf(remote?.timeout_ms),
    'output.schema': output ? schemaText(output.schema) : '',
    'output.retries': textOf(output?.retries),
    model: [agent.model].flat().join(', '),
    'memory.summarize': turnsOf(agent.memory.summarize),
  }
}

const textOf = (value: unknown) => (value === null || value === undefined ? '' : String(value))
const schemaText = (schema: unknown) => (typeof schema === 'string' ? schema : JSON.stringify(schema, null, 2))

function turnsOf(summarize: boolean | number): string {
  if (summarize === true) return SUMMARIZE_TURNS
  return summarize === false ? '' : String(summarize)
}

function valueAt(agent: Definition, path: string): unknown {
  const [field = '', inner] = path.split('.')
  const value = agent[field as keyof Definition]
  return inner === undefined ? value : (value as Record<string, unknown>)[inner]
}

/** The definition with the values that differ in the fields. Everything else stays exactly as it is. */
export function wantedOf(agent: Definition, values: FormValues): Definition {
  const shown = valuesOf(agent)
  const isTyped = (path: string) => values[path] !== shown[path]
  const wanted: Record<string, unknown> = { ...agent }
  for (const [path, read] of Object.entries(READ)) {
    if (!isTyped(path)) continue
    const [field = '', inner] = path.split('.')
    const value = read(values[path] ?? '')
    wanted[field] = inner === undefined ? value : { ...(wanted[field] as object), [inner]: value }
  }
  const isAny = (names: string[]) => names.some(isTyped)
  if (isAny(['kind', 'remote.url', 'remote.secret', 'remote.a2a', 'remote.timeout_ms'])) {
    wanted['kind'] = values['kind'] === 'model' ? 'model' : 'remote'
    wanted['remote'] = values['kind'] === 'model' ? null : remoteIn(agent, values)
  }
  if (isAny(['output.schema', 'output.retries'])) wanted['output'] = outputIn(agent, values)
  return wanted as Definition
}

/**
 * Retries without a schema are sent too, so the service says that the schema is missing, unless the reader removed the
 * schema.
 */
function outputIn({ output }: Definition, values: FormValues): unknown {
  const { 'output.schema': schema = '', 'output.retries': retries = '' } = values
  if (schema.trim() === '' && (retries === '' || retries === textOf(output?.retries))) return null
  return {
    ...(schema.trim() !== '' && { schema: jsonIn(schema) }),
    ...(retries !== '' && { retries: numberIn(retries) }),
  }
}

/** Headers are only in the YAML. */
function remoteIn({ remote }: Definition, values: FormValues): unknown {
  const isA2a = values['kind'] === 'a2a'
  const address = isA2a
    ? { a2a: values['remote.a2a'] ?? '' }
    : { url: values['remote.url'] ?? '', secret: values['remote.secret'] ?? '' }
  return {
    ...(remote && { headers: remote.headers }),
    ...address,
    timeout_ms: numberIn(values['remote.timeout_ms'] ?? ''),
  }
}
