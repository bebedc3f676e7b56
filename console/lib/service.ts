import { type Client, createClient, MoorageError } from '../../sdk/client.ts'
import { errorOf } from '../../sdk/errors.ts'
import { BASE } from './base.ts'
import { sendWithProgress } from './files/send-with-progress.ts'
import { askForCode } from './one-time-code.ts'
import { leaveProject } from './projects/change-project.ts'
import { chosenProject } from './projects/chosen-project.ts'
import { loadRights, loseSession } from './session.ts'
import { session } from './session-state.ts'
import { saveFile } from './text/save-file.ts'

/** The service takes a browser's session only with this header, which no other site can send. */
const HEADERS = { 'X-Moorage-Console': '1' }

type Fetch = (url: string, init: RequestInit) => Promise<Response>

const OPTIONS = { url: BASE.href, fetch: (url: string, init: RequestInit) => send(url, init), retries: 1 }

/** Every operation of the API. The browser's session says who asks, and the address in which project. */
export const service = createClient({
  ...OPTIONS,
  // Read once for each call: what began in one project is not sent again to another.
  get project() {
    return chosenProject.peek()?.id
  },
})

/** The same in another project than the one that is open; undefined: in all of them. */
export function serviceIn(project: string | undefined): Client {
  return createClient({ ...OPTIONS, project })
}

/**
 * The same for one session and the project that is open now, also when the reader goes to another one. Once the session
 * has ended, nothing is asked or heard any more. To the client that is a broken connection, so it cancels no run.
 */
export function serviceWhile(life: AbortSignal): Client {
  const by: Fetch = async (url, { signal, ...init }) => {
    if (life.aborted) throw new MoorageError('unauthorized', 'The session has ended', { status: 401 })
    return send(url, { ...init, signal: signal ? AbortSignal.any([signal, life]) : life })
  }
  return createClient({ ...OPTIONS, project: chosenProject.peek()?.id, fetch: by })
}

/** The same, for uploads: `onProgress` hears how much of the body is sent, from 0 to 1. */
export function uploadingService(onProgress: (part: number) => void): Client {
  const by: Fetch = (url, init) => sendWithProgress(url, init, onProgress)
  return createClient({ ...OPTIONS, project: chosenProject.peek()?.id, fetch: (url, init) => send(url, init, by) })
}

/** Has the browser store what the service answers as a file. */
export async function saveAnswer(path: string, file: string): Promise<void> {
  const project = chosenProject.peek()?.id
  const headers = { ...(project !== undefined && { 'Moorage-Project': project }) }
  const response = await send(new URL(path, BASE).href, { headers })
  if (!response.ok) throw errorOf(response.status, response.headers, await response.text())
  saveFile(await response.blob(), file)
}

/** A request to the service. A one-time code is asked for when the service wants one, and the request is sent again. */
async function send(url: string, init: RequestInit = {}, by: Fetch = fetch): Promise<Response> {
  const headers: Record<string, string> = { ...(init.headers as Record<string, string>), ...HEADERS }
  const response = await by(url, { ...init, headers })
  if (response.status === 400) await noteLostProject(response, headers['Moorage-Project'])
  // What a person may do can end while the page is open.
  if (response.status === 403 && session.peek()?.person) void loadRights()
  if (response.status !== 401) return response
  const { code, message } = await refusalOf(response)
  if (code === 'mfa_required') {
    const otp = await askForCode('X-Service-OTP' in headers ? message : undefined)
    if (otp === undefined) return response
    return send(url, { ...init, headers: { ...headers, 'X-Service-OTP': otp } }, by)
  }
  loseSession()
  return response
}

async function noteLostProject(response: Response, project: string | undefined): Promise<void> {
  if (project === undefined) return
  const { details } = await refusalOf(response)
  if (details?.some(({ field }) => field === 'Moorage-Project')) leaveProject(project)
}

type Refusal = { code?: string; message?: string; details?: { field: string }[] }

async function refusalOf(response: Response): Promise<Refusal> {
  const body = await response
    .clone()
    .json()
    .catch(() => undefined)
  return (body as { error?: Refusal } | undefined)?.error ?? {}
}
