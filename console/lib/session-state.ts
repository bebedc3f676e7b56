import { computed, signal } from '@preact/signals'
import type { Self } from '../../sdk/client.ts'
import { forgetAll } from './resource-cache.ts'

export type Permission = Self['permissions'][number]

/** Who is signed in, and what they may do. */
export type Session = Pick<Self, 'name' | 'agent_id' | 'permissions'> & { expires_at?: string | null }

type State = { is: 'unknown' } | { is: 'out'; reason?: string } | { is: 'in'; session: Session }

export const state = signal<State>({ is: 'unknown' })

export const session = computed(() => (state.value.is === 'in' ? state.value.session : undefined))

/** Whether the one who is signed in may do this. What they may not do is not shown. */
export function may(permission: Permission): boolean {
  return session.value?.permissions.includes(permission) ?? false
}

export function beginSession(given: Session): void {
  state.value = { is: 'in', session: given }
}

export function endSession(reason?: string): void {
  if (state.value.is === 'out') return
  forgetAll()
  state.value = { is: 'out', ...(reason !== undefined && { reason }) }
}
