import type { MoorageError } from '../../../../sdk/client.ts'
import { countText } from '../../../lib/text/format.ts'
import { Button } from '../../button.tsx'
import { Failure } from '../../failure.tsx'
import { ComingRow, Heads, idOf, Row, type TableProps } from '../table.tsx'
import { type LongRows, PART, useLongRows } from './long-rows.ts'
import { ROW_PX, usePosition, usePositionInUrl } from './list-position.ts'

type Props<Item> = Omit<TableProps<Item>, 'rows'> &
  Pick<Parameters<typeof useLongRows<Item>>[0], 'name' | 'load' | 'everyMs'> & {
    /** Another error to show. */
    error?: MoorageError | undefined
  }

/** How many rows above and below the visible ones are already in the page when the reader scrolls or tabs to them. */
const SPARE = 12
const EXPECTED_ROWS = 12
/** Browsers can't draw much more than this. */
const MOST_ROWS = 400_000

/**
 * A list that can have hundreds of thousands of rows. It scrolls in its own window, and only visible rows are in the
 * page. The URL contains the position. The list is live, but rows that the reader is looking at don't move.
 */
export function LongList<Item>({ name, load, everyMs, label, columns, keyOf = idOf, sort = '', empty, error }: Props<Item>) {
  const position = usePosition()
  const { at, visible } = position
  const long = useLongRows<Item>({
    name,
    load,
    keyOf,
    everyMs,
    growsAtTop: sort.startsWith('-'),
    start: Math.max(0, Math.floor((at - (PART - visible) / 2) / SPARE) * SPARE),
    isHeld: position.isHeld,
  })
  usePositionInUrl(position, (long.total ?? 0) > 0, long.fresh ?? 0)
  if (long.total === 0) return <>{long.error ? <Failure error={long.error} retry={long.reload} /> : empty}</>
  const total = Math.min(long.total ?? EXPECTED_ROWS, MOST_ROWS)
  const from = Math.max(0, Math.min(at, total) - SPARE)
  const to = Math.min(total, at + visible + SPARE)
  return (
    <>
      <Failure error={long.error ?? error} retry={long.reload} />
      <div class="long-frame">
        <div
          class="long"
          ref={position.frame}
          onScroll={position.onScroll}
          // When a row gets the focus, it is scrolled to immediately, but the scroll event comes only after the next
          // key press.
          onFocusIn={position.onScroll}
          role="region"
          aria-label={label}
          tabIndex={0}
        >
          <table aria-rowcount={long.total === undefined ? -1 : total + 1} aria-busy={long.rows === undefined}>
            <thead>
              <Heads columns={columns} sort={sort} />
            </thead>
            <tbody>
              <Gap rows={from} />
              {Array.from({ length: Math.max(0, to - from) }, (_, i) => {
                const row = long.rows?.get(from + i)
                if (row === undefined) return <ComingRow key={`coming ${i}`} columns={columns} />
                return <Row key={keyOf(row)} row={row} columns={columns} index={from + i + 2} />
              })}
              <Gap rows={total - to} />
            </tbody>
          </table>
        </div>
        {(long.fresh ?? 0) > 0 && (
          <div class="fresh">
            <Button look="main" icon="up" onClick={() => position.scrollTo(0)}>
              {countText(long.fresh)} new
            </Button>
          </div>
        )}
      </div>
      <Range long={long} at={at} visible={visible} />
    </>
  )
}

/** Stands for rows that aren't in the page. It has one cell, because spanning hidden columns would create them. */
function Gap({ rows }: { rows: number }) {
  if (rows <= 0) return null
  return (
    <tr class="gap" aria-hidden="true">
      <td style={{ height: `${rows * ROW_PX}px` }} />
    </tr>
  )
}

/** Which rows are visible, out of how many. */
function Range({ long, at, visible }: { long: LongRows<unknown>; at: number; visible: number }) {
  if (long.total === undefined) return null
  const { total, fresh = 0 } = long
  return (
    <p class="pager">
      {countText(at + fresh + 1)}–{countText(Math.min(at + visible, total) + fresh)} of {countText(total + fresh)}
      {total > MOST_ROWS && '. Use filters to find older ones'}
    </p>
  )
}
