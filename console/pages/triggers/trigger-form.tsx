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
import { EmailFields } from './email-fields.tsx'
import { EMAIL, MAIL_SCHEMES, PLATFORMS, SCHEME_NAMES, SCHEMES } from './schemes.ts'

type Scheme = Trigger['verify']['scheme']

type Props = {
  agent: Agent
  /** Changes this one, instead of making another. */
  trigger?: Trigger
  onClose(): void
  onSaved(): void
}

type Values = Record<
  | 'name'
  | 'kind'
  | 'scheme'
  | 'secret'
  | 'bot_token'
  | 'address'
  | 'provider'
  | 'api_key'
  | 'authserv_id'
  | 'filter'
  | 'message'
  | 'user_from'
  | 'session_from'
  | 'environment',
  string
>

const SECRETS_SHOWN = 100

export function TriggerForm({ agent, trigger, onClose, onSaved }: Props) {
  const [values, setValues] = useState<Values>(trigger ? valuesOf(trigger) : beginWith('github'))
  const secrets = useResource(may('listSecrets') ? 'names of secrets' : undefined, (signal) =>
    service.secrets.list({ limit: SECRETS_SHOWN, sort: 'name' }, { signal }),
  )
  const names = secrets.data?.data.map(({ name }) => name)
  const scheme = values.scheme as Scheme
  const { secret: secretHint } = SCHEMES[scheme]
  const kind = values.kind as Trigger['kind']
  const isMail = kind === 'email'
  const platform = kind === 'webhook' || isMail ? undefined : PLATFORMS[kind]
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
          value={kind === 'webhook' ? scheme : PLATFORM + kind}
          error={isMail ? undefined : reasonOf(save.error, 'verify.scheme')}
          choices={sendersFor(trigger)}
          onChange={(value) =>
            // A new trigger shows what suits its sender, unless the reader has changed something.
            setValues(
              !trigger && isUntouched(values)
                ? { ...beginWith(value), name: values.name, secret: values.secret }
                : { ...values, ...senderOf(value) },
            )
          }
        />
        <Field label="Name" {...field('name')} />
      </div>
      {isMail && (
        <Select
          label="Verification"
          value={scheme}
          error={reasonOf(save.error, 'verify.scheme')}
          choices={MAIL_SCHEMES.map((value) => ({ value, label: SCHEMES[value].label }))}
          onChange={(value) => setValues({ ...values, scheme: value })}
        />
      )}
      {secretHint && (
        <Field
          label="Secret"
          hint={`The name of one of the project's secrets. The secret contains: ${secretHint}`}
          isMono
          isRequired
          suggestions={names}
          {...field('secret')}
          error={reasonOf(save.error, 'verify.secret')}
        />
      )}
      {platform && (
        <Field
          label="Bot token"
          hint={`The name of a secret with the host ${platform.host}. The secret contains: ${platform.token}`}
          isMono
          isRequired
          suggestions={names}
          {...field('bot_token')}
          error={reasonOf(save.error, `${kind}.bot_token`)}
        />
      )}
      {isMail && (
        <EmailFields
          values={values}
          field={field}
          onChange={(changes) => setValues({ ...values, ...changes })}
          secrets={names}
          error={save.error}
        />
      )}
      <Field
        label="Message"
        rows={kind === 'webhook' ? 5 : 2}
        hint={
          kind !== 'webhook'
            ? `{{text}} inserts what the person wrote, and {{${isMail ? '/from/address' : '/event/channel'}}} a value from the body.`
            : '{{/issue/title}} inserts a value from the body, {{header.Name}} a header, and {{body}} the whole body.'
        }
        isRequired
        {...field('message')}
      />
      {kind === 'webhook' && (
        <div class="columns">
          <Field
            label="User"
            hint="Where to find the user_id in the event, such as /sender/login"
            isMono
            {...field('user_from')}
          />
          <Field label="Session" hint="Where to find the session_id in the event" isMono {...field('session_from')} />
        </div>
      )}
      <Field
        label="Filter (JSON)"
        rows={4}
        hint="Only events that meet all conditions start a run. Leave empty for every event."
        isMono
        problem={filterProblem(values.filter)}
        {...field('filter')}
      />
      <Field label="Environment" {...field('environment')} />
    </FormDialog>
  )
}

/** A platform with conversations, as a value of the sender. Other values are schemes. */
const PLATFORM = 'conversations in '

/** The kind of a trigger can't be changed. */
function sendersFor(trigger: Trigger | undefined): { value: string; label: string }[] {
  const schemes = SCHEME_NAMES.map((value) => ({ value: value as string, label: SCHEMES[value].label }))
  const conversations = [...Object.entries(PLATFORMS), ['email', EMAIL] as const]
  const platforms = conversations.map(([kind, { label }]) => ({ value: PLATFORM + kind, label }))
  if (!trigger) return [...platforms, ...schemes]
  return trigger.kind === 'webhook' ? schemes : platforms.filter(({ value }) => value === PLATFORM + trigger.kind)
}

function senderOf(value: string): Pick<Values, 'kind' | 'scheme'> {
  if (!value.startsWith(PLATFORM)) return { kind: 'webhook', scheme: value }
  const kind = value.slice(PLATFORM.length)
  return { kind, scheme: kind === 'email' ? 'basic' : kind }
}

const CONVERSATION = { message: '{{text}}' }

function beginWith(sender: string): Values {
  const { kind, scheme } = senderOf(sender)
  const begin: (typeof SCHEMES)[Scheme]['begin'] = kind === 'webhook' ? SCHEMES[scheme as Scheme].begin : CONVERSATION
  const { message, user_from = '', session_from = '', filter } = begin
  const filterText = filter ? JSON.stringify(filter, null, 2) : ''
  return {
    name: '',
    kind,
    scheme,
    secret: '',
    bot_token: '',
    address: '',
    provider: 'postmark',
    api_key: '',
    authserv_id: '',
    message,
    user_from,
    session_from,
    filter: filterText,
    environment: 'production',
  }
}

function isUntouched({ kind, scheme, message, user_from, session_from, filter }: Values): boolean {
  const begun = beginWith(kind === 'webhook' ? scheme : PLATFORM + kind)
  return (
    message === begun.message &&
    user_from === begun.user_from &&
    session_from === begun.session_from &&
    filter === begun.filter
  )
}

function valuesOf(trigger: Trigger): Values {
  const { name, kind, verify, filter, message, user_from, session_from, environment } = trigger
  const { slack, telegram, email } = trigger
  return {
    name: name ?? '',
    kind,
    bot_token: (slack ?? telegram)?.bot_token ?? '',
    address: email?.address ?? '',
    provider: email?.provider ?? 'postmark',
    api_key: email?.api_key ?? '',
    authserv_id: email?.authserv_id ?? '',
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
function changeable(trigger: Trigger): object {
  const { name, verify, filter, message, user_from, session_from, environment, slack, telegram, email } = trigger
  return { name, verify, filter, message, user_from, session_from, environment, slack, telegram, email }
}

function bodyOf(values: Values, trigger: Trigger | undefined): object {
  const { name, kind, scheme, secret, filter, message, user_from, session_from, environment } = values
  // Settings of the same scheme that the form doesn't show stay as they are.
  const kept = trigger?.verify.scheme === scheme ? trigger.verify : {}
  const bot = { ...(trigger?.slack ?? trigger?.telegram), bot_token: values.bot_token.trim() }
  const conversation = kind === 'webhook' ? {} : { [kind]: kind === 'email' ? emailOf(values, trigger) : bot }
  return {
    name: name.trim() || null,
    verify: scheme === 'none' ? { scheme } : { ...kept, scheme, secret: secret.trim() },
    filter: filter.trim() === '' ? [] : (JSON.parse(filter) as unknown),
    message,
    ...(!trigger && { kind }),
    ...conversation,
    user_from: user_from.trim() || null,
    session_from: session_from.trim() || null,
    environment: environment.trim(),
  }
}

function emailOf(values: Values, trigger: Trigger | undefined): object {
  const { address, provider, api_key, authserv_id } = values
  const asked = { address: address.trim(), provider, api_key: api_key.trim() }
  return { ...trigger?.email, ...asked, authserv_id: authserv_id.trim() || null }
}

function filterProblem(text: string): string {
  if (text.trim() === '') return ''
  try {
    return Array.isArray(JSON.parse(text)) ? '' : 'Filter must be a list of conditions.'
  } catch {
    return 'Filter is not valid JSON.'
  }
}
