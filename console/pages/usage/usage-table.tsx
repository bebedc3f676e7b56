import type { Usage, UsageRow } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { here } from '../../lib/location.ts'
import { counted, countText, usdText } from '../../lib/text/format.ts'
import { Cost } from '../../ui/data/cost.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { nextGroup, type UsageGroup, valueIn } from './usage-groups.ts'
import { byCost } from './usage-series.ts'

/** How many rows are shown. The CSV contains all of them. */
const MOST_SHOWN = 200

type Sums = Usage['totals']
type TableRow = Sums & { value: string | null; isTotal: boolean }

/** A cost. An unknown price is never shown as zero. */
export function costText({ cost_usd, priced_cost_usd }: Sums): string {
  return cost_usd === null && priced_cost_usd > 0 ? `at least ${usdText(priced_cost_usd)}` : usdText(cost_usd)
}

type Props = { usage: Usage; group: UsageGroup; nameOf(column: string, value: string): string }

/** The sums of each group and in total. Clicking a group opens the page limited to it. */
export function UsageTable({ usage: { rows, totals }, group, nameOf }: Props) {
  const shown = rows.toSorted(byCost).slice(0, MOST_SHOWN)
  const asShown = (row: UsageRow): TableRow => ({ ...row, value: valueIn(group, row), isTotal: false })
  const name = ({ value, isTotal }: TableRow) => {
    if (isTotal) return 'Total'
    if (value === null) return <span class="soft">{group.none}</span>
    return (
      <a href={limitedTo(group, value)} title={value}>
        {nameOf(group.column, value)}
      </a>
    )
  }
  return (
    <>
      <Table
        label="Usage"
        columns={[{ title: group.label, cell: name }, ...SUMS]}
        rows={shown.map(asShown)}
        keyOf={({ value }) => value ?? ''}
        total={{ ...totals, value: null, isTotal: true }}
      />
      {rows.length > shown.length && (
        <p class="hint">
          Shows the {countText(shown.length)} most expensive of {countText(rows.length)}. The CSV has all of them.
        </p>
      )}
    </>
  )
}

const SUMS: Column<TableRow>[] = [
  { title: 'Calls', isNumber: true, isExtra: true, cell: ({ calls }) => countText(calls) },
  { title: 'Input', isNumber: true, isExtra: true, cell: ({ input_tokens }) => countText(input_tokens) },
  { title: 'Cached', isNumber: true, isExtra: true, cell: ({ cached_tokens }) => countText(cached_tokens) },
  { title: 'Cache writes', isNumber: true, isExtra: true, cell: (row) => countText(row.cache_write_tokens) },
  { title: 'Output', isNumber: true, isExtra: true, cell: ({ output_tokens }) => countText(output_tokens) },
  { title: 'Reasoning', isNumber: true, isExtra: true, cell: ({ reasoning_tokens }) => countText(reasoning_tokens) },
  { title: 'Tokens', isNumber: true, cell: ({ total_tokens }) => countText(total_tokens) },
  {
    title: 'Cost',
    isNumber: true,
    cell: (sums) =>
      sums.cost_usd === null && sums.priced_cost_usd === 0 ? (
        <Cost usd={null} />
      ) : (
        <span title={whyUnknown(sums)}>{costText(sums)}</span>
      ),
  },
]

function whyUnknown({ unpriced_calls }: Sums): string | undefined {
  return unpriced_calls > 0 ? `without a price: ${counted(unpriced_calls, 'call')}` : undefined
}

/** The URL of this page with another filter, split by something else. For a project, that project is opened. */
function limitedTo({ column }: UsageGroup, value: string): string {
  const query = new URLSearchParams(here.value.query)
  if (column === 'project_id') {
    query.set('project', value)
    query.delete('scope')
  } else query.set(column, value)
  query.set('by', nextGroup(column))
  return href(`/usage?${query}`)
}
