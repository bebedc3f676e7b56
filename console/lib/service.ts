import { createClient } from '../../sdk/client.ts'
import { BASE } from './base.ts'
import { askForCode } from './one-time-code.ts'
import { endSession } from './session-state.ts'

/** The service takes a browser's session only with this header, which no other site can send. */
const HEADERS = { 'X-Moorage-Console': '1' }

/** Every operation of the API. The browser's session says who asks. */
export const service = createClient({ url: BASE.href, fetch: send, retries: 1 })

/** A request to the service. A one-time code is asked for when the service wants one, and the request is sent again. */
async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const request = { ...init, headers: { ...(init.headers as Record<string, string>), ...HEADERS } }
  const response = await fetch(url, request)
  if (response.status !== 401) return response
  const { code, message } = await errorOf(response)
  if (code === 'mfa_required') {
    const otp = await askForCode('X-Service-OTP' in request.headers ? message : undefined)
    if (otp === undefined) return response
    return send(url, { ...init, headers: { ...request.headers, 'X-Service-OTP': otp } })
  }
  endSession('Your session has ended: sign in again to go on where you are.')
  return response
}

async function errorOf(response: Response): Promise<{ code?: string; message?: string }> {
  const body = await response
    .clone()
    .json()
    .catch(() => undefined)
  return (body as { error?: { code?: string; message?: string } } | undefined)?.error ?? {}
}
