import { setParams } from '../../lib/location.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { saveAnswer } from '../../lib/service.ts'
import { countText, shortText, usdText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { Chart } from '../../ui/chart/chart.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { type FoundUsage, loadUsage, type UsageQuery, usageQuery } from './load-usage.ts'
import { Unpriced } from './prices/unpriced.tsx'
import { chosenGroup, mayAskService, offeredGroups, type UsageGroup, usageFilters } from './usage-groups.ts'
import { isOwnRange, UsageRangeFilter, usageRangeKey, zoomUsage } from './usage-range.tsx'
import { usageSeries } from './usage-series.ts'
import { costText, UsageTable } from './usage-table.tsx'
import { UsageTabs } from './usage-tabs.tsx'
import { useGroupNames } from './use-group-names.ts'

const LIVE_MS = 30_000

/** What models have used and cost, over time and split by the chosen group. */
export function UsagePage() {
  const group = chosenGroup()
  const filters = usageFilters()
  const query = usageQuery(group)
  const names = useGroupNames([group.column, ...filters.map(([, column]) => column)])
  const { from: _from, to: _to, ...rest } = query
  const found = useResource(
    `usage ${usageRangeKey()} ${JSON.stringify(rest)}`,
    (signal) => loadUsage(usageQuery(group), signal),
    { everyMs: isOwnRange() ? undefined : LIVE_MS },
  )
  const save = useAction((asked: UsageQuery) => saveAnswer(csvPath(asked), `usage-by-${group.by}.csv`))
  const usage = found.data
  const isEmpty = usage?.groups.totals.calls === 0
  return (
    <Page
      title="Usage"
      api={{ operation: 'getUsage', method: 'usage.get', query }}
      actions={
        usage &&
        !isEmpty && (
          <Button icon="download" isBusy={save.isBusy} onClick={() => void save.run(usage.query)}>
            CSV
          </Button>
        )
      }
    >
      <UsageTabs />
      <div class="filters">
        <UsageRangeFilter />
        <Splits />
      </div>
      <Limits filters={filters} nameOf={names} />
      <Failure error={found.error ?? save.error} retry={found.reload} />
      {isEmpty && <Nothing isLimited={filters.length > 0} />}
      {usage && !isEmpty && <Found usage={usage} group={group} nameOf={names} />}
    </Page>
  )
}

function csvPath(query: UsageQuery): string {
  const given = Object.entries({ ...query, format: 'csv' }).filter(([, value]) => value !== undefined && value !== '')
  return `v1/usage?${new URLSearchParams(given as [string, string][])}`
}

/** Chooses how the sums are split, and whether they cover this project or all of them. */
function Splits() {
  const [first, ...others] = offeredGroups()
  const wordOf = ({ label }: UsageGroup) => `by ${label.toLowerCase()}`
  return (
    <>
      <ChoiceFilter
        name="by"
        label="Group by"
        all={first ? wordOf(first) : ''}
        choices={others.map((group) => [group.by, wordOf(group)])}
      />
      {mayAskService() && (
        <ChoiceFilter name="scope" label="Scope" all="This project" choices={[['service', 'All projects']]} />
      )}
    </>
  )
}

type NameOf = (column: string, value: string) => string

/** The active filters. Each can be removed. */
function Limits({ filters, nameOf }: { filters: ReturnType<typeof usageFilters>; nameOf: NameOf }) {
  if (filters.length === 0) return null
  return (
    <div class="filters">
      Only
      {filters.map(([label, column, value]) => (
        <Button key={column} icon="close" onClick={() => setParams({ [column]: undefined }, { push: true })}>
          {label.toLowerCase()} {nameOf(column, value)}
        </Button>
      ))}
    </div>
  )
}

function Nothing({ isLimited }: { isLimited: boolean }) {
  return (
    <Empty title="No usage in this range">
      <p>
        Usage appears within a second after a call to a model or an embedder.{' '}
        {isLimited
          ? 'Remove a filter, or choose a longer range.'
          : 'Choose a longer range, or send a message to an agent.'}
      </p>
    </Empty>
  )
}

function Found({ usage, group, nameOf }: { usage: FoundUsage; group: UsageGroup; nameOf: NameOf }) {
  const { totals } = usage.groups
  const called = (value: string | null) => (value === null ? group.none : nameOf(group.column, value))
  const { times, end, cost, tokens } = usageSeries(usage, group, called)
  const { granularity } = usage.query
  const common = { times, end, onZoom: zoomUsage }
  return (
    <>
      <Facts
        of={{
          Cost: <b>{costText(totals)}</b>,
          Calls: <b>{countText(totals.calls)}</b>,
          Input: <b>{`${countText(totals.input_tokens)} tokens`}</b>,
          Cached: totals.cached_tokens > 0 ? countText(totals.cached_tokens) : undefined,
          'Cache writes': totals.cache_write_tokens > 0 ? countText(totals.cache_write_tokens) : undefined,
          Output: <b>{`${countText(totals.output_tokens)} tokens`}</b>,
          Reasoning: totals.reasoning_tokens > 0 ? countText(totals.reasoning_tokens) : undefined,
        }}
      />
      <Unpriced models={usage.unpriced} />
      {!usage.isSplit && (
        <p class="notice">
          The charts show only totals, because there are too many groups to draw. The table lists the groups.
        </p>
      )}
      {totals.priced_cost_usd > 0 && (
        <Chart title={`Cost per ${granularity}`} lines={cost} least={0.000001} format={usdText} {...common} />
      )}
      <Chart title={`Tokens per ${granularity}`} lines={tokens} least={10} format={shortText} {...common} />
      <UsageTable usage={usage.groups} group={group} nameOf={nameOf} />
    </>
  )
}
