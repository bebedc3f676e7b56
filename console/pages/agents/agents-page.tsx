import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { AgentOverview } from '../../../sdk/client.ts'
import { BASE, href } from '../../lib/base.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { agentPath } from '../../lib/paths.ts'
import { namedProject } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { countText, durationText, percentText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { List } from '../../ui/data/list.tsx'
import { Sparkline } from '../../ui/data/sparkline.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { Attention } from './attention.tsx'
import { FirstSteps, hasDoneFirstSteps } from './first-steps.tsx'

const LIMIT = 25

const COLUMNS: Column<AgentOverview>[] = [
  { title: 'Agent', sort: 'name', cell: ({ name }) => <a href={href(agentPath(name))}>{name}</a> },
  { title: 'Status', sort: 'status', cell: ({ status }) => <Status value={status} /> },
  { title: 'Kind', isExtra: true, cell: ({ kind }) => <span class="soft">{kind}</span> },
  { title: 'Production', isExtra: true, cell: ({ version }) => version ?? <span class="soft">draft</span> },
  {
    title: 'Last 24 hours',
    isExtra: true,
    cell: ({ hours, requests }) => <Sparkline values={hours} label={`${requests} requests in the last 24 hours`} />,
  },
  { title: 'Requests', isNumber: true, cell: ({ requests }) => countText(requests) },
  {
    title: 'Errors',
    isNumber: true,
    cell: ({ errors, requests }) => (
      <span class={errors > 0 ? 'wrong' : 'soft'} title={percentText(errors, requests)}>
        {countText(errors)}
      </span>
    ),
  },
  { title: 'p95', isNumber: true, isExtra: true, cell: ({ p95_ms }) => durationText(p95_ms) },
  {
    title: 'Created',
    sort: 'created_at',
    isNumber: true,
    isExtra: true,
    cell: ({ created_at }) => <Ago time={created_at} />,
  },
]

type DialogForm = ComponentType<{ onClose(): void }>

/** `loadForm` loads the dialog for a new agent. */
export function AgentsPage({ loadForm }: { loadForm(): Promise<DialogForm> }) {
  const query = pageQuery(LIMIT, 'name')
  const agents = useResource(
    `agents ${JSON.stringify(query)}`,
    (signal) => service.agents.overview(query, { signal }),
    {
      everyMs: 10_000,
    },
  )
  const [areStepsOver, setStepsOver] = useState(hasDoneFirstSteps)
  const actions = may('createAgent') && (
    <Button look="main" icon="plus" onClick={() => openDialog('agent')}>
      New agent
    </Button>
  )
  return (
    <Page title="Agents" actions={actions} api={{ operation: 'listOverview', method: 'agents.overview', query }}>
      {agents.data && !areStepsOver && <FirstSteps agents={agents.data} onOver={() => setStepsOver(true)} />}
      {agents.data && areStepsOver && <Attention agents={agents.data} />}
      <List of={agents} label="Agents" columns={COLUMNS} sort={query.sort} empty={<NoAgents />} />
      {openedDialog() === 'agent' && may('createAgent') && <NewAgent loadForm={loadForm} />}
    </Page>
  )
}

/** Loaded when it is opened, because it is rarely needed. */
function NewAgent({ loadForm }: { loadForm(): Promise<DialogForm> }) {
  const [dialog, setDialog] = useState<{ Form: DialogForm }>()
  useEffect(() => {
    loadForm()
      .then((Form) => setDialog({ Form }))
      .catch(() => toast('Could not load the dialog'))
  }, [])
  return dialog ? <dialog.Form onClose={closeDialog} /> : null
}

/** Three commands with which an agent answers. */
function NoAgents() {
  return (
    <Empty title="No agents yet">
      <p>Create an agent with the button above, or in a terminal:</p>
      <Snippet
        label="commands"
        text={`${namedProject.value ? `export MOORAGE_PROJECT=${namedProject.value}\n` : ''}moorage init hello\nmoorage deploy v1\nmoorage invoke hello "Ahoy!" --url ${BASE.href.replace(/\/$/, '')}`}
      />
    </Empty>
  )
}
