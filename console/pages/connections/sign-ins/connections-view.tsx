import type { Connection } from '../../../../sdk/client.ts'
import { href } from '../../../lib/base.ts'
import { go } from '../../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../../lib/open-dialog.ts'
import { pageQuery } from '../../../lib/page-query.ts'
import { connectionPath } from '../../../lib/paths.ts'
import { useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { Button } from '../../../ui/button.tsx'
import { List } from '../../../ui/data/list.tsx'
import type { Column } from '../../../ui/data/table.tsx'
import { Ago } from '../../../ui/data/time.tsx'
import { Empty } from '../../../ui/empty.tsx'
import { ConnectionDialog } from './connection-dialog.tsx'
import { placeOf, WHO } from './connection-values.ts'

/** The services that users sign in to, so that tools can act in their name. */
export function ConnectionsView() {
  const query = pageQuery(25, 'name')
  const connections = useResource(`connections ${JSON.stringify(query)}`, (signal) =>
    service.connections.list(query as { sort: 'name' }, { signal }),
  )
  return (
    <>
      <List
        of={connections}
        label="Sign-ins"
        columns={COLUMNS}
        keyOf={({ name }) => name}
        sort={query.sort}
        empty={<NoConnections />}
      />
      {may('setConnection') && openedDialog() === 'new' && (
        <ConnectionDialog
          connection={undefined}
          onClose={closeDialog}
          onSaved={({ name }, isDone) => {
            connections.reload()
            if (isDone) go(connectionPath(name))
          }}
        />
      )}
    </>
  )
}

const COLUMNS: Column<Connection>[] = [
  { title: 'Name', sort: 'name', cell: ({ name }) => <a href={href(connectionPath(name))}>{name}</a> },
  { title: 'Service', isWide: true, cell: (connection) => placeOf(connection) },
  { title: 'Who signs in', isExtra: true, cell: (connection) => WHO[connection.as] },
  {
    title: 'Changed',
    sort: 'updated_at',
    isNumber: true,
    isExtra: true,
    cell: ({ updated_at }) => <Ago time={updated_at} />,
  },
]

function NoConnections() {
  return (
    <Empty title="No sign-ins yet">
      <p>
        With a connection, an agent's tools act on behalf of the user who talks to the agent. Paste the URL of an MCP
        server that requires OAuth, or set up another OAuth 2.0 provider. Each user signs in once.
      </p>
      {may('setConnection') && (
        <p>
          <Button look="main" icon="plus" onClick={() => openDialog('new')}>
            Add connection
          </Button>
        </p>
      )}
    </Empty>
  )
}
