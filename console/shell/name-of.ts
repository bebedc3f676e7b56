import type { Session } from '../lib/session-state.ts'

/** Who is signed in: the person, or the key by its name. */
export function nameOf({ person, key }: Session): string {
  return person?.name ?? key?.name ?? ''
}
