import { LRUCache } from 'lru-cache'
import type { Model } from '../models/model-request.ts'
import type { AgentSpec } from '../spec.ts'

/** The limits that vendors publish for their models, in tokens. The first pattern that matches counts. */
const KNOWN: readonly (readonly [RegExp, number])[] = [
  [/^claude-/, 200_000],
  [/^gpt-4\.1/, 1_000_000],
  [/^gpt-5/, 272_000],
  [/^(?:gpt-4o|chatgpt-4o|gpt-4-turbo|o1-mini|o1-preview)/, 128_000],
  [/^o\d/, 200_000],
  [/^gpt-4/, 8_192],
  [/^gpt-3\.5/, 16_385],
]
const UNKNOWN_TOKENS = 128_000

/** Our count is an estimate, and the answer needs room too. */
const MARGIN = 0.9
const ANSWER_TOKENS = 4_096

const REMEMBERED_MS = 3_600_000
const REMEMBERED_MODELS = 256

/**
 * How long a prompt each model takes, in tokens as we estimate them. A limit that was learnt from a refusal is
 * remembered for an hour.
 */
export class ModelWindows {
  readonly #now: () => number
  readonly #learnt = new LRUCache<string, { tokens: number; until: number }>({ max: REMEMBERED_MODELS })

  constructor(now: () => number) {
    this.#now = now
  }

  /** Infinity means no limit. */
  budget(model: string, { limits }: Pick<AgentSpec, 'limits'>, { isBuiltin }: Pick<Model, 'isBuiltin'>): number {
    const own = limits.max_input_tokens ?? (isBuiltin ? Infinity : usable(windowOf(model), limits))
    if (this.#learnt.size === 0) return own
    const learnt = this.#learnt.get(model)
    return learnt && learnt.until > this.#now() ? Math.min(own, learnt.tokens) : own
  }

  /** The model refused a longer prompt and accepted one of this length. */
  learn(model: string, tokens: number): void {
    this.#learnt.set(model, { tokens, until: this.#now() + REMEMBERED_MS })
  }
}

/** How much of a window the prompt may take. */
export function usable(window: number, { max_output_tokens }: Pick<AgentSpec['limits'], 'max_output_tokens'>): number {
  return Math.floor((window - Math.min(max_output_tokens ?? ANSWER_TOKENS, window / 4)) * MARGIN)
}

/** Uses the last part of the name, because gateways put the vendor before it. */
function windowOf(model: string): number {
  const id = model.slice(model.lastIndexOf('/') + 1)
  return KNOWN.find(([family]) => family.test(id))?.[1] ?? UNKNOWN_TOKENS
}
