import { useState } from 'preact/hooks'
import type { Key, Person } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { go } from '../../lib/location.ts'
import { chosenProject } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service, serviceIn } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { Address } from './address.tsx'
import { RoleDialog } from './role-dialog.tsx'
import { placeText, type Role, RoleIn, sourceText } from './role-text.tsx'

type PersonDialog = { what: 'give' } | { what: 'change' | 'take'; role: Role } | { what: 'remove' }

/** One person: their identities at identity providers, and their roles. */
export function PersonPage({ params: { person: id = '' } }: { params: Params }) {
  const [doing, setDoing] = useState<PersonDialog>()
  const person = useResource(`person ${id}`, (signal) => service.people.get(id, { signal }))
  const found = person.data
  const close = () => setDoing(undefined)
  // Within a project, people without a role there don't exist.
  const show = (changed: Person) =>
    changed.roles.length === 0 && session.value?.reach === 'project' ? go('/people') : person.replace(changed)
  return (
    <Page
      title={found?.name ?? 'Person'}
      crumbs={[{ label: 'People', to: '/people' }]}
      about={found?.id === session.value?.person?.id && <span class="soft">you</span>}
      api={{ operation: 'getPerson', method: 'people.get', params: { person_id: id } }}
      actions={
        found && (
          <>
            {may('setPersonRole') && <Button onClick={() => setDoing({ what: 'give' })}>Give role</Button>}
            {may('deletePerson') && (
              <Button look="danger" onClick={() => setDoing({ what: 'remove' })}>
                Remove
              </Button>
            )}
          </>
        )
      }
    >
      <Failure error={person.error} retry={person.reload} />
      {found && <PersonFacts of={found} />}
      {found && (
        <section aria-label="Roles">
          <h2>Roles</h2>
          <Table
            label="Roles"
            columns={columnsOf(setDoing)}
            rows={found.roles}
            empty={<Empty title="No role yet: this person can't sign in" />}
          />
        </section>
      )}
      {found && may('listKeys') && <KeysOf id={found.id} />}
      {found && (doing?.what === 'give' || doing?.what === 'change') && (
        <RoleDialog
          person={found}
          present={doing.what === 'change' ? doing.role : undefined}
          onClose={close}
          onSaved={show}
        />
      )}
      {found && doing?.what === 'take' && <TakeRole person={found} role={doing.role} onClose={close} onDone={show} />}
      {found && doing?.what === 'remove' && <RemovePerson person={found} onClose={close} />}
    </Page>
  )
}

const KEY_COLUMNS: Column<Key>[] = [
  { title: 'Key', cell: ({ id, name }) => <a href={href(`/keys/${id}`)}>{name}</a> },
  { title: 'Where', cell: ({ project_id }) => placeText(project_id) },
  { title: 'Permissions', isExtra: true, cell: ({ permissions }) => permissions.join(', ') },
  { title: 'Expires', isNumber: true, isExtra: true, cell: ({ expires_at }) => <Ago time={expires_at} /> },
  { title: 'Last used', isNumber: true, cell: ({ last_used_at }) => <Ago time={last_used_at} /> },
]

/** The person's keys that work in this project. They end with the person. */
function KeysOf({ id: person_id }: { id: string }) {
  const project = chosenProject.value
  const query = { person_id, status: 'active', limit: 100 } as const
  const keys = useResource(`keys of ${person_id}`, (signal) => service.keys.list(query, { signal }))
  return (
    <section aria-label="Keys">
      <h2 class="section-head">Active keys</h2>
      <Failure error={keys.error} retry={keys.reload} />
      {keys.data && (
        <Table
          label="Keys"
          columns={KEY_COLUMNS}
          rows={keys.data.data}
          empty={<p class="soft">No active keys{project && ` in ${project.name}`}.</p>}
        />
      )}
    </section>
  )
}

function PersonFacts({ of: { id, email, email_verified, identities, created_at, last_seen_at } }: { of: Person }) {
  return (
    <Facts
      of={{
        Email: email ? <Address email={email} email_verified={email_verified} /> : undefined,
        'Signs in with': identities.map(({ issuer, subject }) => (
          <div key={issuer + subject}>
            {issuer} <span class="soft">as</span> <code>{subject}</code>
          </div>
        )),
        'Last seen': <Ago time={last_seen_at} />,
        'First seen': <Ago time={created_at} />,
        ID: <Id id={id} />,
      }}
    />
  )
}

const columnsOf = (setDoing: (doing: PersonDialog) => void): Column<Role>[] => [
  { title: 'Role', cell: ({ role }) => <b>{role}</b> },
  { title: 'Where', cell: ({ project_id }) => placeText(project_id) },
  { title: 'Permissions', isExtra: true, cell: ({ permissions }) => permissions.join(', ') },
  { title: 'From', cell: ({ source }) => sourceText(source) },
  { title: 'Since', isNumber: true, isExtra: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  {
    title: '',
    isNumber: true,
    cell: (role) =>
      may('setPersonRole') && (
        <span class="cell-actions">
          <Button look="quiet" icon="edit" label="Change role" onClick={() => setDoing({ what: 'change', role })} />
          <Button look="quiet" icon="close" label="Remove role" onClick={() => setDoing({ what: 'take', role })} />
        </span>
      ),
  },
]

type TakeRoleProps = { person: Person; role: Role; onClose(): void; onDone(person: Person): void }

function TakeRole({ person, role, onClose, onDone }: TakeRoleProps) {
  const all_projects = role.project_id === null
  return (
    <Confirm
      title="Remove role"
      action="Remove role"
      isDanger
      onClose={onClose}
      work={async () => {
        const changed = await serviceIn(role.project_id ?? undefined).people.setRole(person.id, {
          role: null,
          all_projects,
        })
        toast(`${person.name} no longer has the role ${role.role}`)
        onDone(changed)
      }}
    >
      <p>
        <b>{person.name}</b> loses the role <RoleIn {...role} /> immediately. Keys that were created with this role stop
        working.
      </p>
    </Confirm>
  )
}

function RemovePerson({ person: { id, name }, onClose }: { person: Person; onClose(): void }) {
  return (
    <Confirm
      title="Remove person"
      action="Remove person"
      isDanger
      onClose={onClose}
      work={async () => {
        const { kept_keys, kept_webhooks } = await service.people.delete(id)
        const kept = [...kept_keys, ...kept_webhooks].join(', ')
        toast(`${name} removed${kept && `. Still active: ${kept}`}`)
        go('/people')
      }}
    >
      <p>
        The roles, personal keys and sessions of <b>{name}</b> are deleted immediately. If an identity provider still
        knows this person, they can sign in again with the roles of their groups. Webhooks and service keys that they
        created keep working.
      </p>
    </Confirm>
  )
}
