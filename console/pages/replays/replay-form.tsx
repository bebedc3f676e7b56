import { useState } from 'preact/hooks'
import type { Agent, CreateReplay } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { NumberField } from '../../ui/forms/number-field.tsx'

type Props = { agent: Agent; sets: string[]; onClose(): void; onStarted(): void }

const PAST = ''

export function ReplayForm({ agent, sets, onClose, onStarted }: Props) {
  const [set, setSet] = useState(sets[0] ?? PAST)
  const [values, setValues] = useState({ version: '', last: '100', contains: '', judge: '', cost: '' })
  const start = useAction(async () => {
    await service.replays.create(agent.id, bodyOf(set, values))
    toast('Replay started')
    onStarted()
    onClose()
  })
  const field = fieldsOf(values, setValues, start.error)
  return (
    <FormDialog title="New replay" onClose={onClose} action="Start replay" doing={start}>
      <div class="columns">
        <Select
          label="Messages"
          value={set}
          choices={[...sets.map((name) => ({ value: name, label: name })), { value: PAST, label: 'past invocations' }]}
          onChange={setSet}
          error={reasonOf(start.error, 'set')}
        />
        {set === PAST && <NumberField label="How many" hint="The last invocations" isRequired {...field('last')} />}
        <Field label="Version" hint="Leave empty for the draft." {...field('version')} />
      </div>
      <Field label="Answers must contain" hint="Leave empty for no check." {...field('contains', 'checks')} />
      <Field
        label="Criterion for a judge model"
        hint="In words, such as: The answer is polite. Leave empty for no check."
        {...field('judge', 'checks')}
      />
      <NumberField label="Cost limit (USD)" hint="Leave empty for no limit." {...field('cost', 'limits.cost_usd')} />
    </FormDialog>
  )
}

type Values = Record<'version' | 'last' | 'contains' | 'judge' | 'cost', string>

function bodyOf(set: string, { version, last, contains, judge, cost }: Values): CreateReplay {
  return {
    ...(version.trim() ? { version: version.trim() } : { working_copy: true }),
    ...(set === PAST ? { filter: {}, last: Number(last) } : { set }),
    checks: [
      ...(contains ? [{ type: 'contains' as const, value: contains }] : []),
      ...(judge ? [{ type: 'judge' as const, value: judge }] : []),
    ],
    limits: { cost_usd: cost.trim() ? Number(cost) : null },
  }
}
