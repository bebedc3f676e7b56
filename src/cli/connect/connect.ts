import { type Client, createClient } from '../../../sdk/client.ts'
import { errorOf } from '../../../sdk/errors.ts'
import type { Fetch } from '../../../sdk/request.ts'
import { EXIT, Failure } from '../failure.ts'
import { note, paint } from '../terminal/output.ts'
import { ask } from '../terminal/prompts.ts'
import { isInteractive, type World } from '../world.ts'
import { chosenProfile, DEFAULT_URL, readProfiles } from './profiles.ts'

/** Options that every command takes. */
export type Common = {
  json?: boolean
  url?: string
  profile?: string
  otp?: string
  /** Of commands that can work on the store itself. */
  local?: boolean
  config?: string
  data?: string
}

export type Address = {
  url: string
  key: string | undefined
  origin: string
  /** Somebody said which service: it is not just the one that might run here. */
  isNamed: boolean
}

/** Where the service is and with which key: flag, environment, profile, the service on this machine. */
export function addressOf(world: World, options: Common): Address {
  const { MOORAGE_URL, MOORAGE_API_KEY } = world.env
  const stored = readProfiles(world)
  const name = chosenProfile(world, options, stored)
  const profile = stored.profiles[name]
  const asked = options.profile ?? world.env.MOORAGE_PROFILE
  if (asked && !profile)
    throw new Failure(EXIT.usage, `There is no profile "${asked}"`, '  `moorage profile` lists them')

  const url = options.url ?? (MOORAGE_URL || profile?.url || DEFAULT_URL)
  // A profile's key goes to the profile's own service and nowhere else.
  const own = profile && sameOrigin(profile.url, url) ? profile.key : undefined
  const key = MOORAGE_API_KEY || own
  const origin = MOORAGE_API_KEY ? 'environment MOORAGE_API_KEY' : own ? `profile ${name}` : 'no key'
  return { url, key, origin, isNamed: Boolean(options.url ?? (MOORAGE_URL || profile)) }
}

/** Runs `work` with a client of the service. */
export async function withClient<T>(world: World, options: Common, work: (client: Client) => Promise<T>): Promise<T> {
  const { url, key } = addressOf(world, options)
  if (key === undefined) {
    throw new Failure(EXIT.auth, `No key for ${url}`, '  Log in with `moorage login`, or set MOORAGE_API_KEY')
  }
  return work(createClient({ url, key, signal: world.signal, fetch: bringingCodes(world, options) }))
}

/** The same where neither a service nor a key is named: then `work` goes to the store of this machine itself. */
export async function withClientOrStore<T>(
  world: World,
  options: Common,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { key, isNamed } = addressOf(world, options)
  if (!options.local && (key !== undefined || isNamed)) return withClient(world, options, work)

  const { openLocalStore } = await import('../connect/local-store.ts')
  const store = await openLocalStore(world, options)
  try {
    const reason = options.local ? '' : 'no key: '
    note(world, paint(world, 'stderr', 'dim', `${reason}working on the store itself (${store.name})`))
    return await work(createClient({ url: 'http://local', fetch: store.fetch, retries: 0 }))
  } finally {
    await store.close()
  }
}

/**
 * An operation that wants a one-time code gets the next of --otp, or one that somebody who can be asked gives. A code
 * counts once: a command of several operations takes several, and none is spent on an operation that wants none.
 */
function bringingCodes(world: World, { otp }: Common): Fetch {
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
  return ask(world, { message: 'One-time code', missing: 'Send the code with --otp' })
}

function sameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin
}
