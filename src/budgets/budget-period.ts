import { z } from 'zod'
import { TimeZone } from '../usage/periods.ts'

export const Per = z.enum(['hour', 'day', 'month', 'ever'])

/** A budget starts over at `end`. Null: never. */
export type BudgetPeriod = { start: number; end: number | null }

/** The period that contains a time. Days and months begin at midnight in the time zone, also when the clocks change. */
export function periodAt(per: z.output<typeof Per>, timezone: string, time: number): BudgetPeriod {
  return per === 'ever' ? { start: 0, end: null } : new TimeZone(timezone).periodAt(time, per)
}
