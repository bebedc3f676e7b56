import { useState } from 'preact/hooks'
import type { Agent, CreateTrigger, Trigger, UpdateTrigger } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { SCHEME_NAMES, SCHEMES } from './schemes.ts'

type Scheme = Trigger['verify']['scheme']

type Props = {
  agent: Agent
  /** Changes this one, instead of making another. */
  trigger?: Trigger
  onClose(): void
  onSaved(): void
}

type Values = Record<
  'name' | 'scheme' | 'secret' | 'filter' | 'message' | 'user_from' | 'session_from' | 'environment',
  string
>

const SECRETS_SHOWN = 100

export function TriggerForm({ agent, trigger, onClose, onSaved }: Props) {
  const [values, setValues] = useState<Values>(trigger ? valuesOf(trigger) : beginWith('github'))
  const secrets = useResource(may('listSecrets') ? 'names of secrets' : undefined, (signal) =>
    service.secrets.list({ limit: SECRETS_SHOWN, sort: 'name' }, { signal }),
  )
  const scheme = values.scheme as Scheme
  const { secret: secretHint } = SCHEMES[scheme]
  const saveChanges = useChanges(trigger ? changeable(trigger) : {})
  const save = useAction(async () => {
    const wanted = bodyOf(values, trigger)
    if (trigger) {
      const now = changeable(await service.triggers.get(agent.id, trigger.id))
      await saveChanges(wanted, now, (changes) =>
        service.triggers.update(agent.id, trigger.id, changes as UpdateTrigger),
      )
      toast('Trigger updated')
      onSaved()
      onClose()
    } else {
      const { id } = await service.triggers.create(agent.id, wanted as CreateTrigger)
      toast('Trigger created')
      onSaved()
      go(agentPath(agent.name, `triggers/${id}`))
    }
  })
  const field = fieldsOf(values, setValues, save.error)
  return (
    <FormDialog
      title={trigger ? 'Edit trigger' : 'New trigger'}
      onClose={onClose}
      action={trigger ? 'Save' : 'Create trigger'}
      doing={save}
      isWide
    >
      <div class="columns">
        <Select
          label="Sender"
          value={scheme}
          error={reasonOf(save.error, 'verify.scheme')}
          choices={SCHEME_NAMES.map((value) => ({ value, label: SCHEMES[value].label }))}
          onChange={(value) =>
            // A new trigger shows what suits its sender, unless the reader has changed something.
            setValues(
              !trigger && isUntouched(values)
                ? { ...beginWith(value as Scheme), name: values.name, secret: values.secret }
                : { ...values, scheme: value },
            )
          }
        />
        <Field label="Name" {...field('name')} />
      </div>
      {secretHint && (
        <Field
          label="Secret"
          hint={`The name of one of the project's secrets. It contains: ${secretHint}`}
          isMono
          isRequired
          suggestions={secrets.data?.data.map(({ name }) => name)}
          {...field('secret')}
          error={reasonOf(save.error, 'verify.secret')}
        />
      )}
      <Field
        label="Message"
        rows={5}
        hint="{{/issue/title}} is a value in the body, {{header.Name}} a header, {{body}} the whole body."
        isRequired
        {...field('message')}
      />
      <div class="columns">
        <Field label="User" hint="Where the user_id is, such as /sender/login" isMono {...field('user_from')} />
        <Field label="Session" hint="Where the session_id is" isMono {...field('session_from')} />
      </div>
      <Field
        label="Filter (JSON)"
        rows={4}
        hint="Conditions that must all hold. Leave empty for every event."
        isMono
        problem={filterProblem(values.filter)}
        {...field('filter')}
      />
      <Field label="Environment" {...field('environment')} />
    </FormDialog>
  )
}

function beginWith(scheme: Scheme): Values {
  const { message, user_from = '', session_from = '', filter } = SCHEMES[scheme].begin
  const filterText = filter ? JSON.stringify(filter, null, 2) : ''
  return {
    name: '',
    scheme,
    secret: '',
    message,
    user_from,
    session_from,
    filter: filterText,
    environment: 'production',
  }
}

function isUntouched({ scheme, message, user_from, session_from, filter }: Values): boolean {
  const begun = beginWith(scheme as Scheme)
  return (
    message === begun.message &&
    user_from === begun.user_from &&
    session_from === begun.session_from &&
    filter === begun.filter
  )
}

function valuesOf({ name, verify, filter, message, user_from, session_from, environment }: Trigger): Values {
  return {
    name: name ?? '',
    scheme: verify.scheme,
    secret: verify.scheme === 'none' ? '' : verify.secret,
    filter: filter.length === 0 ? '' : JSON.stringify(filter, null, 2),
    message,
    user_from: user_from ?? '',
    session_from: session_from ?? '',
    environment,
  }
}

/** What the form can change in a trigger. */
function changeable({ name, verify, filter, message, user_from, session_from, environment }: Trigger): object {
  return { name, verify, filter, message, user_from, session_from, environment }
}

function bodyOf(values: Values, trigger: Trigger | undefined): object {
  const { name, scheme, secret, filter, message, user_from, session_from, environment } = values
  // Settings of the same scheme that the form doesn't show stay as they are.
  const kept = trigger?.verify.scheme === scheme ? trigger.verify : {}
  return {
    name: name.trim() || null,
    verify: scheme === 'none' ? { scheme } : { ...kept, scheme, secret: secret.trim() },
    filter: filter.trim() === '' ? [] : (JSON.parse(filter) as unknown),
    message,
    user_from: user_from.trim() || null,
    session_from: session_from.trim() || null,
    environment: environment.trim(),
  }
}

function filterProblem(text: string): string {
  if (text.trim() === '') return ''
  try {
    return Array.isArray(JSON.parse(text)) ? '' : 'Filter must be a list of conditions.'
  } catch {
    return 'Filter is not valid JSON.'
  }
}
