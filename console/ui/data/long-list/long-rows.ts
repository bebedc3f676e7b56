import { useEffect, useRef, useState } from 'preact/hooks'
import type { MoorageError, Pagination } from '../../../../sdk/client.ts'
import { whenSeen } from '../../../lib/resource.ts'
import { keep, recall } from '../../../lib/resource-cache.ts'
import { begun, type HeldRows, held, type Part, unheld } from './held-rows.ts'

/** How many rows are requested at once, which is more than the window shows. */
export const PART = 100
/** A reader who drags the scroll bar passes many rows, which needn't be requested. */
const SETTLED_MS = 70

export type LongRows<Row> = Partial<HeldRows<Row>> & { error: MoorageError | undefined; reload(): void }

type Options<Row> = {
  /** The list's name. Another name is another list. */
  name: string
  load(page: { limit: number; offset: number }, signal: AbortSignal): Promise<{ data: Row[]; pagination: Pagination }>
  keyOf(row: Row): string
  /** Whether new rows come before all others. */
  growsAtTop: boolean
  everyMs: number
  /** The position of the first row to show. */
  start: number
  /** Whether rows must stay where they are. */
  isHeld(): boolean
}

/** The rows of a long list around the visible position. They are loaded regularly. */
export function useLongRows<Row>({ name, start, ...options }: Options<Row>): LongRows<Row> {
  const [known, setKnown] = useState<{ name: string; rows: HeldRows<Row> | undefined }>({ name, rows: recalled(name) })
  const [error, setError] = useState<MoorageError | undefined>(undefined)
  const [asked, setAsked] = useState(0)
  const latest = useRef({ ...options, known })
  latest.current = { ...options, known }

  useEffect(() => {
    const life = new AbortController()
    const run = async () => {
      const { load, keyOf, growsAtTop, isHeld } = latest.current
      const before = latest.current.known.name === name ? latest.current.known.rows : undefined
      const isFixed = before !== undefined && isHeld()
      const offset = start + (isFixed ? before.fresh : 0)
      try {
        const part = await loadPart(load, offset, life.signal)
        if (life.signal.aborted) return
        const rows = isFixed ? held(before, part, { keyOf, growsAtTop }) : begun(part)
        keep(keyFor(name), unheld(rows))
        setKnown({ name, rows })
        setError(undefined)
      } catch (caught) {
        if (life.signal.aborted) return
        setError(caught as MoorageError)
      }
      timer = setTimeout(() => whenSeen(run, life.signal), latest.current.everyMs)
    }
    const isFirst = latest.current.known.name !== name || latest.current.known.rows === undefined
    let timer = setTimeout(run, isFirst ? 0 : SETTLED_MS)
    return () => {
      life.abort()
      clearTimeout(timer)
    }
  }, [name, start, asked])

  const rows = known.name === name ? known.rows : recalled<Row>(name)
  // The previous list's rows are shown until this list's rows are loaded.
  return { ...(rows ?? (error ? {} : known.rows)), error, reload: () => setAsked((count) => count + 1) }
}

/** A page with large rows contains fewer of them than requested, so the rest is requested again. */
async function loadPart<Row>(load: Options<Row>['load'], offset: number, life: AbortSignal): Promise<Part<Row>> {
  const rows: Row[] = []
  for (;;) {
    const page = { limit: PART - rows.length, offset: offset + rows.length }
    const { data, pagination } = await load(page, life)
    rows.push(...data)
    const { total } = pagination
    if (data.length === 0 || rows.length >= PART || offset + rows.length >= total) return { offset, rows, total }
  }
}

function keyFor(name: string): string {
  return `long ${name}`
}

function recalled<Row>(name: string): HeldRows<Row> | undefined {
  return recall(keyFor(name)) as HeldRows<Row> | undefined
}
