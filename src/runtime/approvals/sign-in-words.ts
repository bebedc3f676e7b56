import type { SignInLink } from '../tools/connections/connected.ts'

/** What is read of an approval to find out whether its run waits for a sign-in. */
export type AskedSignIn = { kind: string; connection?: SignInLink | undefined }

/** Where users have to sign in before a run continues. Undefined if it waits for anything else. */
export function signInWords(asked: readonly AskedSignIn[]): string | undefined {
  if (asked.length === 0 || asked.some(({ kind }) => kind !== 'connection')) return undefined
  // Calls that need the same sign-in have the same link.
  const links = new Map(asked.flatMap(({ connection }) => (connection ? [[connection.name, connection.url]] : [])))
  return [...links].map(([name, url]) => `Sign in to ${name}${url === null ? '' : `: ${url}`}`).join('\n')
}
