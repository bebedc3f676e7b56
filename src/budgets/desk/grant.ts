import type { Cost } from '../../runtime/models/usage.ts'
import type { LineUse } from '../../usage/reservation.ts'
import type { Budget } from '../budget.ts'

/** What is left of a budget when a call asks for a part of it. */
export type Room = { budget: Pick<Budget, 'limit_kind' | 'amount' | 'action'>; used: number; reserved: number }

/** A call that asks for room in budgets. */
export type Estimate = {
  input_tokens: number
  /** The longest answer allowed. */
  output_tokens: number
  /** The answer may be cut to what is left in the budget. */
  may_cut: boolean
  mostCost(input_tokens: number, output_tokens: number): Cost
}

/** A budget without enough room, and the least that the call needs of it. */
export type Shortfall<R extends Room> = { room: R; wanted: number }

export type RoomGrant<R extends Room> =
  | { output_tokens: number; held: number[] }
  /** All budgets without enough room. */
  | { lacking: Shortfall<R>[] }
  /** The budget is in dollars, and the call's price is unknown. */
  | { unpriced: R }

/** A shorter answer would be useless. */
const SHORTEST_ANSWER = 16

/** Gives a call the same room in all budgets that apply to it, or none. `held` is what it takes of each. */
export function grant<R extends Room>(estimate: Estimate, rooms: readonly R[]): RoomGrant<R> {
  const refusing = rooms.filter(({ budget }) => budget.action === 'refuse')
  const unpriced = refusing.find(({ budget }) => budget.limit_kind === 'cost_usd' && costOf(estimate, 0) === null)
  if (unpriced) return { unpriced }
  const fits = (output_tokens: number) => refusing.every((room) => hasRoom(room, estimate, output_tokens))
  const output_tokens = fits(estimate.output_tokens) ? estimate.output_tokens : longest(estimate, fits)
  if (output_tokens === undefined) {
    const least = leastOutput(estimate)
    const without = refusing.filter((room) => !hasRoom(room, estimate, least))
    return { lacking: without.map((room) => ({ room, wanted: wantedOf(room.budget, estimate, least) })) }
  }
  return { output_tokens, held: rooms.map(({ budget }) => wantedOf(budget, estimate, output_tokens)) }
}

/** The shortest useful answer. */
function leastOutput({ may_cut, output_tokens }: Estimate): number {
  return may_cut ? Math.min(SHORTEST_ANSWER, output_tokens) : output_tokens
}

/** The longest answer that fits in every budget. A longer answer never needs less. */
function longest(estimate: Estimate, fits: (output_tokens: number) => boolean): number | undefined {
  const { output_tokens } = estimate
  const least = leastOutput(estimate)
  if (least === output_tokens || !fits(least)) return undefined
  let [low, high] = [least, output_tokens]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

/** Only calls in progress take the room, and they may use less than they reserved. A run always uses its one. */
export function isHeldByOthers({ room: { budget, used }, wanted }: Shortfall<Room>): boolean {
  return budget.limit_kind !== 'runs' && used + wanted <= budget.amount
}

/** The call may need more than the whole budget, so waiting doesn't help. */
export function isTooMuch({ room: { budget }, wanted }: Shortfall<Room>): boolean {
  return wanted > budget.amount
}

/** What was used leaves no room. A call that is too large for the whole budget doesn't prove that. */
export function isUsedUp(lacking: Shortfall<Room>): boolean {
  const { used, budget } = lacking.room
  return used >= budget.amount || !(isHeldByOthers(lacking) || isTooMuch(lacking))
}

function hasRoom({ budget, used, reserved }: Room, estimate: Estimate, output_tokens: number): boolean {
  return used + reserved + wantedOf(budget, estimate, output_tokens) <= budget.amount
}

function wantedOf({ limit_kind }: Room['budget'], estimate: Estimate, output_tokens: number): number {
  if (limit_kind === 'runs') return 1
  return limit_kind === 'tokens' ? estimate.input_tokens + output_tokens : (costOf(estimate, output_tokens) ?? 0)
}

function costOf({ input_tokens, mostCost }: Estimate, output_tokens: number): Cost {
  return mostCost(input_tokens, output_tokens)
}

/**
 * What an ended call has used of a budget in which it reserved a part. An unknown cost is taken as the most it could
 * be.
 */
export function usedOf({ limit_kind }: Pick<Budget, 'limit_kind'>, used: LineUse, held: number): number {
  if (limit_kind === 'runs') return held
  return limit_kind === 'tokens' ? used.input_tokens + used.output_tokens : (used.cost_nano ?? held)
}
