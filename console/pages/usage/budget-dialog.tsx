import { useState } from 'preact/hooks'
import type { Budget, CreateBudget } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { numberIn } from '../../lib/forms/typed-values.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf, reasonWithin } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { NumberField } from '../../ui/forms/number-field.tsx'
import { BudgetScopeFields, type ScopeChoice, scopeBody } from './budget-scope-fields.tsx'
import { kindOf, type LimitKind, limitOf, PERIODS } from './budget-text.ts'
import { Warnings } from './budget-warnings.tsx'
import { useUnpricedModels } from './prices/unpriced-models.ts'

const KINDS: { value: LimitKind; label: string }[] = [
  { value: 'cost_usd', label: 'US dollars' },
  { value: 'tokens', label: 'tokens' },
  { value: 'runs', label: 'runs' },
]
const ACTIONS = [
  { value: 'refuse', label: 'refuse the call' },
  { value: 'notify', label: 'only notify' },
]
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

type Props = { budget: Budget | undefined; onClose(): void; onSaved(told: string, budget: Budget): void }

function valuesOf(budget: Budget | undefined) {
  return {
    name: budget?.name ?? '',
    kind: budget ? kindOf(budget) : 'cost_usd',
    amount: budget ? String(limitOf(budget)) : '',
    per: budget?.per ?? 'month',
    timezone: budget?.timezone ?? ZONE,
    thresholds: (budget?.thresholds ?? [50, 80, 100]).join(', '),
    action: budget?.action ?? 'refuse',
  }
}

function bodyOf({ name, kind, amount, thresholds, action }: ReturnType<typeof valuesOf>) {
  return {
    name: name.trim(),
    limit: { [kind]: numberIn(amount) } as CreateBudget['limit'],
    thresholds: thresholds.split(/[\s,%]+/).flatMap((text) => (text ? [numberIn(text) as number] : [])),
    action,
  }
}

/** Creates or changes a budget. Its scope, kind and period can't be changed, because that would be another budget. */
export function BudgetDialog({ budget, onClose, onSaved }: Props) {
  const [scope, setScope] = useState<ScopeChoice>({ choice: 'project', id: '' })
  const [values, setValues] = useState(() => valuesOf(budget))
  const known = useResource(budget && `budget ${budget.id}`, (signal) =>
    service.budgets.get(budget?.id ?? '', {}, { signal }),
  )
  const saveChanges = useChanges(bodyOf(values))
  const save = useAction(async () => {
    const body = bodyOf(values)
    let saved: Budget
    if (budget) {
      saved = await service.budgets.get(budget.id)
      await saveChanges(body, bodyOf(valuesOf(saved)), async (changes) => {
        saved = await service.budgets.update(budget.id, changes)
      })
    } else {
      const { per, timezone } = values
      saved = await service.budgets.create({ ...body, scope: scopeBody(scope), per, timezone: timezone.trim() })
    }
    onClose()
    onSaved(budget ? `Budget ${body.name} updated` : `Budget ${body.name} created`, saved)
  })
  const field = fieldsOf(values, setValues, save.error)
  const choice = (name: keyof typeof values) => ({
    value: values[name],
    error: reasonOf(save.error, name),
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  })
  const hasDays = values.per === 'day' || values.per === 'month'
  return (
    <FormDialog
      title={budget ? `Change ${budget.name}` : 'New budget'}
      onClose={onClose}
      action={budget ? 'Save' : 'Create budget'}
      doing={save}
    >
      <Field label="Name" placeholder="Support, monthly" isRequired hasFocus {...field('name')} />
      {!budget && <BudgetScopeFields scope={scope} setScope={setScope} error={reasonOf(save.error, 'scope.id')} />}
      <div class="columns">
        <NumberField
          label="Limit"
          placeholder={values.kind === 'cost_usd' ? '25' : '100000'}
          hint={budget ? `In ${KINDS.find(({ value }) => value === values.kind)?.label}.` : 'A number, such as 25.'}
          isRequired
          {...field('amount', reasonOf(save.error, 'limit') ? 'limit' : `limit.${values.kind}`)}
        />
        {!budget && <Select label="Unit" choices={KINDS} {...choice('kind')} />}
      </div>
      {!budget && (
        <div class="columns">
          <Select
            label="Period"
            choices={Object.entries(PERIODS).map(([value, label]) => ({ value, label }))}
            {...choice('per')}
          />
          {hasDays && <Field label="Time zone" isRequired {...field('timezone')} />}
        </div>
      )}
      <div class="columns">
        <Select label="When the limit is reached" choices={ACTIONS} {...choice('action')} />
        <Field
          label="Notify at (%)"
          hint="Percentages of the limit at which webhooks are notified."
          {...field('thresholds')}
          error={reasonWithin(save.error, 'thresholds')}
        />
      </div>
      {budget ? <Warnings of={known.data} /> : <UnpricedWarning values={values} />}
    </FormDialog>
  )
}

const MOST_NAMED = 5

function namesText(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  const shown = names.slice(0, MOST_NAMED).join(', ')
  return more > 0 ? `${shown} and ${more} more` : shown
}

/** A budget that is being created has no warnings yet. This one covers all models of the project. */
function UnpricedWarning({ values: { kind, action } }: { values: ReturnType<typeof valuesOf> }) {
  const isInDollars = kind === 'cost_usd'
  const { data: models = [] } = useUnpricedModels(isInDollars)
  if (!isInDollars || models.length === 0) return null
  return (
    <p class="notice" role="status">
      These models have no price: {namesText(models)}. A budget in US dollars{' '}
      {action === 'refuse' ? 'refuses' : "doesn't count"} calls without a price.{' '}
      <a href={href('/usage/prices')}>Set prices</a>
    </p>
  )
}
