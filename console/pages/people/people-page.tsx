import { useState } from 'preact/hooks'
import type { Person } from '../../../sdk/client.ts'
import { BASE, href } from '../../lib/base.ts'
import { param, setParams } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { chosenProject } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { serviceIn } from '../../lib/service.ts'
import { may, session } from '../../lib/session-state.ts'
import { countText } from '../../lib/text/format.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Segments } from '../../ui/forms/field.tsx'
import { Page } from '../../ui/page.tsx'
import { Address } from './address.tsx'
import { InvitationsView } from './invitations-view.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { RoleIn, sourceText } from './role-text.tsx'

/** People who sign in with an identity provider, their roles, and invitations. */
export function PeoplePage() {
  const [invited, setInvited] = useState<{ email: string; token: string }>()
  const project = session.value?.reach === 'service' ? chosenProject.value : undefined
  const views = [
    { value: 'here', label: project ? `In ${project.name}` : 'People' },
    ...(project ? [{ value: 'everybody', label: 'Everybody' }] : []),
    { value: 'invitations', label: 'Invitations' },
  ]
  const view = views.find(({ value }) => value === param('view'))?.value ?? 'here'
  return (
    <Page
      title="People"
      api={{ operation: 'listPeople', method: 'people.list' }}
      actions={
        may('createInvitation') && (
          <Button look="main" icon="plus" onClick={() => openDialog('invite')}>
            Invite
          </Button>
        )
      }
    >
      <div class="filters">
        <Segments label="View" value={view} choices={views} onChange={show} />
      </div>
      {view === 'invitations' ? (
        <InvitationsView key={invited?.token} />
      ) : (
        <PeopleView isOfAll={view === 'everybody'} />
      )}
      {openedDialog() === 'invite' && may('createInvitation') && (
        <InviteDialog
          onClose={closeDialog}
          onCreated={(invitation) => {
            closeDialog()
            setInvited(invitation)
          }}
        />
      )}
      {invited && (
        <SecretOnce
          title={`Invitation for ${invited.email}`}
          label="link"
          secret={`${BASE.href}#invitation=${invited.token}`}
          about={`Send the link to ${invited.email} yourself: the service sends no email. The link works once and is shown only now.`}
          stored="I've sent or stored it"
          onDone={() => {
            setInvited(undefined)
            show('invitations')
          }}
        />
      )}
    </Page>
  )
}

const show = (view: string) =>
  setParams({ view: view === 'here' ? undefined : view, offset: undefined, sort: undefined }, { push: true })

const COLUMNS: Column<Person>[] = [
  {
    title: 'Person',
    sort: 'name',
    cell: ({ id, name }) => (
      <>
        <a href={href(`/people/${id}`)}>{name}</a>
        {id === session.value?.person?.id && <span class="soft"> you</span>}
      </>
    ),
  },
  { title: 'Email', sort: 'email', isWide: true, isExtra: true, cell: (person) => <Address {...person} /> },
  {
    title: 'Role',
    cell: ({ roles }) => {
      if (roles.length === 0) return <span class="soft">none yet</span>
      return (
        <div class="lines">
          {roles.map((role) => (
            <div key={role.id}>
              <RoleIn {...role} />
            </div>
          ))}
        </div>
      )
    },
  },
  {
    title: 'From',
    isExtra: true,
    cell: ({ roles }) => roles.map(({ id, source }) => <div key={id}>{sourceText(source)}</div>),
  },
  { title: 'Last seen', sort: 'last_seen_at', isNumber: true, cell: ({ last_seen_at }) => <Ago time={last_seen_at} /> },
]

/** Without a project, lists people who have a role anywhere, or none yet. */
function PeopleView({ isOfAll }: { isOfAll: boolean }) {
  const query = pageQuery(25, 'name')
  const project = isOfAll ? undefined : chosenProject.value?.id
  const people = useResource(`people ${project} ${JSON.stringify(query)}`, (signal) =>
    serviceIn(project).people.list(query as { sort: 'name' }, { signal }),
  )
  return (
    <List
      of={people}
      label="People"
      columns={COLUMNS}
      sort={query.sort}
      empty={
        project !== undefined && session.value?.reach === 'service' ? (
          <NobodyHere project={chosenProject.value?.name ?? ''} />
        ) : (
          <Empty title="No people yet">
            <p>
              People appear here once they have signed in with an identity provider. Their role comes from their groups
              there, from an invitation, or from you.
            </p>
          </Empty>
        )
      }
    />
  )
}

/** People who have a role in all projects, or no role yet, aren't listed in any project. */
function NobodyHere({ project }: { project: string }) {
  const everybody = useResource('number of people', async (signal) => {
    const { pagination } = await serviceIn(undefined).people.list({ limit: 1 }, { signal })
    return pagination.total
  })
  const total = everybody.data
  return (
    <Empty title={`No one has a role in ${project}`}>
      <p>To see service administrators, people in other projects and people without a role, choose Everybody.</p>
      <Failure error={everybody.error} retry={everybody.reload} />
      {total !== undefined && total > 0 && (
        <p>
          <Button onClick={() => show('everybody')}>Show everybody ({countText(total)})</Button>
        </p>
      )}
    </Empty>
  )
}
