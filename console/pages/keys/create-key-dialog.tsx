import { useState } from 'preact/hooks'
import type { KeyWithSecret, Self } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { heldPermissions, type Permission } from '../../lib/people/permissions.ts'
import { chosenProject, projects } from '../../lib/projects/chosen-project.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText } from '../../lib/text/format.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Checks } from '../../ui/forms/checks.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'

type Roles = Self['roles']

type Props = {
  /** Set if the key belongs to the person who is signed in, not to a service. */
  isOwn: boolean
  onClose(): void
  onCreated(key: KeyWithSecret): void
}

export function CreateKeyDialog({ isOwn, onClose, onCreated }: Props) {
  const held = heldPermissions()
  const [name, setName] = useState('')
  const [permissions, setPermissions] = useState<Permission[]>(isOwn ? held.map(({ value }) => value) : ['invoke'])
  const [agent, setAgent] = useState('')
  const [isForAll, setForAll] = useState(false)
  const [tier, setTier] = useState<string>()
  const [expires, setExpires] = useState('')
  const names = useAgentNames().data
  const self = useResource('self', (signal) => service.keys.self({ signal })).data
  const hasChoice = projects.value.length > 0 && !isOwn
  const action = useAction(async () => {
    const key = {
      name: name.trim(),
      permissions,
      agent_id: agent.trim() || null,
      tier,
      expires_at: expires ? new Date(expires).toISOString() : null,
    }
    onCreated(
      isOwn
        ? await service.people.createPersonalKey(key)
        : await service.keys.create({ ...key, ...(hasChoice && { all_projects: isForAll }) }),
    )
  })
  const allError = reasonOf(action.error, 'all_projects')
  return (
    <FormDialog
      title={isOwn ? 'New personal key' : 'New key'}
      onClose={onClose}
      action="Create key"
      doing={action}
      disabled={permissions.length === 0}
    >
      {isOwn && (
        <p class="hint">
          A personal key never has more permissions than you do, and stops working when your role ends.
        </p>
      )}
      <Field
        label="Name"
        value={name}
        onInput={setName}
        placeholder="website backend"
        hint="Shown in the audit log. Name the key after the program that uses it."
        error={reasonOf(action.error, 'name')}
        isRequired
        hasFocus
      />
      {self && (
        <Select
          label="Role"
          value={roleOf(permissions, self.roles)}
          choices={[...self.roles.map((role) => role.name), ''].map((value) => ({ value, label: value || 'none' }))}
          onChange={(chosen) =>
            setPermissions(self.roles.find((role) => role.name === chosen)?.permissions ?? permissions)
          }
          hint="Selects this role's permissions below."
        />
      )}
      <Checks
        legend="Permissions"
        choices={held}
        chosen={permissions}
        onChange={setPermissions}
        error={reasonOf(action.error, 'permissions')}
      />
      {permissions.includes('approve') && (
        <p class="hint">
          Because you're creating this key, it can't approve runs that you started. To approve them, create the key on
          the server: <code>moorage keys create NAME --role approver --local</code>
        </p>
      )}
      <Field
        label="Agent"
        value={agent}
        onInput={setAgent}
        suggestions={names && [...names.values()]}
        hint="Name or ID. Limits the key to one agent. Leave empty for all agents."
        error={reasonOf(action.error, 'agent_id')}
      />
      {hasChoice && (
        <div class="field">
          <label class="check">
            <input
              type="checkbox"
              checked={isForAll}
              onChange={({ currentTarget }) => setForAll(currentTarget.checked)}
            />
            All projects
          </label>
          <p class={allError ? 'wrong' : 'hint'}>
            {allError ??
              `The key has access to every project, including future ones. Otherwise, it only has access to ${chosenProject.value?.name}.`}
          </p>
        </div>
      )}
      {self && (
        <Select
          label="Tier"
          value={tier ?? self.default_tier}
          choices={self.tiers.map((each) => ({ value: each.name, label: tierText(each) }))}
          onChange={setTier}
          hint="Rate limit for this key. Requests above it get a 429 error."
        />
      )}
      <Field
        label="Expires"
        type="datetime-local"
        value={expires}
        onInput={setExpires}
        hint="Leave empty for a key that doesn't expire."
        error={reasonOf(action.error, 'expires_at')}
      />
    </FormDialog>
  )
}

/** Finds the role with exactly these permissions. Returns an empty text if no role matches. */
function roleOf(permissions: Permission[], roles: Roles): string {
  const isSame = (held: Permission[]) =>
    held.length === permissions.length && held.every((one) => permissions.includes(one))
  return roles.find((role) => isSame(role.permissions))?.name ?? ''
}

/** `pro: 1,000 requests a minute, 2,000 at once` */
function tierText({ name, requests_per_minute, burst }: Self['tiers'][number]): string {
  return `${name}: ${countText(requests_per_minute)} requests per minute, bursts of ${countText(burst)}`
}
