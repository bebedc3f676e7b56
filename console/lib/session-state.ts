import { computed, signal } from '@preact/signals'
import type { OperationId } from '../../sdk/call.ts'
import type { Key } from '../../sdk/client.ts'
import { forgetQueries } from './location.ts'
import { question } from './one-time-code.ts'
import { forgetAll } from './resource-cache.ts'
import { dismissToast } from './toasts.ts'

export type NamedProject = { id: string; name: string }

/** An identity provider: the name in paths, and what people call it. */
export type Issuer = { name: string; label: string }

/** Who is signed in, and what they may do in the project that is open. */
export type Session = {
  /** Null if a person is signed in, who needs no key. */
  key: { id: string; name: string; hint: string } | null
  person: { id: string; name: string; email: string | null; role: string | null } | null
  /** As whom requests are made: the key, or the person's role. */
  actor_id: string
  permissions: Key['permissions']
  /** `service`: the key or the role holds in every project. */
  reach: 'project' | 'service'
  /** Where the permissions hold; the default project if they hold in every one and none was named. */
  project_id: string
  /** What there is to choose from: all projects, or those where the person has a role. The default one comes first. */
  projects: NamedProject[]
  /** The one agent that the key is for, if it is for one. */
  agent_id: string | null
  expires_at: string
  version: string
  /** The operations that may be called. */
  features: string[]
  issuers: Issuer[]
  /** Whether people sign in here without a key, or ever did. */
  has_people: boolean
}

type State =
  | { is: 'unknown' }
  | { is: 'out'; reason?: string | undefined; issuers: Issuer[]; invitation?: string }
  | { is: 'in'; session: Session }
  /** A person is signed in, and has opened a link that would sign in anew. */
  | { is: 'linked'; session: Session; link_token: string }
  | { is: 'invited'; session: Session; invitation: string }

export const state = signal<State>({ is: 'unknown' })

export const session = computed(() => (state.value.is === 'in' ? state.value.session : undefined))

const features = computed(() => new Set(session.value?.features))

/** Whether the reader may call this operation. What they may not do is not shown. */
export function may(operation: OperationId): boolean {
  return features.value.has(operation)
}

/** Whether the reader may do other things in another project. */
export function hasRolesByProject({ person, reach }: Session): boolean {
  return person !== null && reach === 'project'
}

export function beginSession(given: Session): void {
  state.value = { is: 'in', session: given }
}

let life = new AbortController()

/** Aborted when the session ends: what continues for its reader must not reach the next one. */
export function sessionLife(): AbortSignal {
  return life.signal
}

/** Shows the sign-in page, and leaves nothing for the next reader. The session knew which identity providers there are. */
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
