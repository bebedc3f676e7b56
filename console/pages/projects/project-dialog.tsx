import { useState } from 'preact/hooks'
import type { Project } from '../../../sdk/client.ts'
import { keepProject } from '../../lib/projects/change-project.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

const LIMITS = [
  {
    name: 'requests_per_minute',
    label: 'Requests a minute',
    hint: 'A whole number, for all callers of the project together. Without one there is no limit.',
  },
  {
    name: 'concurrent_runs',
    label: 'Runs at once',
    hint: 'Of all its agents together. Others are refused, or wait in the background.',
  },
  {
    name: 'stored_bytes',
    label: 'Stored bytes',
    hint: 'Of its receipts, logs, memories and files. A project that has more takes no further messages.',
  },
  {
    name: 'file_bytes',
    label: 'Bytes of files',
    hint: 'Of all that is uploaded. An upload that would exceed it is refused.',
  },
  {
    name: 'retention_days',
    label: 'Days kept',
    hint: 'Receipts, logs, memories, deliveries and files. Without a number, as long as the service keeps them.',
  },
] as const

type Props = { project: Project | undefined; onClose(): void; onSaved(told: string): void }

/** Makes a project, or changes one. The default one keeps its name. */
export function ProjectDialog({ project, onClose, onSaved }: Props) {
  const [name, setName] = useState(project?.name ?? '')
  const [description, setDescription] = useState(project?.description ?? '')
  const [limits, setLimits] = useState<Readonly<Record<string, string>>>(() =>
    Object.fromEntries(LIMITS.map((limit) => [limit.name, String(project?.limits[limit.name] ?? '')])),
  )
  const save = useAction(async () => {
    const values = {
      name: name.trim(),
      description: description.trim() || null,
      limits: Object.fromEntries(Object.entries(limits).map(([limit, text]) => [limit, text ? Number(text) : null])),
    }
    const saved = project ? await service.projects.update(project.id, values) : await service.projects.create(values)
    onClose()
    onSaved(project ? `The project ${saved.name} is changed` : `The project ${saved.name} is there: open it to fill it`)
    keepProject(saved)
  })
  return (
    <Dialog title={project ? `Change ${project.name}` : 'New project'} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        {!project?.is_default && (
          <Field
            label="Name"
            value={name}
            onInput={setName}
            pattern="[a-z0-9][a-z0-9\-]{0,62}"
            placeholder="shop"
            hint="a to z, digits and -. Requests name the project by it."
            error={reasonOf(save.error, 'name')}
            isRequired
            isMono
            hasFocus
          />
        )}
        <Field
          label="Description"
          value={description}
          onInput={setDescription}
          error={reasonOf(save.error, 'description')}
          hasFocus={project?.is_default ?? false}
        />
        {LIMITS.map(({ name: limit, label, hint }) => (
          <Field
            key={limit}
            label={label}
            value={limits[limit] ?? ''}
            onInput={(text) => setLimits({ ...limits, [limit]: text })}
            pattern="[1-9][0-9]{0,7}"
            inputMode="numeric"
            hint={hint}
            error={reasonOf(save.error, `limits.${limit}`)}
          />
        ))}
        <Failure error={save.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={save.isBusy}>
            {project ? 'Save' : 'Create project'}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
