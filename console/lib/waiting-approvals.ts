import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { chosenProject } from './projects/chosen-project.ts'
import { useResource } from './resource.ts'
import { service } from './service.ts'
import { may } from './session-state.ts'

/** The page itself is loaded first. */
const FIRST_MS = 2_000
const EVERY_MS = 20_000

/** How many approvals wait for a person; undefined before somebody has asked. */
export const waitingApprovals = signal<number | undefined>(undefined)

/** Asks now and then how many approvals wait, if the key may see them. */
export function useWaitingApprovals(): number | undefined {
  const [isDue, setDue] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), FIRST_MS)
    return () => clearTimeout(timer)
  }, [])
  const project = chosenProject.value?.id
  useEffect(() => {
    waitingApprovals.value = undefined
  }, [project])
  const found = useResource(
    isDue && may('listApprovals') ? `waiting approvals ${project}` : undefined,
    (life) => service.approvals.list({ status: 'pending', limit: 1 }, { signal: life }),
    { everyMs: EVERY_MS },
  )
  const total = found.data?.pagination.total
  useEffect(() => {
    if (total !== undefined) waitingApprovals.value = total
  }, [found.data])
  return waitingApprovals.value
}
