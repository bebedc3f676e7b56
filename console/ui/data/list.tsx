import type { MoorageError, Pagination } from '../../../sdk/client.ts'
import { useShownPage } from '../../lib/page-query.ts'
import type { Resource } from '../../lib/resource.ts'
import { Failure } from '../failure.tsx'
import { Pager } from './pager.tsx'
import { Table, type TableProps } from './table.tsx'

type Props<Row> = Omit<TableProps<Row>, 'rows'> & {
  of: Resource<{ data: Row[]; pagination: Pagination }>
  /** Another error, such as that of an action on a row. */
  error?: MoorageError | undefined
}

/** One page of a list: its rows, its error, and links to the other pages. */
export function List<Row>({ of, error: otherError, ...table }: Props<Row>) {
  const shown = useShownPage(of)
  return (
    <>
      <Failure error={of.error ?? otherError} retry={of.reload} />
      <Table {...table} rows={shown?.data} />
      <Pager pagination={shown?.pagination} />
    </>
  )
}
