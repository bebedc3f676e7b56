import { computed } from '@preact/signals'
import { here } from '../location.ts'
import { type NamedProject, session } from '../session-state.ts'

const DEFAULT_PROJECT = 'prj_default'

/** The projects that the switcher offers. None for a key of one project, or if the service has only one project. */
export const projects = computed(() => {
  const all = session.value?.projects ?? []
  return all.length > 1 ? all : []
})

/** The project in the URL, or else the first one. Undefined if the switcher offers none. */
export const chosenProject = computed(() => findProject(projects.value) ?? projects.value[0])

/** The project that requests must name. Requests without a name are for the default project. */
export const namedProject = computed(() =>
  chosenProject.value?.id === DEFAULT_PROJECT ? undefined : chosenProject.value?.name,
)

/** The ID of the open project, even if there is no choice. */
export function projectHere(): string {
  return chosenProject.value?.id ?? session.value?.project_id ?? DEFAULT_PROJECT
}

/** The project with this name or ID. */
export function findProject(among: NamedProject[], named = here.value.query.get('project')): NamedProject | undefined {
  return among.find(({ id, name }) => id === named || name === named)
}

/** The project of the last visit, for URLs that name none. */
const STORED = 'project'

export function storedProject(): string | null {
  return localStorage.getItem(STORED)
}

export function storeProject({ id }: NamedProject): void {
  localStorage.setItem(STORED, id)
}

/** The project that the reader seems to want, before it is known whether it exists. */
export function wantedProject(): string | undefined {
  return here.peek().query.get('project') ?? storedProject() ?? undefined
}
