import type { Cost } from '../../runtime/models/usage.ts'
import type { LineUse } from '../../usage/reservation.ts'
import type { Budget } from '../budget.ts'

/** What is left of a budget, when a call asks for a part of it. */
export type Room = { budget: Pick<Budget, 'limit_kind' | 'amount' | 'action'>; used: number; reserved: number }

/** A call that asks for room. */
export type Estimate = {
  input_tokens: number
  /** What the answer may have at most. */
  output_tokens: number
  /** The answer may be cut to what is left. */
  may_cut: boolean
  mostCost(input_tokens: number, output_tokens: number): Cost
}

/** A budget that has no room, and the least that the call needs of it. */
export type Shortfall<R extends Room> = { room: R; wanted: number }

export type RoomGrant<R extends Room> =
  | { output_tokens: number; held: number[] }
  /** All budgets that have no room. */
  | { lacking: Shortfall<R>[] }
  /** The budget is in dollars, and nothing tells what the call may cost. */
  | { unpriced: R }

/** A shorter answer is of no use. */
const SHORTEST_ANSWER = 16

/** Gives a call the same room in all budgets over it, or none. `held` has what it takes of each. */
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

/** The shortest answer that is of use. */
function leastOutput({ may_cut, output_tokens }: Estimate): number {
  return may_cut ? Math.min(SHORTEST_ANSWER, output_tokens) : output_tokens
}

/** The longest answer for which there is room everywhere. A longer one never needs less. */
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

/** Only calls that are under way stand in the way, and they may use less than they hold. A run that holds one uses one. */
export function isHeldByOthers({ room: { budget, used }, wanted }: Shortfall<Room>): boolean {
  return budget.limit_kind !== 'runs' && used + wanted <= budget.amount
}

/** The call may need more than the whole budget: no time makes room for it. */
export function isTooMuch({ room: { budget }, wanted }: Shortfall<Room>): boolean {
  return wanted > budget.amount
}

/** What was used leaves no room. A call that is too large for the budget tells nothing of that. */
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

/** What a call that has ended has used of a budget in which it held a part. A cost that is not known is the most it could be. */
export function usedOf({ limit_kind }: Pick<Budget, 'limit_kind'>, used: LineUse, held: number): number {
  if (limit_kind === 'runs') return held
  return limit_kind === 'tokens' ? used.input_tokens + used.output_tokens : (used.cost_nano ?? held)
}
