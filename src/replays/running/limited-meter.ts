import { setTimeout as delay } from 'node:timers/promises'
import type { Parts } from '../../operation/parts.ts'
import type { RunMeter } from '../../operation/spending.ts'
import {
  type CallStatus,
  type Meter,
  type MeteredCall,
  mostTokensOf,
  type PlannedCall,
  type ReportedCall,
  SpendingRefused,
} from '../../runtime/models/meter.ts'
import type { Cost, TokenCount } from '../../runtime/models/usage.ts'
import { mostCostOf } from '../../usage/prices/rates.ts'
import type { Replay } from '../replay-record.ts'
import { type Amount, reserve, settle, type TakenCase } from './case-queue.ts'

type MeterParts = Pick<Parts, 'config' | 'now' | 'prices' | 'storage'>

/** How soon to ask again for what other calls of the replay have reserved. */
const LOOK_AGAIN_MS = 100

/** Why a call can't be made within the replay's limits. */
export type Exhausted = 'cost_usd' | 'tokens' | 'no price' | 'ended'

/**
 * Counts the calls of one case within its replay's limits, in addition to the ledger and the budgets. What a call can
 * need at most is reserved before it is made, so calls that are made at the same time can't exceed a limit together,
 * and neither can one whose node dies.
 */
export class LimitedMeter implements Meter {
  readonly #inner: RunMeter
  readonly #one: TakenCase
  readonly #limits: Pick<Replay, 'limit_nano' | 'limit_tokens'>
  readonly #project_id: string
  readonly #parts: MeterParts
  #settling: Promise<unknown> = Promise.resolve()
  /** Set when a call was refused. */
  exhausted: Exhausted | undefined

  constructor(
    inner: RunMeter,
    one: TakenCase,
    limits: Pick<Replay, 'limit_nano' | 'limit_tokens'>,
    project_id: string,
    parts: MeterParts,
  ) {
    this.#inner = inner
    this.#one = one
    this.#limits = limits
    this.#project_id = project_id
    this.#parts = parts
  }

  async begin(call: PlannedCall): Promise<MeteredCall> {
    const { config, now, prices } = this.#parts
    const { input_tokens: input, output_tokens: output } = mostTokensOf(call, config.budgets.outputTokens)
    const price = await prices.find(this.#project_id, call.model, now())
    if (!price && this.#limits.limit_nano !== null) throw this.#refuse('no price')
    const held = { nano: price ? mostCostOf(price, input, output) : 0, tokens: input + output }
    await this.#reserve(held, call.signal?.())
    try {
      const begun = await this.#inner.begin(call)
      const isBound = this.#limits.limit_nano !== null || this.#limits.limit_tokens !== null
      return {
        max_output_tokens: isBound ? Math.min(begun.max_output_tokens ?? output, output) : begun.max_output_tokens,
        end: (status, tokens) => this.#end(begun, held, status, tokens),
      }
    } catch (error) {
      await this.#settle(held, { nano: 0, tokens: 0 })
      throw error
    }
  }

  /** Only agents that run elsewhere report calls, and they have no replays. */
  record(call: ReportedCall): Promise<Cost> {
    return this.#inner.record(call)
  }

  /** Resolves when everything that has ended is counted. */
  async settled(): Promise<void> {
    await this.#settling
  }

  async #reserve(held: Amount, signal: AbortSignal | undefined): Promise<void> {
    // Earlier calls have released what they didn't use.
    await this.#settling
    for (;;) {
      const answer = await this.#parts.storage.transaction((db) => reserve(db, this.#one, held))
      if (answer === 'granted') return
      if (answer !== 'held by others') throw this.#refuse(answer)
      await delay(LOOK_AGAIN_MS, undefined, { ...(signal && { signal }) })
    }
  }

  #end(begun: MeteredCall, held: Amount, status: CallStatus, tokens: TokenCount): Cost {
    const cost = begun.end(status, tokens)
    const settling = this.#settle(held, { nano: cost, tokens: tokens.input_tokens + tokens.output_tokens })
    this.#settling = Promise.all([this.#settling, settling])
    // The caller that waits for it gets the error. Without this, Node would report an unhandled rejection before that.
    this.#settling.catch(() => {})
    return cost
  }

  #settle(held: Amount, used: { nano: number | null; tokens: number }): Promise<void> {
    return this.#parts.storage.transaction((db) => settle(db, this.#one, held, used))
  }

  #refuse(why: Exhausted): SpendingRefused {
    this.exhausted = why
    return new SpendingRefused('The replay has reached its limit.', { budget_id: this.#one.kept_by })
  }
}
