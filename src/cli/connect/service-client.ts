import { type Client, createClient } from '../../../sdk/client.ts'
import { errorOf, type MoorageError } from '../../../sdk/errors.ts'
import { notOurs } from '../../../sdk/reply.ts'
import type { Fetch } from '../../../sdk/request.ts'
import { note } from '../terminal/output.ts'
import { ask } from '../terminal/prompts.ts'
import { isInteractive, type World } from '../world.ts'
import { proxiedFetch } from './proxied-fetch.ts'

type Target = { url: string; key: string; project?: string | undefined; otp?: string | undefined }

/** A client for the service at `url`. Only that service gets the key. */
export function clientOf(world: World, { url, key, project, otp }: Target): Client {
  const fetch = bringingCodes(world, otp, ourRepliesOnly(proxiedFetch(world)))
  return createClient({ url, key, project, signal: world.signal, fetch, onRetry: sayWaits(world) })
}

/** Every reply of the service has a request ID. A success without one came from something else. */
function ourRepliesOnly(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.ok && !response.headers.has('x-request-id')) throw notOurs(response)
    return response
  }
}

/**
 * If an operation requires a one-time code, sends the next code from --otp, or asks the person for one. Each code works
 * once. A command with several operations may need several codes, and none is used for an operation that doesn't
 * require one.
 */
function bringingCodes(world: World, otp: string | undefined, fetch: Fetch): Fetch {
  const given = otp?.split(',') ?? []
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.status !== 401) return response
    const headers = init.headers as Record<string, string>
    const { code: refusal } = errorOf(response.status, response.headers, await response.clone().text())
    if (refusal !== 'mfa_required' || 'X-Service-OTP' in headers) return response
    const code = given.shift() ?? (await askForCode(world))
    return code === undefined ? response : fetch(url, { ...init, headers: { ...headers, 'X-Service-OTP': code } })
  }
}

async function askForCode(world: World): Promise<string | undefined> {
  if (!isInteractive(world)) return undefined
  return ask(world, { message: 'One-time code', missing: 'Specify the code with --otp.' })
}

const REPEAT_MS = 30_000

/** Says why the command waits, without repeating the same message at every attempt. */
function sayWaits(world: World): (error: MoorageError, waitMs: number) => void {
  let said = { message: '', at: 0 }
  return ({ message, status }, waitMs) => {
    const isLimited = status === 429
    if (message === said.message && Date.now() - said.at < REPEAT_MS && !isLimited) return
    said = { message, at: Date.now() }
    const when = isLimited ? `retrying in ${Math.ceil(waitMs / 1000)} s` : 'retrying'
    note(world, `${message}: ${when}`, 'dim')
  }
}
