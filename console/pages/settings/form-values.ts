import type { Definition } from './definition.ts'

/** What the fields of the form say, by the paths of the definition. */
export type FormValues = Record<string, string>

const TEXTS = ['description', 'instructions'] as const
const LIMITS = [
  'timeout_ms',
  'max_steps',
  'max_input_tokens',
  'max_output_tokens',
  'max_concurrency',
  'max_tool_calls',
  'max_tokens_per_run',
  'max_cost_per_run',
] as const
const MEMORY = ['history', 'recall', 'retention_days'] as const

/** The number of turns that `true` stands for. */
const SUMMARIZE_TURNS = '10'

export function valuesOf(agent: Definition): FormValues {
  const text = (value: unknown) => (value === null || value === undefined ? '' : String(value))
  const remote: Partial<Record<'url' | 'secret' | 'a2a', string>> = agent.remote ?? {}
  return {
    // Both ways to an agent elsewhere are of the kind `remote`.
    kind: remote.a2a === undefined ? agent.kind : 'a2a',
    'remote.url': text(remote.url),
    'remote.secret': text(remote.secret),
    'remote.a2a': text(remote.a2a),
    'remote.timeout_ms': text(agent.remote?.timeout_ms),
    model: [agent.model].flat().join(', '),
    temperature: text(agent.temperature),
    'output.schema': agent.output ? JSON.stringify(agent.output.schema, null, 2) : '',
    'output.retries': text(agent.output?.retries),
    'memory.remember': text(agent.memory.remember),
    'memory.facts': agent.memory.facts,
    'memory.summarize': turnsOf(agent.memory.summarize),
    'approvals.self': text(agent.approvals.self),
    'approvals.expires_after_seconds': text(agent.approvals.expires_after_seconds),
    ...Object.fromEntries(TEXTS.map((name) => [name, text(agent[name])])),
    ...Object.fromEntries(LIMITS.map((name) => [`limits.${name}`, text(agent.limits[name])])),
    ...Object.fromEntries(MEMORY.map((name) => [`memory.${name}`, text(agent.memory[name])])),
  }
}

function turnsOf(summarize: boolean | number): string {
  if (summarize === true) return SUMMARIZE_TURNS
  return summarize === false ? '' : String(summarize)
}

/** The service gets text that is no JSON as it is, and says beside the field what is wrong. */
function outputIn(values: FormValues): unknown {
  const text = values['output.schema']?.trim() ?? ''
  if (text === '') return null
  const retries = values['output.retries'] ? { retries: Number(values['output.retries']) } : {}
  try {
    return { schema: JSON.parse(text) as unknown, ...retries }
  } catch {
    return { schema: text, ...retries }
  }
}

/** Headers are in the YAML. What is compared with the agent's own has its order, too. */
function remoteIn({ remote }: Definition, values: FormValues): unknown {
  const isA2a = values['kind'] === 'a2a'
  const address = isA2a
    ? { a2a: values['remote.a2a'] ?? '' }
    : { url: values['remote.url'] ?? '', secret: values['remote.secret'] ?? '' }
  const isSameWay = remote !== null && 'a2a' in remote === isA2a
  return {
    ...(isSameWay && remote),
    ...address,
    ...(remote && { headers: remote.headers }),
    timeout_ms: values['remote.timeout_ms'] ? Number(values['remote.timeout_ms']) : null,
  }
}

/** One name, or several with commas between. */
function modelsIn(text: string): string | string[] {
  const [first = '', ...others] = text.split(',').map((name) => name.trim())
  return others.length > 0 ? [first, ...others].filter((name) => name !== '') : first
}

/** The same in the agent's own shape. What no field says stays as it is. */
export function wantedOf(agent: Definition, values: FormValues): Record<string, unknown> {
  const text = (name: string) => values[name] || null
  const number = (name: string) => (values[name] ? Number(values[name]) : null)
  const turns = values['memory.summarize'] ?? ''
  const isSame = turns === turnsOf(agent.memory.summarize)
  return {
    kind: values['kind'] === 'model' ? 'model' : 'remote',
    remote: values['kind'] === 'model' ? null : remoteIn(agent, values),
    model: modelsIn(values['model'] ?? ''),
    temperature: number('temperature'),
    output: outputIn(values),
    ...Object.fromEntries(TEXTS.map((name) => [name, text(name)])),
    memory: {
      ...agent.memory,
      remember: values['memory.remember'] === 'true',
      facts: values['memory.facts'],
      summarize: isSame ? agent.memory.summarize : (number('memory.summarize') ?? false),
      ...Object.fromEntries(MEMORY.map((name) => [name, number(`memory.${name}`)])),
    },
    limits: { ...agent.limits, ...Object.fromEntries(LIMITS.map((name) => [name, number(`limits.${name}`)])) },
    approvals: {
      ...agent.approvals,
      self: values['approvals.self'] === 'true',
      expires_after_seconds: number('approvals.expires_after_seconds'),
    },
  }
}
