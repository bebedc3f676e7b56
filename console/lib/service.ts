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

/** The service accepts a browser's session only with this header, which other sites can't send. */
const HEADERS = { 'X-Moorage-Console': '1' }

type Fetch = (url: string, init: RequestInit) => Promise<Response>

const OPTIONS = { url: BASE.href, fetch: (url: string, init: RequestInit) => send(url, init), retries: 1 }

/** Calls every operation of the API. The browser's session says who asks, and the URL says in which project. */
export const service = createClient({
  ...OPTIONS,
  // Read once per call, so that a call that started in one project isn't repeated in another.
  get project() {
    return chosenProject.peek()?.id
  },
})

/** The same client for another project than the open one. If undefined, for all projects. */
export function serviceIn(project: string | undefined): Client {
  return createClient({ ...OPTIONS, project })
}

/**
 * The same client for one session and the currently open project, even if the reader opens another. When the session
 * has ended, nothing more is requested or received. To the client, this looks like a broken connection, so it cancels
 * no run.
 */
export function serviceWhile(life: AbortSignal): Client {
  const by: Fetch = async (url, { signal, ...init }) => {
    if (life.aborted) throw new MoorageError('unauthorized', 'The session has ended', { status: 401 })
    return send(url, { ...init, signal: signal ? AbortSignal.any([signal, life]) : life })
  }
  return createClient({ ...OPTIONS, project: chosenProject.peek()?.id, fetch: by })
}

/** The same client for uploads. `onProgress` gets how much of the body has been sent, from 0 to 1. */
export function uploadingService(onProgress: (part: number) => void): Client {
  const by: Fetch = (url, init) => sendWithProgress(url, init, onProgress)
  return createClient({ ...OPTIONS, project: chosenProject.peek()?.id, fetch: (url, init) => send(url, init, by) })
}

/** Makes the browser save a reply as a file. */
export async function saveAnswer(path: string, file: string): Promise<void> {
  const project = chosenProject.peek()?.id
  const headers = { ...(project !== undefined && { 'Moorage-Project': project }) }
  const response = await send(new URL(path, BASE).href, { headers })
  if (!response.ok) throw errorOf(response.status, response.headers, await response.text())
  saveFile(await response.blob(), file)
}

/** Sends a request. If the service requires a one-time code, asks the reader for it and sends the request again. */
async function send(url: string, init: RequestInit = {}, by: Fetch = fetch): Promise<Response> {
  const headers: Record<string, string> = { ...(init.headers as Record<string, string>), ...HEADERS }
  const response = await by(url, { ...init, headers })
  if (response.status === 400) await noteLostProject(response, headers['Moorage-Project'])
  // A person's permissions can change while the page is open.
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
