import { hostname, userInfo } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { readData } from '../../../sdk/reply.ts'
import { sender } from '../../../sdk/request.ts'
import { note } from '../terminal/output.ts'
import type { World } from '../world.ts'
import { patiently } from './patiently.ts'
import { proxiedFetch } from './proxied-fetch.ts'

type DeviceStart = {
  device: string
  user_code: string
  verification_uri: string
  verification_uri_complete?: string
  interval: number
}

type DeviceKey = { secret: string; project: string | null; projects: string[] }

/** Each `slow_down` of the provider increases the time between two requests by this much, as RFC 8628 requires. */
const SLOWER_SECONDS = 5

/**
 * Signs a person in with an identity provider: the person opens a page in any browser, and this command gets a key for
 * them. Returns the key, the project that it is for, and the projects that could be chosen instead.
 */
export async function signInDevice(
  world: World,
  url: URL,
  { sso, project }: { sso?: string | true; project?: string },
): Promise<DeviceKey> {
  const begun = await post<DeviceStart>(world, url, 'console/devices', sso === true ? {} : { issuer: sso })
  note(world, `Open ${begun.verification_uri} in a browser and enter the code ${begun.user_code}`)
  if (begun.verification_uri_complete) note(world, `  or open ${begun.verification_uri_complete}`, 'dim')
  const asked = { device: begun.device, name: `CLI of ${userInfo().username} on ${hostname()}`, project }
  let seconds = begun.interval
  for (;;) {
    await delay(seconds * 1000, undefined, { signal: world.signal })
    // The service can ask devices on the same network to wait, and a provider can be unavailable for a moment.
    const answer = await patiently(world, () =>
      post<DeviceKey | { status: string }>(world, url, 'console/devices/key', asked),
    )
    if ('secret' in answer) return answer
    if (answer.status === 'slow_down') seconds += SLOWER_SECONDS
  }
}

function post<T>(world: World, url: URL, path: string, body: object): Promise<T> {
  const { send } = sender({ url: url.href, fetch: proxiedFetch(world), signal: world.signal, retries: 0 })
  return send({ method: 'POST', path: `/${path}`, body }).then(readData<T>)
}
