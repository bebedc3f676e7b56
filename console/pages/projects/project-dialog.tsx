import { useState } from 'preact/hooks'
import type { CreateProject, Project, UpdateProject } from '../../../sdk/client.ts'
import { numberIn } from '../../lib/forms/typed-values.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { keepProject } from '../../lib/projects/change-project.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { NumberField } from '../../ui/forms/number-field.tsx'

const LIMITS = [
  {
    name: 'requests_per_minute',
    label: 'Requests per minute',
    hint: "A whole number, for all of the project's callers together. Leave empty for no limit.",
  },
  {
    name: 'concurrent_runs',
    label: 'Max concurrent runs',
    hint: 'For all of its agents together. Above the limit, requests are refused and background runs wait.',
  },
  {
    name: 'stored_bytes',
    label: 'Stored bytes',
    hint: 'Receipts, logs, memories and files. Above this limit, the project accepts no new messages.',
  },
  {
    name: 'file_bytes',
    label: 'File bytes',
    hint: 'Total size of uploaded files. An upload that would exceed this limit is refused.',
  },
  {
    name: 'retention_days',
    label: 'Retention (days)',
    hint: "Receipts, logs, memories, deliveries and files. Default: the service's retention.",
  },
] as const

type Props = { project: Project | undefined; onClose(): void; onSaved(told: string): void }

/** The values of the fields. Limits are separate fields with their own names. */
function valuesOf(project: Project | undefined) {
  return {
    name: project?.name ?? '',
    description: project?.description ?? '',
    ...Object.fromEntries(LIMITS.map(({ name }) => [limitField(name), String(project?.limits[name] ?? '')])),
  } as { name: string; description: string } & Record<LimitField, string>
}

type LimitField = `limits.${(typeof LIMITS)[number]['name']}`
const limitField = (name: (typeof LIMITS)[number]['name']): LimitField => `limits.${name}`

function bodyOf({ name, description, ...limits }: Partial<ReturnType<typeof valuesOf>>): UpdateProject {
  const named = Object.entries(limits).map(([field, text]) => [field.replace('limits.', ''), numberIn(text)])
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(description !== undefined && { description: description.trim() || null }),
    ...(named.length > 0 && { limits: Object.fromEntries(named) as UpdateProject['limits'] & object }),
  }
}

/** Creates or changes a project. The default project keeps its name. */
export function ProjectDialog({ project, onClose, onSaved }: Props) {
  const [values, setValues] = useState(() => valuesOf(project))
  const saveChanges = useChanges(values)
  const save = useAction(async () => {
    let saved: Project
    if (project) {
      saved = await service.projects.get(project.id)
      await saveChanges(values, valuesOf(saved), async (changes) => {
        saved = await service.projects.update(project.id, bodyOf(changes))
      })
    } else saved = await service.projects.create(bodyOf(values) as CreateProject)
    onClose()
    onSaved(project ? `Project ${saved.name} updated` : `Project ${saved.name} created. Open it to add agents.`)
    keepProject(saved)
  })
  const field = fieldsOf(values, setValues, save.error)
  return (
    <FormDialog
      title={project ? `Change ${project.name}` : 'New project'}
      onClose={onClose}
      action={project ? 'Save' : 'Create project'}
      doing={save}
    >
      {!project?.is_default && (
        <Field
          label="Name"
          pattern="[a-z0-9][a-z0-9\-]{0,62}"
          placeholder="shop"
          hint="Lowercase letters, digits and hyphens. Requests use this name to choose the project."
          {...field('name')}
          isRequired
          isMono
          hasFocus
        />
      )}
      <Field label="Description" hasFocus={project?.is_default ?? false} {...field('description')} />
      {LIMITS.map(({ name, label, hint }) => (
        <NumberField key={name} label={label} hint={hint} {...field(limitField(name))} />
      ))}
    </FormDialog>
  )
}
