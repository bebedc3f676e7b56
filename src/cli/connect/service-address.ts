import { EXIT, Failure, usage } from '../failure.ts'
import type { World } from '../world.ts'
import { chosenProfile, DEFAULT_URL, noProfile, readProfiles } from './profiles.ts'

export type Address = {
  url: string
  key: string | undefined
  origin: string
  /** Whether a flag, a variable or a login names the service. If not, it is the default service on this machine. */
  isNamed: boolean
}

type AddressFlags = { url?: string; profile?: string }

/** A key and the only service to which it may be sent. */
type Credential = { url: string; key: string; origin: string }

/**
 * Finds the service and the key from a flag, the environment, a login, or the service on this machine. A key is sent
 * only to the service for which it was configured, so only keys for the same origin are considered.
 */
export function addressOf(world: World, flags: AddressFlags): Address {
  const stored = readProfiles(world)
  const name = chosenProfile(world, flags, stored)
  const login = stored.profiles[name]
  const asked = flags.profile ?? world.env.MOORAGE_PROFILE
  if (asked && !login) throw noProfile(EXIT.usage, asked, stored)

  // A login chosen by a flag takes precedence over the environment.
  const { MOORAGE_URL, MOORAGE_API_KEY } = flags.profile === undefined ? world.env : {}
  const url = flags.url ?? (MOORAGE_URL || login?.url || DEFAULT_URL)
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) throw usage(`"${url}" is not an http(s) URL.`)
  const credentials: Credential[] = []
  if (MOORAGE_API_KEY) {
    // A key without a URL belongs to the default service.
    const usual = MOORAGE_URL || stored.profiles[stored.current]?.url || DEFAULT_URL
    credentials.push({ url: usual, key: MOORAGE_API_KEY, origin: 'environment MOORAGE_API_KEY' })
  }
  const names = flags.profile === undefined ? [name, ...Object.keys(stored.profiles)] : [name]
  for (const each of names) {
    const profile = stored.profiles[each]
    if (profile) credentials.push({ ...profile, origin: `profile ${each}` })
  }
  const own = credentials.find((credential) => sameOrigin(credential.url, url))
  const isNamed = Boolean(flags.url ?? (MOORAGE_URL || login))
  return { url, key: own?.key, origin: own?.origin ?? 'no key', isNamed }
}

/** Explains why there is no key for this URL, and what to do about it. */
export function noKey({ env }: World, { url }: Address): Failure {
  const hint = env.MOORAGE_API_KEY
    ? `  MOORAGE_API_KEY is for another service. Log in with \`moorage login ${url}\`, or set MOORAGE_URL as well`
    : `  Log in with \`moorage login ${url}\`, or set MOORAGE_URL and MOORAGE_API_KEY`
  const lost = '  Lost your key? Run `moorage keys create admin --role admin --local` on the server.'
  return new Failure(EXIT.auth, `No key for ${url}`, `${hint}\n${lost}`)
}

function sameOrigin(one: string, other: string): boolean {
  const origin = URL.parse(one)?.origin
  return origin !== undefined && origin === URL.parse(other)?.origin
}
