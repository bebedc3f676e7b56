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

type Props = { project: Project | undefined; onClose(): void; onSaved(told: string): void }

/** Makes a project, or changes one. The default one keeps its name. */
export function ProjectDialog({ project, onClose, onSaved }: Props) {
  const [name, setName] = useState(project?.name ?? '')
  const [description, setDescription] = useState(project?.description ?? '')
  const [most, setMost] = useState(String(project?.limits.requests_per_minute ?? ''))
  const save = useAction(async () => {
    const values = {
      name: name.trim(),
      description: description.trim() || null,
      limits: { requests_per_minute: most ? Number(most) : null },
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
        <Field
          label="Requests a minute"
          value={most}
          onInput={setMost}
          pattern="[1-9][0-9]{0,7}"
          inputMode="numeric"
          hint="A whole number, for all callers of the project together. Without one there is no limit."
          error={reasonOf(save.error, 'limits.requests_per_minute')}
        />
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
