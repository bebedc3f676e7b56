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
 * All that requests and runs need to know of a project. It is loaded together, and forgotten together when any of it
 * changes.
 */
export type ProjectSnapshot = {
  readonly id: string
  readonly name: string
  readonly limits: Readonly<Record<Limit, number | null>>
  readonly stored_bytes: number | null
  /** The pause of the service, or else that of the project. */
  readonly pause: Pause | undefined
  /** Those of the configuration, and its own. */
  readonly providers: readonly Provider[]
  /** Its own, by `provider/model` and `provider/*`, and those of them that an actor of the service has set. */
  readonly prices: { readonly all: ReadonlyMap<string, Price>; readonly byService: ReadonlyMap<string, Price> }
  readonly subscribers: readonly Subscriber[]
  /** The budgets over its spending, with those of the service. */
  readonly budgets: readonly Tables['budgets'][]
}

/** Finds a project by id or name, from memory until something of it changes. */
export type FindProject = (ref: string) => Lookup<ProjectSnapshot>

/** What a model costs: in USD for a million tokens of each kind, and in USD for each request. */
export type Rates = {
  input: number
  cached_input: number
  cache_write: number
  output: number
  reasoning: number
  request: number
}

/** Rates that hold for requests with more input tokens than `above`. */
export type Tier = Rates & { above: number }

export const PRICE_SOURCES = ['configuration', 'api', 'genai-prices', 'builtin'] as const

/** What a model costs at a time. Long prompts may cost more. */
export type Price = {
  source: (typeof PRICE_SOURCES)[number]
  /** The name that it was set for: the model, or all models of its provider. */
  set_for?: string
  /** Of the list that it is from. */
  version?: string
  rates: Rates
  tiers: readonly Tier[]
}

export type Prices = {
  /** Undefined if no price is known: what the model costs is not known then either. */
  find(project_id: string, model: string, time: number): Promise<Price | undefined>
  /** The same in a project that is at hand. */
  findIn(project: ProjectSnapshot | undefined, model: string, time: number): Lookup<Price>
  /** Call it before many are looked up, which is then quicker. */
  prepare(project_id: string, models: readonly string[]): Promise<void>
  /** The models that the configuration and the project name. */
  named(project_id: string): Promise<string[]>
  /** Whether the operator pays for calls of the model: the project has not given the key of its provider. */
  isPaidByService(project_id: string, model: string): Promise<boolean>
  /** The configuration has a price for the model, which wins. */
  isConfigured(model: string): boolean
}
