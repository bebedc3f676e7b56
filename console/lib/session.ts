import { MoorageError } from '../../sdk/client.ts'
import { errorOf } from '../../sdk/errors.ts'
import { forgetDrafts } from './agents/drafts.ts'
import { BASE } from './base.ts'
import { here } from './location.ts'
import { failureText } from './people/failure-text.ts'
import { wantedProject } from './projects/chosen-project.ts'
import { beginSession, endSession, type Issuer, type Session, session, state } from './session-state.ts'
import { toast } from './toasts.ts'

const HEADERS = { 'X-Moorage-Console': '1', 'Content-Type': 'application/json', Accept: 'application/json' }

type SessionReply = { signed_in: false; issuers: Issuer[] } | ({ signed_in: true } & Session)

/**
 * Finds out who is signed in. The part after the `#` may be the token of a link, which signs in once, or of an
 * invitation. A link may come from a stranger, so it doesn't replace a session without asking.
 */
export async function loadSession(): Promise<void> {
  const { link, invitation, failure } = takeFragment()
  try {
    const found = await askSession()
    if (link && found.signed_in) state.value = { is: 'linked', session: found, link_token: link }
    else if (invitation && found.signed_in) state.value = { is: 'invited', session: found, invitation }
    else if (found.signed_in) {
      beginSession(found)
      if (failure) toast(failureText(failure))
    } else if (link) await useLink(link, found.issuers)
    else if (invitation) state.value = { is: 'out', issuers: found.issuers, invitation }
    else endSession(failure && failureText(failure), found.issuers)
  } catch (error) {
    endSession(error instanceof MoorageError && error.status !== 401 ? error.message : undefined)
  }
}

/** Opening a link where the console is already open changes only the part after the `#`. */
export function watchFragment(): void {
  window.addEventListener('hashchange', () => {
    if (readFragment().isForUs) window.location.reload()
  })
}

function readFragment() {
  const given = new URLSearchParams(window.location.hash.slice(1))
  const [link, invitation, failure] = ['link', 'invitation', 'sign-in-failed'].map(
    (name) => given.get(name) ?? undefined,
  )
  return { link, invitation, failure, isForUs: (link ?? invitation ?? failure) !== undefined }
}

/** Reads the part after the `#`. Tokens must not stay in the address bar or in the browser's history. */
function takeFragment() {
  const taken = readFragment()
  const { pathname, search } = window.location
  if (taken.isForUs) window.history.replaceState(null, '', pathname + search)
  return taken
}

async function useLink(link_token: string, issuers: Issuer[]): Promise<void> {
  const why = await signIn({ link_token }).catch((error: MoorageError) => error)
  if (why) endSession(`The link no longer works: ${why.message}`, issuers)
}

/** Throws the service's error if the credentials are refused. */
export async function signIn(credentials: { key: string } | { link_token: string }): Promise<void> {
  beginSession(await ask<Session>('POST', 'console/session', credentials))
}

const MOST_CHARACTERS = 2_000

/** Sends the browser to an identity provider, which returns it to the open page. */
export async function signInWith(issuer: string, invitation?: string): Promise<void> {
  const { path, query } = here.peek()
  const page = path + (query.size ? `?${query}` : '')
  const to = invitation === undefined && page.length <= MOST_CHARACTERS ? page : '/'
  const body = { to, ...(invitation !== undefined && { invitation }) }
  const { url } = await ask<{ url: string }>('POST', `console/sign-in/${encodeURIComponent(issuer)}`, body)
  window.location.assign(url)
}

/** Signs out here, and also at the identity provider if the person signed in there. */
export async function signOut(): Promise<void> {
  const { sign_out_url, issuers } = await ask<{ sign_out_url: string | null; issuers: Issuer[] }>(
    'DELETE',
    'console/session',
  )
  forgetDrafts()
  endSession(undefined, issuers)
  if (sign_out_url) window.location.assign(sign_out_url)
}

/** The number of secrets that are shown, or about to be shown, and can never be shown again. */
let held = 0
let isLost = false

/** Keeps the page until the returned function is called, even if its session ends. */
export function holdPage(): () => void {
  held += 1
  return () => {
    held -= 1
    if (held === 0 && isLost) loseSession()
  }
}

/** Shows the sign-in page with a reason. The URL stays, so the reader returns to the page. */
export function loseSession(): void {
  isLost = held > 0
  if (isLost) return
  const why = session.peek()?.person ? ' It might have been ended at your identity provider.' : ''
  endSession(`Your session has ended.${why} Sign in again to continue where you are.`)
}

const askingFor = new Set<string | undefined>()

/** Loads what the reader may do in the open project. Requests that fail together load it only once. */
export async function loadRights(): Promise<void> {
  const wanted = wantedProject()
  if (askingFor.has(wanted)) return
  askingFor.add(wanted)
  const found = await askSession().catch(() => undefined)
  askingFor.delete(wanted)
  if (!found) return
  if (!found.signed_in) return loseSession()
  // If the reader no longer has a role in the project, the service answers with another project.
  const isThere = ({ id, name }: { id: string; name: string }) =>
    found.project_id === id || (id !== wanted && name !== wanted)
  beginSession({ ...found, projects: found.projects.filter(isThere) })
}

function askSession(): Promise<SessionReply> {
  return ask<SessionReply>('GET', 'console/session', undefined, wantedProject())
}

async function ask<Data>(method: string, path: string, body?: object, project?: string): Promise<Data> {
  const response = await fetch(new URL(path, BASE), {
    method,
    headers: { ...HEADERS, ...(project !== undefined && { 'Moorage-Project': project }) },
    ...(body && { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    throw new MoorageError('unreachable', `Cannot reach ${BASE.host}`, { cause })
  })
  const text = await response.text()
  if (!response.ok) throw errorOf(response.status, response.headers, text)
  return (JSON.parse(text) as { data: Data }).data
}
