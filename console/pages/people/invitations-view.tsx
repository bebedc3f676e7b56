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

/** Invitations, pending and accepted. */
export function InvitationsView() {
  const query = pageQuery(25, '-created_at')
  const invitations = useResource(`invitations ${JSON.stringify(query)}`, (signal) =>
    service.invitations.list(query, { signal }),
  )
  const takeBack = useAction(async ({ id, email }: Invitation) => {
    await service.invitations.revoke(id)
    toast(`Invitation for ${email} revoked. Its link no longer works.`)
    invitations.reload()
  })
  const columns: Column<Invitation>[] = [
    { title: 'Email', sort: 'email', isWide: true, cell: ({ email }) => email },
    { title: 'Role', cell: (invitation) => <RoleIn {...invitation} /> },
    { title: 'Status', cell: ({ status }) => <Status value={status} /> },
    {
      title: 'Created',
      sort: 'created_at',
      isNumber: true,
      isExtra: true,
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
    {
      title: 'Expires',
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
            label={`Revoke the invitation for ${invitation.email}`}
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
        <Empty title="No invitations yet">
          <p>An invitation is a one-time link that gives a role to one email address. You send the link yourself.</p>
        </Empty>
      }
    />
  )
}
