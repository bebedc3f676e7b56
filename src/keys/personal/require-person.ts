import { forbidden } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'

/** A person who is signed in. A key of a person cannot make others: it would be hard to say which of them to trust. */
export function requirePerson(actor: Actor): Actor & { person_id: string } {
  const { kind, person_id } = actor
  if (kind !== 'person' || person_id === undefined)
    throw forbidden('This is for people who are signed in, not for keys')
  return { ...actor, person_id }
}
