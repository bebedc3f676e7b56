import type { EventType } from '../events.ts'
import type { Lookup } from '../lib/cache.ts'
import type { Provider } from '../runtime/providers/provider-source.ts'
import type { Tables } from '../storage/tables.ts'
import type { Pause } from './pauses.ts'

/** A webhook or a listener that may receive events. */
export type Subscriber = {
  id: string
  project_id: string
  /** Null for the events of all agents of the project. */
  agent_id: string | null
  events: readonly (EventType | '*')[]
  /** When a listener ends; null for a webhook. */
  until: number | null
}

type Limit = 'requests_per_minute' | 'concurrent_runs' | 'stored_bytes' | 'file_bytes' | 'retention_days'

/**
 * Everything that requests and runs need to know about a project. It is loaded together, and dropped together when any
 * of it changes.
 */
export type ProjectSnapshot = {
  readonly id: string
  readonly name: string
  readonly limits: Readonly<Record<Limit, number | null>>
  readonly stored_bytes: number | null
  /** The pause of the service, or else of the project. */
  readonly pause: Pause | undefined
  /** The configuration's, and its own. */
  readonly providers: readonly Provider[]
  /** Its own, by `provider/model` and `provider/*`, and which of them an actor with access to all projects has set. */
  readonly prices: { readonly all: ReadonlyMap<string, Price>; readonly byService: ReadonlyMap<string, Price> }
  readonly subscribers: readonly Subscriber[]
  /** The budgets that apply to its spending, including those of the service. */
  readonly budgets: readonly Tables['budgets'][]
}

/** Finds a project by ID or name, from memory until any of its data changes. */
export type FindProject = (ref: string) => Lookup<ProjectSnapshot>

/** The price of a model: in USD for a million tokens of each kind, and in USD per request. */
export type Rates = {
  input: number
  cached_input: number
  cache_write: number
  output: number
  reasoning: number
  request: number
}

/** Rates for requests with more input tokens than `above`. */
export type Tier = Rates & { above: number }

export const PRICE_SOURCES = ['configuration', 'api', 'genai-prices', 'builtin'] as const

/** The price of a model at a certain time. Long prompts may cost more. */
export type Price = {
  source: (typeof PRICE_SOURCES)[number]
  /** What the price was set for: the model, or all models of its provider. */
  set_for?: string
  /** Of the list that it is from. */
  version?: string
  rates: Rates
  tiers: readonly Tier[]
}

export type Prices = {
  /** Undefined if no price is known: then the cost is unknown too. */
  find(project_id: string, model: string, time: number): Promise<Price | undefined>
  /** The same in a project that is already loaded. */
  findIn(project: ProjectSnapshot | undefined, model: string, time: number): Lookup<Price>
  /** Call it before looking up many, which is then faster. */
  prepare(project_id: string, models: readonly string[]): Promise<void>
  /** The models that the configuration and the project name. */
  named(project_id: string): Promise<string[]>
  /** Whether the operator pays for calls of the model, because the project hasn't set its provider's key. */
  isPaidByService(project_id: string, model: string): Promise<boolean>
  /** The configuration has a price for the model, which takes precedence. */
  isConfigured(model: string): boolean
}
