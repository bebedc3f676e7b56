import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Pause } from '../../../sdk/api.ts'
import { reloadPage, useResource } from '../resource.ts'
import { service } from '../service.ts'
import { may } from '../session-state.ts'
import { toast } from '../toasts.ts'
import { chosenProject } from './chosen-project.ts'

/** The page itself is loaded first. */
const FIRST_MS = 1_000
const EVERY_MS = 10_000

/** What is paused; undefined before it is known. */
export const pauseState = signal<Pause | undefined>(undefined)

/** Asks now and then whether everything is paused. */
export function usePauseState(): Pause | undefined {
  const [isDue, setDue] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), FIRST_MS)
    return () => clearTimeout(timer)
  }, [])
  const project = chosenProject.value?.id
  useEffect(() => {
    pauseState.value = undefined
  }, [project])
  const found = useResource(
    isDue && may('getPause') ? `pause ${project}` : undefined,
    (life) => service.pauses.get({ signal: life }),
    { everyMs: EVERY_MS },
  )
  useEffect(() => {
    if (found.data) pauseState.value = found.data
  }, [found.data])
  return pauseState.value
}

export type PauseScope = 'project' | 'service'

/** Stops everything. The banner tells of it, and offers the way back. */
export async function pauseEverything(reason: string, scope: PauseScope): Promise<void> {
  pauseState.value = await service.pauses.begin({ reason, scope })
  reloadPage()
}

export async function resumeEverything(scope: PauseScope): Promise<void> {
  pauseState.value = await service.pauses.end({ scope })
  toast(`The ${scope} goes on`)
  reloadPage()
}
