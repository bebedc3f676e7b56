import { useState } from 'preact/hooks'
import type { Agent, Link } from '../../../sdk/client.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { LinkForm } from './link-form.tsx'

const LIMIT = 25

export function SharePage({ params: { agent = '' } }: { params: Params }) {
  const query = pageQuery(LIMIT, '-created_at')
  return (
    <AgentFrame
      name={agent}
      tab="share"
      api={{ operation: 'listLinks', method: 'links.list', params: { agent_id: agent }, query }}
    >
      {(loaded) => <Links agent={loaded} query={query} />}
    </AgentFrame>
  )
}

function Links({ agent, query }: { agent: Agent; query: ReturnType<typeof pageQuery<'-created_at'>> }) {
  const [opened, setOpened] = useState<Link>()
  const links = useResource(
    `links ${agent.id} ${JSON.stringify(query)}`,
    (signal) => service.links.list(agent.id, query, { signal }),
    { everyMs: 10_000 },
  )
  return (
    <>
      {may('createLink') && (
        <div class="filters">
          <Button icon="plus" onClick={() => openDialog('link')}>
            New link
          </Button>
        </div>
      )}
      <List
        of={links}
        label="Links"
        columns={columnsWith(agent, setOpened)}
        sort={query.sort}
        empty={
          <Empty title="No links yet">
            <p>
              A link is a URL where people can chat with this agent without a key. You limit how much they can send and
              spend, and you can delete the link at any time.
            </p>
          </Empty>
        }
      />
      {openedDialog() === 'link' && may('createLink') && (
        <LinkForm
          agent={agent}
          onClose={closeDialog}
          onCreated={(link) => {
            links.reload()
            closeDialog()
            setOpened(link)
          }}
        />
      )}
      {opened && (
        <LinkDialog
          agent={agent}
          link={opened}
          onClose={() => setOpened(undefined)}
          onDeleted={() => {
            links.reload()
            setOpened(undefined)
          }}
        />
      )}
    </>
  )
}

function columnsWith({ name: agent }: Agent, open: (link: Link) => void): Column<Link>[] {
  return [
    {
      title: 'Link',
      sort: 'name',
      isWide: true,
      cell: (link) => (
        <button type="button" class="row-link" onClick={() => open(link)}>
          {link.name ?? agent}
        </button>
      ),
    },
    { title: 'State', cell: ({ status }) => <Status value={status} /> },
    { title: 'Visitors', isNumber: true, isExtra: true, cell: ({ used }) => used.visitors },
    { title: 'Messages', isNumber: true, cell: ({ used }) => used.messages },
    {
      title: 'Cost (US$)',
      isNumber: true,
      isExtra: true,
      cell: ({ used, limits }) => (limits.cost_usd === null ? '–' : `${used.cost_usd ?? 0} of ${limits.cost_usd}`),
    },
    {
      title: 'Created',
      sort: 'created_at',
      isNumber: true,
      isExtra: true,
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
  ]
}
