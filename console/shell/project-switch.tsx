import { go, here } from '../lib/location.ts'
import { chosenProject, projects } from '../lib/projects/chosen-project.ts'
import { serviceIn } from '../lib/service.ts'
import type { NamedProject } from '../lib/session-state.ts'
import { matchRoute } from '../routes.ts'

/** Selects the project that the whole console shows. It is shown only if there is a choice. */
export function ProjectSwitch() {
  const chosen = chosenProject.value
  if (!chosen) return null
  const choose = async (select: HTMLSelectElement) => {
    const project = projects.value.find(({ id }) => id === select.value) ?? chosen
    go(`${await placeIn(project)}?project=${encodeURIComponent(project.name)}`)
    // The reader may have stayed because of unsaved changes.
    select.value = chosenProject.peek()?.id ?? ''
  }
  return (
    <select
      class="project-switch"
      aria-label="Project"
      title={chosen.name}
      value={chosen.id}
      onChange={({ currentTarget }) => void choose(currentTarget)}
    >
      {projects.value.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

/** The open page, if the project has it: lists, and an agent with the same name. Otherwise, the overview. */
async function placeIn({ id }: NamedProject): Promise<string> {
  const { path } = here.peek()
  const { params = {} } = matchRoute(path) ?? {}
  if (Object.keys(params).length === 0) return path
  if (!params['agent']) return '/'
  const isThere = await serviceIn(id)
    .agents.get(params['agent'])
    .then(
      () => true,
      () => false,
    )
  return isThere ? path : '/'
}
