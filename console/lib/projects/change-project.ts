import { batch, effect } from '@preact/signals'
import { forgetQueries, go, here, writeProject } from '../location.ts'
import { forgetAll } from '../resource-cache.ts'
import { loadRights } from '../session.ts'
import { beginSession, hasRolesByProject, type NamedProject, session } from '../session-state.ts'
import { dismissToast, lastToast, toast } from '../toasts.ts'
import { chosenProject, findProject, projects, storedProject, storeProject } from './chosen-project.ts'

/** Makes the project follow the URL, which always names it, no matter what changes the URL. */
export function watchProject(): void {
  let entered: string | undefined
  effect(() => {
    const now = session.value
    if (!now) return
    const named = here.value.query.get('project')
    const chosen = chosenProject.value
    if (entered !== chosen?.id) {
      entered = chosen?.id
      forgetAll()
      forgetQueries()
      // The undo would be sent to the other project.
      if (lastToast.peek()?.undo) dismissToast()
    }
    if (named !== null && now.projects.length > 0 && !findProject(now.projects)) sayGone(named)
    const wanted = named === null ? (findProject(projects.value, storedProject()) ?? chosen) : chosen
    if ((named ?? undefined) !== wanted?.name) writeProject(wanted?.name)
    else if (chosen) {
      storeProject(chosen)
      if (hasRolesByProject(now) && now.project_id !== chosen.id) void loadRights()
    }
  })
}

function sayGone(name: string): void {
  const { projects: left, person } = session.peek() ?? {}
  const why = person ? 'is no longer accessible to you' : 'no longer exists'
  toast(`The project ${name} ${why}. You are now in ${left?.[0]?.name}.`)
  go('/', { replace: true })
}

/**
 * Called when the service reports that a request's project no longer exists. Requests that were sent together report it
 * once.
 */
export function leaveProject(id: string): void {
  const gone = chosenProject.peek()
  if (gone?.id !== id) return
  dropProject(id)
  sayGone(gone.name)
}

/** Removes a project from the choices. If it is open, the default project is opened instead. */
export function dropProject(id: string): void {
  const now = session.peek()
  if (!now) return
  batch(() => {
    if (chosenProject.peek()?.id === id) writeProject(now.projects[0]?.name)
    beginSession({ ...now, projects: now.projects.filter((one) => one.id !== id) })
  })
}

/** Adds a project to the choices, or updates its name. The default project always exists and keeps its name. */
export function keepProject({ id, name }: NamedProject): void {
  const now = session.peek()
  const [first, ...others] = now?.projects ?? []
  if (!now || !first || now.projects.some((one) => one.id === id && one.name === name)) return
  const rest = [...others.filter((one) => one.id !== id), { id, name }]
  batch(() => {
    if (chosenProject.peek()?.id === id) writeProject(name)
    beginSession({ ...now, projects: [first, ...rest.toSorted((a, b) => (a.name < b.name ? -1 : 1))] })
  })
}
