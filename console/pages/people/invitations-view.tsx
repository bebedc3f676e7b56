import type { Invitation } from '../../../sdk/client.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { RoleIn } from './role-text.tsx'

/** Who is invited, and has not come yet or has. */
export function InvitationsView() {
  const query = pageQuery(25, '-created_at')
  const invitations = useResource(`invitations ${JSON.stringify(query)}`, (signal) =>
    service.invitations.list(query, { signal }),
  )
  const takeBack = useAction(async ({ id, email }: Invitation) => {
    await service.invitations.revoke(id)
    toast(`The invitation of ${email} is taken back: its link is worth nothing now`)
    invitations.reload()
  })
  const columns: Column<Invitation>[] = [
    { title: 'E-mail', sort: 'email', isWide: true, cell: ({ email }) => email },
    { title: 'Role', cell: (invitation) => <RoleIn {...invitation} /> },
    { title: 'Status', cell: ({ status }) => <Status value={status} /> },
    {
      title: 'Made',
      sort: 'created_at',
      isNumber: true,
      isExtra: true,
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
    {
      title: 'Ends',
      sort: 'expires_at',
      isNumber: true,
      isExtra: true,
      cell: ({ status, expires_at }) => (status === 'accepted' ? '' : <Ago time={expires_at} />),
    },
    {
      title: '',
      isNumber: true,
      cell: (invitation) =>
        invitation.status === 'pending' &&
        may('revokeInvitation') && (
          <Button
            look="quiet"
            icon="close"
            label={`Take back the invitation of ${invitation.email}`}
            isBusy={takeBack.isBusy}
            onClick={() => void takeBack.run(invitation)}
          />
        ),
    },
  ]
  return (
    <List
      of={invitations}
      error={takeBack.error}
      label="Invitations"
      columns={columns}
      sort={query.sort}
      empty={
        <Empty title="No invitation is on its way">
          <p>An invitation is a link that gives a role to one e-mail address, once. You send it yourself.</p>
        </Empty>
      }
    />
  )
}
