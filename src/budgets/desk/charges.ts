import type { Write } from '../../storage/journal/rows.ts'
import type { Reservation } from '../../usage/reservation.ts'
import type { ApplicableBudget } from './applies.ts'
import { type CounterKey, counterWrite } from './counter-store.ts'
import { usedOf } from './grant.ts'

/** A part of a budget that a call has reserved. */
export type Charge = ApplicableBudget & { held: number }

/** What a call has reserved until it ends. */
export function reservationOf(
  charges: readonly Charge[],
  owner: string,
  max_output_tokens: number | undefined,
): Reservation {
  return {
    max_output_tokens,
    owner,
    settled: (used) =>
      charges.map(({ budget, counter, held }) =>
        counterWrite(counter, { used: usedOf(budget, used, held), reserved: -held }),
      ),
    found: () => charges.map(({ counter, held }) => counterWrite(counter, { used: -held, reserved: held })),
  }
}

/** A call that reserves nothing, and is counted when it has ended. Until then its line is not in the ledger. */
export function countingOf(applied: readonly ApplicableBudget[]): Reservation | undefined {
  if (applied.length === 0) return undefined
  return {
    max_output_tokens: undefined,
    owner: undefined,
    settled: (used) =>
      applied.map(({ budget, counter }) => {
        // A run is counted as one, and a call with an unknown price as zero.
        const most = budget.limit_kind === 'runs' ? 1 : 0
        return counterWrite(counter, { used: usedOf(budget, used, most), kept: 1 })
      }),
    found: () => [],
  }
}

type StoredCharge = [budget_id: string, subject: string, period_start: number, held: number]

/** The form that a reserved line stores, for the node that finds it if this one dies. */
export function chargesText(charges: readonly Charge[]): string {
  return JSON.stringify(
    charges.map(
      ({ counter: { budget_id, subject, period_start }, held }): StoredCharge => [
        budget_id,
        subject,
        period_start,
        held,
      ],
    ),
  )
}

function readCharges(text: string | null): { counter: CounterKey; held: number }[] {
  const stored = text === null ? [] : (JSON.parse(text) as StoredCharge[])
  return stored.map(([budget_id, subject, period_start, held]) => ({
    counter: { budget_id, subject, period_start },
    held,
  }))
}

/** What a line reserved is counted as used: it is unknown whether its call was answered. */
export function lapseWrites(charges: string | null): Write[] {
  return readCharges(charges).map(({ counter, held }) => counterWrite(counter, { used: held, reserved: -held }))
}

/** Frees what a line reserved, because its call was not made. */
export function undoWrites(charges: readonly Charge[]): Write[] {
  return charges.map(({ counter, held }) => counterWrite(counter, { reserved: -held }))
}

/** What a line reserved is not counted as used after all, because its call was not made. */
export function unlapseWrites(charges: readonly Charge[]): Write[] {
  return charges.map(({ counter, held }) => counterWrite(counter, { used: -held }))
}
