import type { ComponentChildren } from 'preact'
import type { Pagination } from '../../sdk/client.ts'
import { countText } from '../lib/format.ts'
import { param, setParams } from '../lib/location.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'

export type Column<Row> = {
  title: string
  cell(row: Row): ComponentChildren
  /** Numbers stand on the right, in figures of equal width. */
  isNumber?: boolean
  /** The service sorts by this field. */
  sort?: string
  /** Left out where the screen is narrow. */
  isExtra?: boolean
  /** Takes the room that is left; its text is cut to one line. */
  isWide?: boolean
}

type Props<Row> = {
  label: string
  columns: Column<Row>[]
  /** Undefined while they are loaded for the first time. */
  rows: Row[] | undefined
  keyOf(row: Row): string
  defaultSort?: string
  empty?: ComponentChildren
  /** Older rows are shown while newer ones are loaded. */
  isStale?: boolean
}

const EXPECTED_ROWS = 6

/** Rows that the service has sorted and cut into pages. A link in the first cell covers its whole row. */
export function Table<Row>({ label, columns, rows, keyOf, defaultSort, empty, isStale }: Props<Row>) {
  if (rows?.length === 0) return <>{empty}</>
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table class={isStale ? 'stale' : ''} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.title} column={column} defaultSort={defaultSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows
            ? rows.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map((column) => (
                    <td key={column.title} class={classOf(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              ))
            : Array.from({ length: EXPECTED_ROWS }, (_, i) => (
                <tr key={i} class="coming">
                  {columns.map((column) => (
                    <td key={column.title} class={classOf(column)}>
                      <i />
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
    </div>
  )
}

function classOf({ isNumber, isExtra, isWide }: Pick<Column<never>, 'isNumber' | 'isExtra' | 'isWide'>): string {
  return [isNumber && 'number', isExtra && 'extra', isWide && 'wide'].filter(Boolean).join(' ')
}

function Head<Row>({ column, defaultSort }: { column: Column<Row>; defaultSort: string | undefined }) {
  const { title, sort } = column
  if (!sort) return <th class={classOf(column)}>{title}</th>
  const now = param('sort') ?? defaultSort
  const isDown = now === `-${sort}`
  const order = now === sort ? 'ascending' : isDown ? 'descending' : 'none'
  const choose = () => setParams({ sort: isDown ? sort : `-${sort}`, offset: undefined }, { push: true })
  return (
    <th class={classOf(column)} aria-sort={order}>
      <button type="button" onClick={choose}>
        {title}
        <Icon name="down" />
      </button>
    </th>
  )
}

/** Which rows are shown, of how many; the page is in the URL. */
export function Pager({ pagination }: { pagination: Pagination | undefined }) {
  if (!pagination || pagination.total === 0) return null
  const { limit, offset, total, has_more } = pagination
  const to = (target: number) => setParams({ offset: target || undefined }, { push: true })
  return (
    <nav class="pager" aria-label="Pages">
      <span>
        {countText(offset + 1)}–{countText(Math.min(offset + limit, total))} of {countText(total)}
      </span>
      {(offset > 0 || has_more) && (
        <>
          <Button
            icon="left"
            label="Previous page"
            disabled={offset === 0}
            onClick={() => to(Math.max(0, offset - limit))}
          />
          <Button icon="right" label="Next page" disabled={!has_more} onClick={() => to(offset + limit)} />
        </>
      )}
    </nav>
  )
}
