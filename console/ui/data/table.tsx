import type { ComponentChildren } from 'preact'
import { setParams } from '../../lib/location.ts'
import { Icon } from '../icon.tsx'

export type Column<Row> = {
  title: string
  cell(row: Row): ComponentChildren
  /** Numbers are aligned to the right, in digits of equal width. */
  isNumber?: boolean
  /** The field by which the service can sort. */
  sort?: string
  /** Hidden on narrow screens. */
  isExtra?: boolean
  /** Takes the remaining width. Its text is cut to one line. */
  isWide?: boolean
  /** The CSS width of a column in a long list, in which columns must not move. */
  width?: string
}

export type TableProps<Row> = {
  label: string
  columns: Column<Row>[]
  /** Undefined while they are loaded for the first time. */
  rows: Row[] | undefined
  /** Identifies a row. Default: its `id`. */
  keyOf?(row: Row): string
  /** The order of the rows: a field of the service, with `-` before it for descending order. */
  sort?: string
  empty?: ComponentChildren
  /** The sum of the rows, below them. */
  total?: Row
}

const EXPECTED_ROWS = 6

export const idOf = (row: unknown) => (row as { id: string }).id

/** Rows that the service has sorted and split into pages. A link in the first cell covers its whole row. */
export function Table<Item>({ label, columns, rows, keyOf = idOf, sort, empty, total }: TableProps<Item>) {
  if (rows?.length === 0) return <>{empty}</>
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table aria-busy={rows === undefined}>
        <thead>
          <Heads columns={columns} sort={sort} />
        </thead>
        <tbody>
          {rows
            ? rows.map((row) => <Row key={keyOf(row)} row={row} columns={columns} />)
            : Array.from({ length: EXPECTED_ROWS }, (_, i) => <ComingRow key={i} columns={columns} />)}
        </tbody>
        {total && (
          <tfoot>
            <Row row={total} columns={columns} />
          </tfoot>
        )}
      </table>
    </div>
  )
}

type RowProps<Item> = { row: Item; columns: Column<Item>[]; index?: number }

/** One row. `index` is its position among all rows, if not all of them are in the page. */
export function Row<Item>({ row, columns, index }: RowProps<Item>) {
  return (
    <tr aria-rowindex={index}>
      {columns.map((column) => (
        <td key={column.title} class={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  )
}

/** A placeholder for a row that is being loaded. */
export function ComingRow<Item>({ columns }: { columns: Column<Item>[] }) {
  return (
    <tr class="coming">
      {columns.map((column) => (
        <td key={column.title} class={classOf(column)}>
          <i />
        </td>
      ))}
    </tr>
  )
}

export function Heads<Item>({ columns, sort }: { columns: Column<Item>[]; sort: string | undefined }) {
  return (
    <tr>
      {columns.map((column) => (
        <Head key={column.title} column={column} order={sort} />
      ))}
    </tr>
  )
}

function classOf({ isNumber, isExtra, isWide }: Pick<Column<never>, 'isNumber' | 'isExtra' | 'isWide'>): string {
  return [isNumber && 'number', isExtra && 'extra', isWide && 'wide'].filter(Boolean).join(' ')
}

function Head<Item>({ column, order }: { column: Column<Item>; order: string | undefined }) {
  const { title, sort, width } = column
  const look = { class: classOf(column), ...(width && { style: { width } }) }
  if (!sort) return <th {...look}>{title}</th>
  const isDown = order === `-${sort}`
  const choose = () => setParams({ sort: isDown ? sort : `-${sort}`, offset: undefined }, { push: true })
  return (
    <th {...look} aria-sort={order === sort ? 'ascending' : isDown ? 'descending' : 'none'}>
      <button type="button" onClick={choose}>
        {title}
        <Icon name="down" />
      </button>
    </th>
  )
}
