import { useState } from 'preact/hooks'
import type { Connection, ConnectionGrant } from '../../../../sdk/client.ts'
import { param } from '../../../lib/location.ts'
import { pageQuery } from '../../../lib/page-query.ts'
import { useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { toast } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/button.tsx'
import { List } from '../../../ui/data/list.tsx'
import { Status } from '../../../ui/data/status.tsx'
import type { Column } from '../../../ui/data/table.tsx'
import { Ago } from '../../../ui/data/time.tsx'
import { Confirm } from '../../../ui/dialogs/confirm.tsx'
import { Empty } from '../../../ui/empty.tsx'
import { ChoiceFilter, TextFilter } from '../../../ui/forms/filter.tsx'

const LIMIT = 25

const OF_PROJECT = 'the project'

/** Who has signed in. Their sign-ins can be ended here. */
export function GrantsList({ connection: { name } }: { connection: Connection }) {
  const [ending, setEnding] = useState<ConnectionGrant>()
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    status: param('status') as ConnectionGrant['status'] | undefined,
    user_id: param('user'),
  }
  const grants = useResource(
    `grants of ${name} ${JSON.stringify(query)}`,
    (signal) => service.connections.grants(name, query, { signal }),
    { everyMs: 5_000 },
  )
  return (
    <section aria-label="Signed in">
      <div class="section-head">
        <h2>Signed in</h2>
        <ChoiceFilter
          name="status"
          label="Status"
          all="All statuses"
          choices={['active', ['pending', 'not confirmed'], 'expired', 'revoked']}
        />
        <TextFilter name="user" label="User ID" />
      </div>
      <List
        of={grants}
        label="Signed in"
        columns={columnsWith(setEnding)}
        sort={query.sort}
        empty={
          <Empty title="No one has signed in yet" filters={['status', 'user']}>
            <p>If a run needs a sign-in, it waits. The link for the run's user is under Approvals.</p>
          </Empty>
        }
      />
      {ending && (
        <Confirm
          title="End sign-in"
          action="End sign-in"
          isDanger
          onClose={() => setEnding(undefined)}
          work={async () => {
            await service.connections.revokeGrant(name, ending.user_id ?? 'service')
            toast('Sign-in ended')
            grants.reload()
          }}
        >
          <p>
            This ends the sign-in of <b>{ending.user_id ?? OF_PROJECT}</b>, here and at the provider. Runs that need it
            wait until {ending.user_id === null ? 'someone signs in' : 'the user signs in'} again.
          </p>
        </Confirm>
      )}
    </section>
  )
}

function columnsWith(end: (grant: ConnectionGrant) => void): Column<ConnectionGrant>[] {
  return [
    { title: 'User', isWide: true, cell: ({ user_id }) => user_id ?? <span class="soft">{OF_PROJECT}</span> },
    {
      title: 'Status',
      cell: ({ status, ended_reason }) => (
        <>
          <Status value={status} />
          {ended_reason && <span class="soft"> {ended_reason.replaceAll('_', ' ')}</span>}
        </>
      ),
    },
    { title: 'Scopes', isExtra: true, cell: ({ scopes }) => scopes.join(' ') || '–' },
    { title: 'Signed in', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
    {
      title: '',
      isNumber: true,
      cell: (grant) =>
        may('revokeGrant') &&
        (grant.status === 'active' || grant.status === 'pending') && (
          <Button
            look="quiet"
            icon="close"
            label={`End the sign-in of ${grant.user_id ?? OF_PROJECT}`}
            onClick={() => end(grant)}
          />
        ),
    },
  ]
}
