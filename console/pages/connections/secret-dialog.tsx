import { useState } from 'preact/hooks'
import type { Secret } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { alreadyThere } from './already-there.ts'

type Props = { secret: Secret | undefined; onClose(): void; onSaved(): void }

/** Sets a secret. Its value is sent to the service and never returned. */
export function SecretDialog({ secret, onClose, onSaved }: Props) {
  const [name, setName] = useState(secret?.name ?? '')
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState(secret?.hosts.join(', ') ?? '')
  const saveChanges = useChanges({ hosts: secret?.hosts ?? [] })
  const save = useAction(async () => {
    let wanted = { hosts: hostsIn(hosts) }
    // A secret is set as a whole, so hosts that the reader hasn't changed are taken from its current value.
    for await (const now of may('listSecrets') ? service.secrets.list({ limit: 100, sort: 'name' }) : []) {
      if (now.name !== name.trim()) continue
      if (!secret) throw alreadyThere('secret', now.name)
      const typed = wanted
      wanted = { hosts: now.hosts }
      await saveChanges(typed, wanted, async (changes) => {
        wanted = { ...wanted, ...changes }
      })
    }
    const saved = await service.secrets.set(name.trim(), { value, ...wanted })
    toast(`${saved.name} saved. Tools can use it as {{secret.${saved.name}}}`)
    onSaved()
    onClose()
  })
  return (
    <FormDialog title={secret ? `Change ${secret.name}` : 'New secret'} onClose={onClose} action="Save" doing={save}>
      {!secret && (
        <Field
          label="Name"
          value={name}
          onInput={setName}
          error={reasonOf(save.error, 'name')}
          pattern="[A-Za-z_][A-Za-z0-9_]{0,63}"
          placeholder="CRM_TOKEN"
          hint="Letters, digits and _. Tools refer to it as {{secret.CRM_TOKEN}}."
          isRequired
          isMono
          hasFocus
        />
      )}
      <Field
        label="Value"
        type="password"
        autoComplete="off"
        value={value}
        onInput={setValue}
        error={reasonOf(save.error, 'value')}
        hint={`${secret ? 'Enter the value again. It' : 'The value'} is stored encrypted and never shown again.`}
        isRequired
        hasFocus={secret !== undefined}
      />
      <Field
        label="Hosts"
        value={hosts}
        onInput={setHosts}
        error={reasonOf(save.error, 'hosts') ?? reasonOf(save.error, 'hosts.0')}
        placeholder="api.example.com"
        hint="Comma-separated. The secret is sent only to these hosts."
        isRequired
        isMono
      />
    </FormDialog>
  )
}

function hostsIn(text: string): string[] {
  return text.split(/[\s,]+/).flatMap((host) => (host ? [hostOf(host)] : []))
}

/** Reads a host, because people paste whole URLs. */
function hostOf(text: string): string {
  return URL.canParse(text) && text.includes('://') ? new URL(text).host : text.toLowerCase()
}
