import { hostname, userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { errorOf } from '../../../sdk/errors.ts'
import { note } from '../terminal/output.ts'
import type { World } from '../world.ts'
import { patiently } from './patiently.ts'
import { proxiedFetch } from './proxied-fetch.ts'

type Begun = {
  device: string
  user_code: string
  verification_uri: string
  verification_uri_complete?: string
  interval: number
}

/** Each `slow_down` of the provider adds this much to the time between two questions, as RFC 8628 says. */
const SLOWER_SECONDS = 5

/**
 * Signs a person in with an identity provider: they open a page in any browser, and this command gets a key of theirs.
 * Returns the key.
 */
export async function signInDevice(
  world: World,
  url: URL,
  { sso, project }: { sso?: string | true; project?: string },
): Promise<string> {
  const begun = await post<Begun>(world, url, 'console/devices', sso === true ? {} : { issuer: sso })
  note(world, `Open ${begun.verification_uri} in a browser and enter the code ${begun.user_code}`)
  if (begun.verification_uri_complete) note(world, `  or open ${begun.verification_uri_complete}`, 'dim')
  const asked = { device: begun.device, name: `CLI of ${userInfo().username} on ${hostname()}`, project }
  let seconds = begun.interval
  for (;;) {
    await delay(seconds * 1000, undefined, { signal: world.signal })
    // Several devices of one network may be asked to wait, and a provider may be away for a moment.
    const { status, secret } = await patiently(world, () =>
      post<{ status?: string; secret?: string }>(world, url, 'console/devices/key', asked),
    )
    if (secret !== undefined) return secret
    if (status === 'slow_down') seconds += SLOWER_SECONDS
  }
}

async function post<T>(world: World, url: URL, path: string, body: object): Promise<T> {
  const base = url.href.endsWith('/') ? url.href : `${url.href}/`
  const response = await proxiedFetch(world)(base + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: world.signal,
  })
  const text = await response.text()
  if (!response.ok) throw errorOf(response.status, response.headers, text)
  return (JSON.parse(text) as { data: T }).data
}
