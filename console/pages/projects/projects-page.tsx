import { useEffect, useState } from 'preact/hooks'
import type { Project } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { dropProject, keepProject } from '../../lib/projects/change-project.ts'
import { chosenProject } from '../../lib/projects/chosen-project.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText, shortText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'
import { ProjectDialog } from './project-dialog.tsx'

type OpenDialog = { what: 'edit' | 'delete'; project: Project }

/** All projects. They can be created, changed, deleted, and opened by clicking on their row. */
export function ProjectsPage() {
  const [doing, setDoing] = useState<OpenDialog>()
  const query = pageQuery(25, 'name')
  const projects = useResource(`projects ${JSON.stringify(query)}`, (signal) =>
    service.projects.list(query as { sort: 'name' }, { signal }),
  )
  // Others may have created, renamed or deleted projects since this reader signed in.
  useEffect(() => {
    if (!projects.isLoading) projects.data?.data.forEach(keepProject)
  }, [projects.data, projects.isLoading])
  const close = () => {
    setDoing(undefined)
    closeDialog()
  }
  return (
    <Page
      title="Projects"
      api={{ operation: 'listProjects', method: 'projects.list', query }}
      actions={
        <Button look="main" icon="plus" onClick={() => openDialog('project')}>
          New project
        </Button>
      }
    >
      <div class="filters">
        <span class="hint">
          Agents, keys, webhooks, secrets and providers belong to one project and can't be seen from other projects.
        </span>
      </div>
      <List
        of={projects}
        label="Projects"
        columns={columnsOf(setDoing)}
        sort={query.sort}
        empty={<Empty title="No projects on this page" />}
      />
      {(openedDialog() === 'project' || doing?.what === 'edit') && (
        <ProjectDialog
          key={doing?.project.id}
          project={doing?.project}
          onClose={close}
          onSaved={(text) => {
            toast(text)
            projects.reload()
          }}
        />
      )}
      {doing?.what === 'delete' && <DeleteProject project={doing.project} onClose={close} onDone={projects.reload} />}
    </Page>
  )
}

const columnsOf = (setDoing: (doing: OpenDialog) => void): Column<Project>[] => [
  {
    title: 'Project',
    sort: 'name',
    cell: ({ id, name }) => (
      <>
        <a href={href(`/?project=${encodeURIComponent(name)}`)}>{name}</a>
        {id === chosenProject.value?.id && <span class="soft"> you are here</span>}
      </>
    ),
  },
  { title: 'Description', isWide: true, isExtra: true, cell: ({ description }) => description },
  {
    title: 'Requests per minute',
    isNumber: true,
    isExtra: true,
    cell: ({ limits: { requests_per_minute: most } }) => (most === null ? 'no limit' : countText(most)),
  },
  {
    title: 'Concurrent runs',
    isNumber: true,
    isExtra: true,
    cell: ({ limits: { concurrent_runs: most } }) => (most === null ? 'no limit' : countText(most)),
  },
  {
    title: 'Stored',
    isNumber: true,
    isExtra: true,
    cell: ({ limits: { stored_bytes: most }, stored_bytes }) =>
      most === null ? 'no limit' : `${shortText(stored_bytes ?? 0)} of ${shortText(most)} bytes`,
  },
  {
    title: 'Retention',
    isNumber: true,
    isExtra: true,
    cell: ({ limits: { retention_days: days } }) => (days === null ? 'service default' : `${countText(days)} days`),
  },
  {
    title: 'Created',
    sort: 'created_at',
    isNumber: true,
    isExtra: true,
    cell: ({ created_at, is_default }) => (is_default ? 'with the service' : <Ago time={created_at} />),
  },
  {
    title: '',
    isNumber: true,
    cell: (project) => (
      <span class="cell-actions">
        <Button
          look="quiet"
          icon="edit"
          label={`Change ${project.name}`}
          onClick={() => setDoing({ what: 'edit', project })}
        />
        {!project.is_default && (
          <Button
            look="quiet"
            icon="close"
            label={`Delete ${project.name}`}
            onClick={() => setDoing({ what: 'delete', project })}
          />
        )}
      </span>
    ),
  },
]

type DeleteProps = { project: Project; onClose(): void; onDone(): void }

function DeleteProject({ project: { id, name }, onClose, onDone }: DeleteProps) {
  return (
    <Confirm
      title="Delete project"
      action="Delete project"
      typed={name}
      isDanger
      onClose={onClose}
      work={async () => {
        await service.projects.delete(id, { name })
        toast(`Project ${name} deleted`)
        dropProject(id)
        onDone()
      }}
    >
      <p>
        Active runs in <b>{name}</b> are cancelled. Its agents, keys, webhooks, secrets and providers are deleted, with
        their logs, metrics and memory. This can't be undone.
      </p>
    </Confirm>
  )
}
