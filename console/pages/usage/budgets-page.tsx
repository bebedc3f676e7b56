import { useState } from 'preact/hooks'
import type { Budget } from '../../../sdk/client.ts'
import { param, setParams } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { BudgetDialog } from './budget-dialog.tsx'
import { PERIODS, scopeText } from './budget-text.ts'
import { Warnings } from './budget-warnings.tsx'
import { UsageTabs } from './usage-tabs.tsx'
import { useGroupNames } from './use-group-names.ts'

const LIVE_MS = 5_000

type OpenDialog = { what: 'edit' | 'delete'; budget: Budget }

/** The budgets, and how much of each is used. */
export function BudgetsPage() {
  const [doing, setDoing] = useState<OpenDialog>()
  const [saved, setSaved] = useState<Budget>()
  const query = pageQuery(25, 'name')
  const only = param('budget')
  const budgets = useResource(
    `budgets ${only} ${JSON.stringify(query)}`,
    async (signal) => {
      if (!only) return service.budgets.list(query as { sort: 'name' }, { signal })
      return { data: [await service.budgets.get(only, {}, { signal })], pagination: ONE }
    },
    { everyMs: LIVE_MS },
  )
  const scopes = budgets.data?.data.map(({ scope }) => (scope.id === null ? '' : `${scope.type}_id`))
  const nameOf = useGroupNames(scopes ?? [])
  const close = () => {
    setDoing(undefined)
    closeDialog()
  }
  const deleted = () => {
    setSaved(undefined)
    budgets.reload()
  }
  const isMaking = openedDialog() === 'budget' && may('createBudget')
  return (
    <Page
      title="Usage"
      windowTitle="Budgets"
      api={{ operation: 'listBudgets', method: 'budgets.list', query }}
      actions={
        may('createBudget') && (
          <Button look="main" icon="plus" onClick={() => openDialog('budget')}>
            New budget
          </Button>
        )
      }
    >
      <UsageTabs />
      <div class="filters">
        {only ? (
          <Button icon="close" onClick={() => setParams({ budget: undefined }, { push: true })}>
            Only {budgets.data?.data[0]?.name ?? only}
          </Button>
        ) : (
          <span class="hint">
            Each model call first reserves the most it could cost. Calls that don't fit in a budget are refused.
          </span>
        )}
      </div>
      <Warnings of={only ? budgets.data?.data[0] : saved} isNamed />
      <List of={budgets} label="Budgets" columns={columnsOf(nameOf, setDoing)} sort={query.sort} empty={<NoBudget />} />
      {(isMaking || doing?.what === 'edit') && (
        <BudgetDialog
          key={doing?.budget.id}
          budget={doing?.budget}
          onClose={close}
          onSaved={(text, changed) => {
            toast(text)
            setSaved(changed)
            budgets.reload()
          }}
        />
      )}
      {doing?.what === 'delete' && <DeleteBudget budget={doing.budget} onClose={close} onDone={deleted} />}
    </Page>
  )
}

const ONE = { limit: 1, offset: 0, total: 1, has_more: false }

function NoBudget() {
  return (
    <Empty title="No budgets yet">
      <p>
        Spending isn't limited yet. A budget limits dollars, tokens or runs per hour, day or month, or in total: for the
        project, an agent, a key or each user.
      </p>
    </Empty>
  )
}

const columnsOf = (
  nameOf: (column: string, value: string) => string,
  setDoing: (doing: OpenDialog) => void,
): Column<Budget>[] => [
  { title: 'Budget', sort: 'name', cell: ({ name }) => <b class="breaks">{name}</b> },
  { title: 'For', isExtra: true, cell: (budget) => scopeText(budget, nameOf) },
  { title: 'Used', cell: (budget) => <BudgetBar budget={budget} /> },
  {
    title: 'Period',
    isExtra: true,
    cell: ({ per, timezone }) => <span title={timezone}>{PERIODS[per]}</span>,
  },
  {
    title: 'Resets',
    isExtra: true,
    cell: ({ resets_at }) => (resets_at === null ? <span class="soft">never</span> : <Ago time={resets_at} />),
  },
  {
    title: 'When reached',
    isExtra: true,
    cell: ({ action, thresholds }) => (
      <>
        {action === 'refuse' ? 'refuses' : 'notifies only'}
        {thresholds.length > 0 && (
          <span class="soft"> · notifies at {thresholds.map((at) => `${at}%`).join(', ')}</span>
        )}
      </>
    ),
  },
  {
    title: '',
    isNumber: true,
    cell: (budget) => (
      <span class="cell-actions">
        {may('updateBudget') && (
          <Button
            look="quiet"
            icon="edit"
            label={`Change ${budget.name}`}
            onClick={() => setDoing({ what: 'edit', budget })}
          />
        )}
        {may('deleteBudget') && (
          <Button
            look="quiet"
            icon="close"
            label={`Delete ${budget.name}`}
            onClick={() => setDoing({ what: 'delete', budget })}
          />
        )}
      </span>
    ),
  },
]

type DeleteProps = { budget: Budget; onClose(): void; onDone(): void }

function DeleteBudget({ budget: { id, name }, onClose, onDone }: DeleteProps) {
  return (
    <Confirm
      title="Delete budget"
      action="Delete budget"
      isDanger
      onClose={onClose}
      work={async () => {
        await service.budgets.delete(id)
        toast(`Budget ${name} deleted`)
        setParams({ budget: undefined })
        onDone()
      }}
    >
      <p>
        <b>{name}</b> is deleted and no longer limits anything. Usage records are kept.
      </p>
    </Confirm>
  )
}
