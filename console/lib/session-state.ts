import { computed, signal } from '@preact/signals'
import type { OperationId } from '../../sdk/call.ts'
import { forgetAll } from './resource-cache.ts'

export type NamedProject = { id: string; name: string }

/** Who is signed in, and what they may do. */
export type Session = {
  key: { id: string; name: string; hint: string }
  /** `service`: the key works in every project. */
  reach: 'project' | 'service'
  /** The project of the key; the default one if it works in every project. */
  project_id: string
  /** What a key of all projects may choose from, the default one first. */
  projects: NamedProject[]
  /** The one agent that the key is for, if it is for one. */
  agent_id: string | null
  expires_at: string
  version: string
  /** The operations that the key may call. */
  features: string[]
}

type State =
  | { is: 'unknown' }
  | { is: 'out'; reason?: string }
  | { is: 'in'; session: Session }
  /** Somebody is signed in, and has opened a link that would sign in anew. */
  | { is: 'linked'; session: Session; link_token: string }

export const state = signal<State>({ is: 'unknown' })

export const session = computed(() => (state.value.is === 'in' ? state.value.session : undefined))

const features = computed(() => new Set(session.value?.features))

/** What takes a key of all projects. */
const OF_ALL_PROJECTS = new Set<OperationId>(['createProject', 'updateProject', 'deleteProject', 'moveAgent'])

/** What concerns the whole service: only keys of all projects and of the default one may call it. */
const OF_SERVICE = new Set<OperationId>(['getSystem', 'getAuditHead', 'getTelemetry', 'getMemoryStatus'])
const DEFAULT_PROJECT = 'prj_default'

/** Whether the key may call this operation. What it may not do is not shown. */
export function may(operation: OperationId): boolean {
  return features.value.has(operation) && isInReach(operation)
}

function isInReach(operation: OperationId): boolean {
  if (session.value?.reach === 'service') return true
  if (OF_SERVICE.has(operation)) return session.value?.project_id === DEFAULT_PROJECT
  return !OF_ALL_PROJECTS.has(operation)
}

export function beginSession(given: Session): void {
  state.value = { is: 'in', session: given }
}

export function endSession(reason?: string): void {
  if (state.value.is === 'out') return
  forgetAll()
  state.value = { is: 'out', ...(reason !== undefined && { reason }) }
}
