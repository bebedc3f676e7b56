import { type Client, createClient } from '../../sdk/client.ts'
import type { Fetch } from '../../sdk/request.ts'
import { EXIT, Failure } from './failure.ts'
import { note, paint } from './output.ts'
import { chosenProfile, DEFAULT_URL, readProfiles } from './profiles.ts'
import { ask } from './prompts.ts'
import { isInteractive, type World } from './world.ts'

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

export type Address = { url: string; key: string | undefined; origin: string }

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
  return { url, key, origin }
}

/** Runs `work` with a client of the service. */
export async function withClient<T>(world: World, options: Common, work: (client: Client) => Promise<T>): Promise<T> {
  const { url, key } = addressOf(world, options)
  if (key === undefined) {
    throw new Failure(EXIT.auth, `No key for ${url}`, '  Log in with `moorage login`, or set MOORAGE_API_KEY')
  }
  return work(createClient({ url, key, signal: world.signal, fetch: askingForCode(world) }))
}

/** The same on the server's own machine without any key: then `work` goes to the store itself. */
export async function withClientOrStore<T>(
  world: World,
  options: Common,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const isLocal = options.local ?? (addressOf(world, options).key === undefined && options.url === undefined)
  if (!isLocal) return withClient(world, options, work)

  const { openLocalStore } = await import('./local-store.ts')
  const store = await openLocalStore(world, options)
  try {
    note(world, paint(world, 'stderr', 'dim', `no key: working on the store itself (${store.name})`))
    return await work(createClient({ url: 'http://local', fetch: store.fetch, retries: 0 }))
  } finally {
    await store.close()
  }
}

/** Where somebody can be asked, an operation that wants a one-time code gets one. */
function askingForCode(world: World): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.status !== 401 || !isInteractive(world)) return response
    const { error } = (await response.clone().json()) as { error?: { code?: string } }
    const headers = init.headers as Record<string, string>
    if (error?.code !== 'mfa_required' || 'X-Service-OTP' in headers) return response
    const otp = await ask(world, { message: 'One-time code', missing: 'Send the code with --otp' })
    return fetch(url, { ...init, headers: { ...headers, 'X-Service-OTP': otp } })
  }
}

function sameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin
}
