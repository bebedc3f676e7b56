import { useState } from 'preact/hooks'
import type { Agent, CreateSchedule, Schedule, UpdateSchedule } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { fieldTime } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Field, Segments, Select } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { NextTimes } from './next-times.tsx'

type Kind = 'cron' | 'every' | 'at'

type Props = {
  agent: Agent /** Changes this one, instead of making another. */
  schedule?: Schedule
  onClose(): void
  onSaved(): void
}

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export function ScheduleForm({ agent, schedule, onClose, onSaved }: Props) {
  const knownAt = schedule?.at ? fieldTime(Date.parse(schedule.at)) : ''
  const [kind, setKind] = useState<Kind>(schedule?.every ? 'every' : schedule?.at ? 'at' : 'cron')
  const [values, setValues] = useState({
    name: schedule?.name ?? '',
    message: schedule?.message ?? '',
    cron: schedule?.cron ?? '0 9 * * MON-FRI',
    timezone: schedule?.timezone ?? ZONE,
    every: schedule?.every ?? '1h',
    at: knownAt,
    environment: schedule?.environment ?? 'production',
    overlap: schedule?.overlap ?? 'skip',
    catch_up: schedule?.catch_up ?? 'none',
    on_budget: schedule?.on_budget ?? 'fail',
    priority: schedule?.priority ?? 'normal',
  })
  // The field doesn't show seconds. If the time wasn't changed, it isn't sent.
  const wanted = bodyOf(kind, values, (text) => (schedule?.at && text === knownAt ? schedule.at : isoTime(text)))
  const saveChanges = useChanges(schedule ? changeable(schedule) : wanted)
  const save = useAction(async () => {
    if (schedule) {
      const now = changeable(await service.schedules.get(agent.id, schedule.id))
      await saveChanges(wanted, now, (changes) => service.schedules.update(agent.id, schedule.id, named(changes)))
    } else await service.schedules.create(agent.id, named(wanted) as CreateSchedule)
    toast(schedule ? 'Schedule updated' : 'Schedule created')
    onSaved()
    onClose()
  })
  const field = fieldsOf(values, setValues, save.error)
  return (
    <FormDialog
      title={schedule ? 'Edit schedule' : 'New schedule'}
      onClose={onClose}
      action={schedule ? 'Save' : 'Create schedule'}
      doing={save}
    >
      <Field
        label="Message"
        rows={3}
        hint="The message sent to the agent each time."
        isRequired
        hasFocus
        {...field('message')}
      />
      <Segments
        label="When"
        value={kind}
        choices={[
          { value: 'cron', label: 'Cron' },
          { value: 'every', label: 'Interval' },
          { value: 'at', label: 'Once' },
        ]}
        onChange={(value) => setKind(value as Kind)}
      />
      {kind === 'cron' && (
        <div class="columns">
          <Field
            label="Cron expression"
            hint="Minute, hour, day, month, weekday"
            isMono
            isRequired
            {...field('cron')}
          />
          <Field label="Time zone" isRequired {...field('timezone')} />
        </div>
      )}
      {kind === 'cron' && <NextTimes cron={values.cron} timezone={values.timezone} />}
      {kind === 'every' && <Field label="Every" hint="Such as 15m, 2h or 1d" isMono isRequired {...field('every')} />}
      {kind === 'at' && <Field label="At" type="datetime-local" isRequired {...field('at')} />}
      <div class="columns">
        <Field label="Name" {...field('name')} />
        <Field label="Environment" {...field('environment')} />
      </div>
      <div class="columns">
        <Select
          label="If the previous run is still active"
          value={values.overlap}
          error={field('overlap').error}
          choices={[
            { value: 'skip', label: 'skip this run' },
            { value: 'queue', label: 'queue this run' },
          ]}
          onChange={field('overlap').onInput}
        />
        <Select
          label="If the service was down"
          value={values.catch_up}
          error={field('catch_up').error}
          choices={[
            { value: 'none', label: 'wait for the next time' },
            { value: 'one', label: 'run once to catch up' },
          ]}
          onChange={field('catch_up').onInput}
        />
      </div>
      <div class="columns">
        <Select
          label="If a budget is used up"
          value={values.on_budget}
          error={field('on_budget').error}
          choices={[
            { value: 'fail', label: 'fail' },
            { value: 'wait', label: 'wait until it resets' },
          ]}
          onChange={field('on_budget').onInput}
        />
        <Select
          label="Priority"
          value={values.priority}
          error={field('priority').error}
          choices={[
            { value: 'interactive', label: 'interactive' },
            { value: 'normal', label: 'normal' },
            { value: 'batch', label: 'batch' },
          ]}
          onChange={field('priority').onInput}
        />
      </div>
    </FormDialog>
  )
}

type Values = Record<
  Kind | 'name' | 'message' | 'timezone' | 'environment' | 'overlap' | 'catch_up' | 'on_budget' | 'priority',
  string
>

/** What the form can change in a schedule. One of `cron`, `every` and `at` isn't null. */
function changeable({ cron, timezone, every, at, name, message, environment, ...rest }: Schedule) {
  const { overlap, catch_up, on_budget, priority } = rest
  return { cron, timezone, every, at, name, message, environment, overlap, catch_up, on_budget, priority }
}

type Body = ReturnType<typeof changeable>

function bodyOf(kind: Kind, values: Values, timeOf: (text: string) => string): Body {
  const { name, message, environment, overlap, catch_up, on_budget, priority } = values
  return {
    cron: kind === 'cron' ? values.cron.trim() : null,
    timezone: kind === 'cron' ? values.timezone.trim() : null,
    every: kind === 'every' ? values.every.trim() : null,
    at: kind === 'at' ? timeOf(values.at) : null,
    name: name.trim() || null,
    message,
    environment: environment.trim(),
    overlap: overlap as 'skip',
    catch_up: catch_up as 'none',
    on_budget: on_budget as 'fail',
    priority: priority as 'normal',
  }
}

const isoTime = (text: string) => (Number.isNaN(Date.parse(text)) ? text : new Date(text).toISOString())

/** Converts to the API's form, leaving out the kinds of times that the schedule doesn't have. */
function named({ cron, timezone, every, at, ...others }: Partial<Body>): UpdateSchedule {
  return {
    ...others,
    ...(cron && { cron }),
    ...(timezone && { timezone }),
    ...(every && { every }),
    ...(at && { at }),
  }
}
