import type { ConsoleSession } from '../../../sdk/client.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Who } from '../../ui/data/who.tsx'
import { browserText } from './browser-text.ts'

const LIMIT = 25

/** The active sessions of the console. */
export function SessionsView() {
  const query = pageQuery(LIMIT, '-last_used_at')
  const sessions = useResource(
    `console sessions ${JSON.stringify(query)}`,
    (signal) => service.console.sessions(query, { signal }),
    { everyMs: 10_000 },
  )
  const end = useAction(async (session: ConsoleSession) => {
    await service.console.endSession(session.id)
    toast(`Session of ${session.person_name ?? session.key_name} ended`)
    sessions.reload()
  })
  const columns: Column<ConsoleSession>[] = [
    {
      title: 'Who',
      cell: ({ key_id, key_name, person_id, person_name, current }) => (
        <>
          <Who id={person_id ?? key_id ?? ''} name={person_name ?? key_name} />
          {current && <span class="soft"> this one</span>}
        </>
      ),
    },
    { title: 'IP address', cell: ({ address }) => address },
    {
      title: 'Browser',
      isWide: true,
      isExtra: true,
      cell: ({ browser }) => <span title={browser ?? ''}>{browserText(browser)}</span>,
    },
    {
      title: 'Signed in',
      sort: 'created_at',
      isNumber: true,
      isExtra: true,
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
    {
      title: 'Last used',
      sort: 'last_used_at',
      isNumber: true,
      cell: ({ last_used_at }) => <Ago time={last_used_at} />,
    },
    { title: 'Expires', isNumber: true, isExtra: true, cell: ({ expires_at }) => <Ago time={expires_at} /> },
    {
      title: '',
      isNumber: true,
      cell: (session) =>
        may('endConsoleSession') &&
        !session.current && (
          <Button look="danger" isBusy={end.isBusy} onClick={() => void end.run(session)}>
            End
          </Button>
        ),
    },
  ]
  return <List of={sessions} error={end.error} label="Sessions" columns={columns} sort={query.sort} />
}
