import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '../../../sdk/client.ts'
import { errorOf, MoorageError } from '../../../sdk/errors.ts'
import { notOurs } from '../../../sdk/reply.ts'
import { type Fetch, isPassing } from '../../../sdk/request.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { note } from '../terminal/output.ts'
import { ask } from '../terminal/prompts.ts'
import { isInteractive, type World } from '../world.ts'

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

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000

/**
 * Does work that a command repeats until Ctrl-C. If the service is unavailable, says so, waits, and says when it is
 * back.
 */
export async function patiently<T>(world: World, work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const result = await work()
      if (tries > 0) note(world, 'The service is available again.', 'dim')
      return result
    } catch (error) {
      if (!(error instanceof MoorageError && isPassing(error))) throw error
      if (tries === 0) note(world, `${error.message}: retrying`, 'dim')
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
      await sleep(Math.max(pauseMs, (error.retry_after ?? 0) * 1000), undefined, { signal: world.signal })
    }
  }
}

/** The proxies given by the environment. */
export function proxiesOf({ env }: Pick<World, 'env'>) {
  return {
    http: env['http_proxy'] || env['HTTP_PROXY'],
    https: env['https_proxy'] || env['HTTPS_PROXY'],
    except: env['no_proxy'] || env['NO_PROXY'],
  }
}

/**
 * Sends requests through the proxy given by the environment, as other programs do. Requests to this machine and to the
 * hosts in NO_PROXY are sent directly.
 */
export function proxiedFetch(world: Pick<World, 'env'>): Fetch {
  const { http = '', https = '', except = '' } = proxiesOf(world)
  if (!http && !https) return fetch
  const proxies = { httpProxy: http, httpsProxy: https, noProxy: except }
  const loaded = import('undici').then((undici) => ({ ...undici, dispatcher: new undici.EnvHttpProxyAgent(proxies) }))
  return async (url, init) => {
    if (isLoopback(new URL(url).hostname)) return fetch(url, init)
    const { fetch: fetchThrough, dispatcher } = await loaded
    return fetchThrough(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>
  }
}
