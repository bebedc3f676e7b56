import { useState } from 'preact/hooks'
import type { Budget, CreateBudget } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { BudgetScopeFields, type ScopeChoice, scopeBody } from './budget-scope-fields.tsx'
import { kindOf, type LimitKind, limitOf, PERIODS } from './budget-text.ts'

const KINDS: { value: LimitKind; label: string }[] = [
  { value: 'cost_usd', label: 'US dollars' },
  { value: 'tokens', label: 'tokens' },
  { value: 'runs', label: 'runs' },
]
const ACTIONS = [
  { value: 'refuse', label: 'refuse the call' },
  { value: 'notify', label: 'only tell' },
]
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

type Props = { budget: Budget | undefined; onClose(): void; onSaved(told: string): void }

/** Makes a budget, or changes one. What it is for, its kind and its period stay: others are another budget. */
export function BudgetDialog({ budget, onClose, onSaved }: Props) {
  const [scope, setScope] = useState<ScopeChoice>({ choice: 'project', id: '' })
  const [values, setValues] = useState({
    name: budget?.name ?? '',
    kind: budget ? kindOf(budget) : 'cost_usd',
    amount: budget ? String(limitOf(budget)) : '',
    per: budget?.per ?? 'month',
    timezone: budget?.timezone ?? ZONE,
    thresholds: (budget?.thresholds ?? [50, 80, 100]).join(', '),
    action: budget?.action ?? 'refuse',
  })
  const save = useAction(async () => {
    const { name, kind, amount, per, timezone, thresholds, action } = values
    const changes = {
      name: name.trim(),
      limit: { [kind]: Number(amount) } as CreateBudget['limit'],
      thresholds: thresholds.split(/[\s,%]+/).flatMap((text) => (text ? [Number(text)] : [])),
      action,
    }
    if (budget) await service.budgets.update(budget.id, changes)
    else await service.budgets.create({ ...changes, scope: scopeBody(scope), per, timezone: timezone.trim() })
    onClose()
    onSaved(budget ? `The budget ${changes.name} is changed` : `The budget ${changes.name} holds from now on`)
  })
  const field = (name: keyof typeof values, told: string = name) => ({
    value: values[name],
    error: reasonOf(save.error, told),
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  })
  const choice = (name: keyof typeof values) => ({
    value: values[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  })
  const hasDays = values.per === 'day' || values.per === 'month'
  return (
    <Dialog title={budget ? `Change ${budget.name}` : 'New budget'} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <Field label="Name" placeholder="Support, monthly" isRequired hasFocus {...field('name')} />
        {!budget && <BudgetScopeFields scope={scope} setScope={setScope} error={reasonOf(save.error, 'scope.id')} />}
        <div class="columns">
          <Field
            label="Limit"
            pattern="[0-9]*\.?[0-9]+"
            inputMode="decimal"
            placeholder={values.kind === 'cost_usd' ? '25' : '100000'}
            hint={budget ? `In ${KINDS.find(({ value }) => value === values.kind)?.label}.` : 'A number, such as 25.'}
            isRequired
            {...field('amount', reasonOf(save.error, 'limit') ? 'limit' : `limit.${values.kind}`)}
          />
          {!budget && <Select label="In" choices={KINDS} {...choice('kind')} />}
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
          <Select label="When it is reached" choices={ACTIONS} {...choice('action')} />
          <Field
            label="Tell at"
            pattern="[0-9,% ]*"
            hint="Per cent of the limit, for webhooks."
            {...field('thresholds')}
          />
        </div>
        <Failure error={save.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={save.isBusy}>
            {budget ? 'Save' : 'Create budget'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
