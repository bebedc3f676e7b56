import { MoorageError } from '../../sdk/client.ts'
import { errorOf } from '../../sdk/errors.ts'
import { forgetDrafts } from './agents/drafts.ts'
import { BASE } from './base.ts'
import { beginSession, endSession, type Session, state } from './session-state.ts'

const URL_OF_SESSION = new URL('console/session', BASE)
const HEADERS = { 'X-Moorage-Console': '1', 'Content-Type': 'application/json', Accept: 'application/json' }

/**
 * Finds out who is signed in. A link from `npm start` carries a token behind the `#`, which signs in once. It may have
 * come from a stranger, so it does not replace a session without asking.
 */
export async function loadSession(): Promise<void> {
  const link_token = new URLSearchParams(window.location.hash.slice(1)).get('link')
  // The token works once. It must not stay in the browser's history.
  if (link_token) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  try {
    const found = await ask('GET')
    if (link_token && found) state.value = { is: 'linked', session: found, link_token }
    else if (link_token) await useLink(link_token)
    else if (found) beginSession(found)
    else endSession()
  } catch (error) {
    endSession(error instanceof MoorageError && error.status !== 401 ? error.message : undefined)
  }
}

async function useLink(link_token: string): Promise<void> {
  const why = await signIn({ link_token }).catch((error: MoorageError) => error)
  if (why) endSession(`The link does not work any more: ${why.message}`)
}

/** Throws the service's error if it refuses the credentials. */
export async function signIn(credentials: { key: string } | { link_token: string }): Promise<void> {
  const begun = await ask('POST', credentials)
  if (begun) beginSession(begun)
}

export async function signOut(): Promise<void> {
  await ask('DELETE')
  forgetDrafts()
  endSession()
}

async function ask(method: string, body?: object): Promise<Session | undefined> {
  const response = await fetch(URL_OF_SESSION, {
    method,
    headers: HEADERS,
    ...(body && { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new MoorageError('unreachable', `Cannot reach ${BASE.host}`, { cause })
  })
  const text = await response.text()
  if (!response.ok) throw errorOf(response.status, response.headers, text)
  const { data } = JSON.parse(text) as { data: { signed_in: false } | ({ signed_in: true } & Session) }
  return data.signed_in ? data : undefined
}
