/** What a model costs: in USD for a million tokens of each kind, and in USD for each request. */
export type Rates = { input: number; cached_input: number; output: number; reasoning: number; request: number }

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
  /** Call it before many are looked up, which is then quicker. */
  prepare(project_id: string, models: readonly string[]): Promise<void>
  /** The models that the configuration and the project name. */
  named(project_id: string): Promise<string[]>
  /** Whether the operator pays for calls of the model: the project has not given the key of its provider. */
  isPaidByService(project_id: string, model: string): Promise<boolean>
  /** The configuration has a price for the model, which wins. */
  isConfigured(model: string): boolean
}
