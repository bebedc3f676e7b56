import type { Agent, UpdateAgent } from '../../../sdk/client.ts'

/** The fields that define an agent, in the order in which people read them, with the values of a new agent. */
export const DEFAULTS = {
  kind: 'model',
  description: null,
  remote: null,
  model: 'builtin/echo',
  temperature: null,
  instructions: null,
  tools: [],
  script: null,
  output: null,
  memory: { remember: true, history: 20, recall: 5, retention_days: null, summarize: false, facts: 'off' },
  limits: {
    timeout_ms: null,
    max_steps: 8,
    max_input_tokens: null,
    max_output_tokens: null,
    max_concurrency: null,
    max_tool_calls: null,
    max_tokens_per_run: null,
    max_cost_per_run: null,
    cut_to_budget: false,
  },
  sessions: { while_busy: 'queue' },
  approvals: { self: false, expires_after_seconds: 604_800 },
  metadata: {},
  security: null,
} as const satisfies Partial<Agent & UpdateAgent>

export type Definition = Pick<Agent, keyof typeof DEFAULTS>

const FIELDS = Object.keys(DEFAULTS) as (keyof Definition)[]

/** The agent's definition, without credentials for other services, because the API returns secrets only as hints. */
export function definitionOf(agent: Definition): Definition {
  return Object.fromEntries(FIELDS.map((field) => [field, agent[field]])) as Definition
}

/** The definition that a text describes. Fields missing in the text have their defaults. */
export function withDefaults(said: object): Definition {
  const { memory, limits, sessions, approvals } = said as Partial<Definition>
  const inside = (defaults: object, given: unknown) =>
    typeof given === 'object' && given !== null && !Array.isArray(given) ? { ...defaults, ...given } : given
  return {
    ...DEFAULTS,
    ...said,
    memory: memory === undefined ? DEFAULTS.memory : inside(DEFAULTS.memory, memory),
    limits: limits === undefined ? DEFAULTS.limits : inside(DEFAULTS.limits, limits),
    sessions: sessions === undefined ? DEFAULTS.sessions : inside(DEFAULTS.sessions, sessions),
    approvals: approvals === undefined ? DEFAULTS.approvals : inside(DEFAULTS.approvals, approvals),
  } as unknown as Definition
}
