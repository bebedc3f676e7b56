import type { ComponentChildren } from 'preact'
import { setParams } from '../../lib/location.ts'
import { Icon } from '../icon.tsx'

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

export type TableProps<Row> = {
  label: string
  columns: Column<Row>[]
  /** Undefined while they are loaded for the first time. */
  rows: Row[] | undefined
  keyOf(row: Row): string
  /** The order of the rows: a field of the service, with `-` before it if the highest come first. */
  sort?: string
  empty?: ComponentChildren
}

const EXPECTED_ROWS = 6

/** Rows that the service has sorted and cut into pages. A link in the first cell covers its whole row. */
export function Table<Row>({ label, columns, rows, keyOf, sort, empty }: TableProps<Row>) {
  if (rows?.length === 0) return <>{empty}</>
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.title} column={column} order={sort} />
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

function Head<Row>({ column, order }: { column: Column<Row>; order: string | undefined }) {
  const { title, sort } = column
  if (!sort) return <th class={classOf(column)}>{title}</th>
  const isDown = order === `-${sort}`
  const choose = () => setParams({ sort: isDown ? sort : `-${sort}`, offset: undefined }, { push: true })
  return (
    <th class={classOf(column)} aria-sort={order === sort ? 'ascending' : isDown ? 'descending' : 'none'}>
      <button type="button" onClick={choose}>
        {title}
        <Icon name="down" />
      </button>
    </th>
  )
}
