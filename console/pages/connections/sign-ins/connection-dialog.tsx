import { useState } from 'preact/hooks'
import type { Connection, ConnectionTest } from '../../../../sdk/client.ts'
import { useChanges } from '../../../lib/forms/use-changes.ts'
import { useAction } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { toast } from '../../../lib/toasts.ts'
import { FormDialog } from '../../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../../ui/failure.tsx'
import { Field, Select } from '../../../ui/forms/field.tsx'
import { alreadyThere } from '../already-there.ts'
import { bodyOf, type ConnectionValues, nameFor, valuesOf, WHO } from './connection-values.ts'
import { ProviderFields } from './provider-fields.tsx'

const KINDS = [
  { kind: 'mcp', title: 'MCP server', about: 'Paste its URL' },
  { kind: 'oauth2', title: 'OAuth 2.0 provider', about: 'With a client ID that it gave you' },
] as const

type Props = {
  connection: Connection | undefined
  onClose(): void
  /** `isDone`: its test succeeded, so there is nothing more to do here. */
  onSaved(connection: Connection, isDone: boolean): void
}

/** Sets a connection, and then tests it. */
export function ConnectionDialog({ connection, onClose, onSaved }: Props) {
  const [name, setName] = useState(connection?.name ?? '')
  const [values, setValues] = useState(() => valuesOf(connection))
  const [secret, setSecret] = useState('')
  const [failed, setFailed] = useState<ConnectionTest>()
  // Once a new connection is saved, the next save changes it.
  const [saved, setSaved] = useState(connection?.name)
  const mergeWith = useMerge(valuesOf(connection))
  const save = useAction(async () => {
    setFailed(undefined)
    if (saved !== name.trim()) await requireFree(name.trim())
    const body = bodyOf(connection ? await mergeWith(values, connection.name) : values)
    // Without `client_secret`, the service keeps the current one.
    const set = await service.connections.set(name.trim(), { ...body, ...(secret && { client_secret: secret }) })
    setSaved(set.name)
    const test = may('testConnection') ? await service.connections.test(set.name) : undefined
    if (test?.ok === false) {
      setFailed(test)
      return onSaved(set, false)
    }
    toast(`${set.name} saved${test?.issuer ? `: users sign in at ${new URL(test.issuer).host}` : ''}`)
    onClose()
    onSaved(set, true)
  })
  const change = (changes: Partial<ConnectionValues>) => {
    const next = { ...values, ...changes }
    const isSuggested = name === '' || name === nameFor(values.url || values.issuer)
    if (!connection && isSuggested) setName(nameFor(next.url || next.issuer))
    setValues(next)
  }
  const field = (of: Exclude<keyof ConnectionValues, 'kind' | 'as'>) => ({
    value: values[of],
    error: reasonOf(save.error, of) ?? reasonOf(save.error, `${of}.0`),
    onInput: (value: string) => change({ [of]: value }),
  })
  const isMcp = values.kind === 'mcp'
  return (
    <FormDialog
      title={connection ? `Change ${connection.name}` : 'New connection'}
      action="Save and test"
      doing={save}
      cancel={failed ? 'Close' : 'Cancel'}
      onClose={onClose}
    >
      {!connection && (
        <fieldset class="cards">
          <legend>Service</legend>
          {KINDS.map(({ kind, title, about }) => (
            <label key={kind}>
              <input
                type="radio"
                name="kind"
                checked={kind === values.kind}
                onChange={() => change({ kind, url: '', issuer: '' })}
              />
              <b>{title}</b>
              <span>{about}</span>
            </label>
          ))}
        </fieldset>
      )}
      {isMcp ? (
        <Field
          label="URL"
          type="url"
          placeholder="https://notes.example.com/mcp"
          hint="The service finds the page where users sign in, and registers itself if the server allows it."
          isMono
          isRequired
          hasFocus
          {...field('url')}
        />
      ) : (
        <ProviderFields
          field={field}
          hasIssuer={!connection || connection.issuer !== null}
          secret={{ value: secret, onInput: setSecret, error: reasonOf(save.error, 'client_secret') }}
          isStored={connection?.has_client_secret === true}
        />
      )}
      {!connection && (
        <Field
          label="Name"
          value={name}
          onInput={setName}
          error={reasonOf(save.error, 'name')}
          pattern="[A-Za-z_][A-Za-z0-9_]{0,63}"
          placeholder="notes"
          hint="Letters, digits and _. Tools refer to the connection by this name."
          isRequired
          isMono
        />
      )}
      <Select
        label="Who signs in"
        value={values.as}
        choices={Object.entries(WHO).map(([value, label]) => ({ value, label }))}
        onChange={(as) => change({ as: as as Connection['as'] })}
      />
      <details open={connection !== undefined}>
        <summary>More settings</summary>
        <div class="stack">
          {isMcp && (
            <Field
              label="Client ID"
              hint="Needed only if the server doesn't register clients."
              isMono
              {...field('client_id')}
            />
          )}
          <Field
            label="Scopes"
            hint={`Separated by spaces. ${isMcp ? 'Leave empty to let the server choose.' : 'What users agree to.'}`}
            isMono
            {...field('scopes')}
          />
          {isMcp && (
            <Field
              label="Hosts"
              hint="Tokens are sent only to these. Default: the URL's host"
              isMono
              {...field('hosts')}
            />
          )}
          <Field
            label="Origins of your application"
            hint="A sign-in link can send the browser back to them."
            placeholder="https://app.example.com"
            isMono
            {...field('return_origins')}
          />
        </div>
      </details>
      {connection && (
        <p class="hint">If you change the provider, the client, the scopes or who signs in, all sign-ins end.</p>
      )}
      {failed && (
        <p class="notice" role="alert">
          <b>Saved, but the test failed.</b> {failed.error}
        </p>
      )}
    </FormDialog>
  )
}

async function requireFree(name: string): Promise<void> {
  for await (const connection of service.connections.list({ limit: 100 }))
    if (connection.name === name) throw alreadyThere('connection', name)
}

/** A connection is set as a whole, so the reader's changes are applied to its current values. */
function useMerge(opened: ConnectionValues) {
  const saveChanges = useChanges(opened)
  return async (wanted: ConnectionValues, name: string): Promise<ConnectionValues> => {
    const now = valuesOf(await service.connections.get(name))
    let merged = now
    await saveChanges(wanted, now, async (changes) => {
      merged = { ...now, ...changes }
    })
    return merged
  }
}
