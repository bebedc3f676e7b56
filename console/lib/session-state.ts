import { computed, signal } from '@preact/signals'
import type { OperationId } from '../../sdk/call.ts'
import type { Key } from '../../sdk/client.ts'
import { forgetQueries } from './location.ts'
import { question } from './one-time-code.ts'
import { forgetAll } from './resource-cache.ts'
import { dismissToast } from './toasts.ts'

export type NamedProject = { id: string; name: string }

/** An identity provider: its name in paths, and its label for people. */
export type Issuer = { name: string; label: string }

/** Who is signed in, and what they may do in the open project. */
export type Session = {
  /** Null if a person is signed in, because people need no key. */
  key: { id: string; name: string; hint: string } | null
  person: { id: string; name: string; email: string | null; role: string | null } | null
  /** The actor that makes requests: the key, or the person's role. */
  actor_id: string
  permissions: Key['permissions']
  /** `service` if the key or the role is valid in every project. */
  reach: 'project' | 'service'
  /**
   * The project in which the permissions are valid. The default project if they are valid everywhere and none was
   * named.
   */
  project_id: string
  /**
   * The projects to choose from: all projects, or those in which the person has a role. The default project comes
   * first.
   */
  projects: NamedProject[]
  /** The agent to which the key is limited, if any. */
  agent_id: string | null
  expires_at: string
  version: string
  /** The operations that the session may call. */
  features: string[]
  issuers: Issuer[]
  /** Whether people have ever signed in here without a key, or can. */
  has_people: boolean
}

type State =
  | { is: 'unknown' }
  | { is: 'out'; reason?: string | undefined; issuers: Issuer[]; invitation?: string }
  | { is: 'in'; session: Session }
  /** A person is signed in and has opened a link that would sign in again. */
  | { is: 'linked'; session: Session; link_token: string }
  | { is: 'invited'; session: Session; invitation: string }

export const state = signal<State>({ is: 'unknown' })

export const session = computed(() => (state.value.is === 'in' ? state.value.session : undefined))

const features = computed(() => new Set(session.value?.features))

/** Whether the reader may call this operation. The console doesn't show what they may not do. */
export function may(operation: OperationId): boolean {
  return features.value.has(operation)
}

/** Whether the reader's permissions can differ between projects. */
export function hasRolesByProject({ person, reach }: Session): boolean {
  return person !== null && reach === 'project'
}

export function beginSession(given: Session): void {
  state.value = { is: 'in', session: given }
}

let life = new AbortController()

/** Aborts when the session ends, because work that continues for its reader must not reach the next one. */
export function sessionLife(): AbortSignal {
  return life.signal
}

/**
 * Shows the sign-in page and leaves nothing behind for the next reader. The identity providers are taken from the
 * session.
 */
export function endSession(reason?: string, issuers?: Issuer[]): void {
  const before = state.peek()
  if (before.is === 'out') return
  life.abort()
  life = new AbortController()
  forgetAll()
  forgetQueries()
  dismissToast()
  question.peek()?.answer(undefined)
  state.value = { is: 'out', reason, issuers: issuers ?? ('session' in before ? before.session.issuers : []) }
}
