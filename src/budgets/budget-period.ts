import { z } from 'zod'
import { TimeZone } from '../usage/periods.ts'

export const Per = z.enum(['hour', 'day', 'month', 'ever'])

/** A budget starts over at `end`. Null: it never does. */
export type BudgetPeriod = { start: number; end: number | null }

/** The period that a time is in. Days and months begin at midnight in the time zone, also where the clocks change. */
export function periodAt(per: z.output<typeof Per>, timezone: string, time: number): BudgetPeriod {
  return per === 'ever' ? { start: 0, end: null } : new TimeZone(timezone).periodAt(time, per)
}
