import type { ConditionalPrice, ModelPrice } from '@pydantic/genai-prices'
import type { ListedPrice } from './vendor-prices-worker.ts'

const DAY_MS = 86_400_000

/** The price at a certain time: the last one whose condition is true, as the list intends. */
export function listedAt(listed: NonNullable<ListedPrice>, time: number): ModelPrice {
  if (!Array.isArray(listed)) return listed
  const holding = listed.findLast(({ constraint }) => constraint === undefined || holds(constraint, time))
  return (holding ?? listed[0])?.prices ?? {}
}

function holds(constraint: NonNullable<ConditionalPrice['constraint']>, time: number): boolean {
  if (constraint.type === 'start_date') return time >= Date.parse(constraint.start_date)
  const now = time % DAY_MS
  const [from, to] = [timeOfDay(constraint.start_time), timeOfDay(constraint.end_time)]
  return to < from ? now >= from || now < to : now >= from && now < to
}

/** In UTC. The text may have an offset, as in `16:30:00Z`. */
function timeOfDay(text: string): number {
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/.test(text)
  const time = Date.parse(`1970-01-02T${text}${hasZone ? '' : 'Z'}`)
  return ((time % DAY_MS) + DAY_MS) % DAY_MS
}
