import { MoorageError } from '../../../sdk/client.ts'

/** The service sets these by name. Without this check, a new one would replace one that another person has created. */
export function alreadyThere(what: 'provider' | 'secret' | 'connection', name: string): MoorageError {
  const error = `A ${what} named ${name} already exists. Choose another name, or change the existing one in the list.`
  return new MoorageError('conflict', error, { details: [{ field: 'name', error }] })
}
