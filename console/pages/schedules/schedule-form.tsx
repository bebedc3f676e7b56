import { useState } from 'preact/hooks'
import type { Agent, CreateSchedule, Schedule } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { fieldTime } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field, Segments, Select } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

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
  })
  const save = useAction(async () => {
    const body = bodyOf(kind, values)
    // A time that stays is not sent: the field does not show its seconds, and it may have passed.
    if (kind === 'at' && knownAt && values.at === knownAt) delete body.at
    if (schedule) await service.schedules.update(agent.id, schedule.id, body)
    else await service.schedules.create(agent.id, body)
    toast(schedule ? 'The schedule is changed' : 'The schedule is set')
    onSaved()
    onClose()
  })
  const field = (name: keyof typeof values) => ({
    value: values[name],
    error: reasonOf(save.error, name),
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  })
  return (
    <Dialog title={schedule ? 'Change the schedule' : 'New schedule'} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <Field
          label="Message"
          rows={3}
          hint="What the agent is asked each time."
          isRequired
          hasFocus
          {...field('message')}
        />
        <Segments
          label="When"
          value={kind}
          choices={[
            { value: 'cron', label: 'At certain times' },
            { value: 'every', label: 'Again and again' },
            { value: 'at', label: 'Once' },
          ]}
          onChange={(value) => setKind(value as Kind)}
        />
        {kind === 'cron' && (
          <div class="columns">
            <Field label="Times" hint="Minute, hour, day, month, weekday" isMono isRequired {...field('cron')} />
            <Field label="Time zone" isRequired {...field('timezone')} />
          </div>
        )}
        {kind === 'every' && <Field label="Every" hint="Such as 15m, 2h or 1d" isMono isRequired {...field('every')} />}
        {kind === 'at' && <Field label="At" type="datetime-local" isRequired {...field('at')} />}
        <div class="columns">
          <Field label="Name" {...field('name')} />
          <Field label="Environment" {...field('environment')} />
        </div>
        <div class="columns">
          <Select
            label="If one still runs"
            value={values.overlap}
            choices={[
              { value: 'skip', label: 'leave this one out' },
              { value: 'queue', label: 'begin after it' },
            ]}
            onChange={field('overlap').onInput}
          />
          <Select
            label="If the service was down"
            value={values.catch_up}
            choices={[
              { value: 'none', label: 'wait for the next time' },
              { value: 'one', label: 'make up for it once' },
            ]}
            onChange={field('catch_up').onInput}
          />
        </div>
        <Select
          label="If a budget has no room"
          value={values.on_budget}
          choices={[
            { value: 'fail', label: 'fail' },
            { value: 'wait', label: 'wait until it has' },
          ]}
          onChange={field('on_budget').onInput}
        />
        <Failure error={save.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={save.isBusy}>
            {schedule ? 'Save' : 'Set schedule'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

type Values = Record<
  Kind | 'name' | 'message' | 'timezone' | 'environment' | 'overlap' | 'catch_up' | 'on_budget',
  string
>

function bodyOf(
  kind: Kind,
  { name, message, environment, overlap, catch_up, on_budget, ...times }: Values,
): CreateSchedule {
  const when = {
    cron: { cron: times.cron.trim(), timezone: times.timezone.trim() },
    every: { every: times.every.trim() },
    at: { at: times.at && new Date(times.at).toISOString() },
  }[kind]
  return {
    ...when,
    name: name.trim() || null,
    message,
    environment: environment.trim(),
    overlap: overlap as 'skip',
    catch_up: catch_up as 'none',
    on_budget: on_budget as 'fail',
  }
}
