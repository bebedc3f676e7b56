import { computed } from '@preact/signals'
import { here } from '../location.ts'
import { type NamedProject, session } from '../session-state.ts'

const DEFAULT_PROJECT = 'prj_default'

/** The projects that the switcher offers. There are none for a key of one project, or if the service has only one. */
export const projects = computed(() => {
  const all = session.value?.projects ?? []
  return all.length > 1 ? all : []
})

/** The project that the address names, else the first one. Undefined if the switcher offers none. */
export const chosenProject = computed(() => findProject(projects.value) ?? projects.value[0])

/** The project that requests have to name. Those without a name are for the default one. */
export const namedProject = computed(() =>
  chosenProject.value?.id === DEFAULT_PROJECT ? undefined : chosenProject.value?.name,
)

/** The id of the project that is open, also where there is no choice. */
export function projectHere(): string {
  return chosenProject.value?.id ?? session.value?.project_id ?? DEFAULT_PROJECT
}

/** The one of this name or id. */
export function findProject(among: NamedProject[], named = here.value.query.get('project')): NamedProject | undefined {
  return among.find(({ id, name }) => id === named || name === named)
}

/** The project of the last visit, for an address that names none. */
const STORED = 'project'

export function storedProject(): string | null {
  return localStorage.getItem(STORED)
}

export function storeProject({ id }: NamedProject): void {
  localStorage.setItem(STORED, id)
}

/** What the reader seems to want, before it is known whether the project is there. */
export function wantedProject(): string | undefined {
  return here.peek().query.get('project') ?? storedProject() ?? undefined
}
