import { signal } from '@preact/signals'
import type { Pause } from '../../../sdk/api.ts'
import { reloadPage } from '../resource.ts'
import { service } from '../service.ts'
import { toast } from '../toasts.ts'
import { useAskedAgain } from './asked-again.ts'

/** What is paused. Undefined until it is known. */
export const pauseState = signal<Pause | undefined>(undefined)

/** Checks regularly whether everything is paused. */
export function usePauseState(): Pause | undefined {
  return useAskedAgain(pauseState, {
    what: 'pause',
    feature: 'getPause',
    ask: (life) => service.pauses.get({ signal: life }),
    answerOf: (pause) => pause,
    firstMs: 1_000,
    everyMs: 10_000,
  })
}

export type PauseScope = 'project' | 'service'

/** Pauses everything. The banner shows this and offers to resume. */
export async function pauseEverything(reason: string, scope: PauseScope): Promise<void> {
  pauseState.value = await service.pauses.begin({ reason, scope })
  reloadPage()
}

export async function resumeEverything(scope: PauseScope): Promise<void> {
  pauseState.value = await service.pauses.end({ scope })
  toast(scope === 'service' ? 'Service resumed' : 'Project resumed')
  reloadPage()
}
